package fieldpath

// Object is the object within others under the names, nil if there is none.
func Object(of map[string]any, names ...string) map[string]any {
	for _, name := range names {
		of, _ = of[name].(map[string]any)
	}
	return of
}

// Strings are the texts in a list; what is no text is left out.
func Strings(value any) []string { return elements[string](value) }

// Objects are the objects in a list; what is none is left out.
func Objects(value any) []map[string]any { return elements[map[string]any](value) }

func elements[T any](value any) []T {
	list, _ := value.([]any)
	var all []T
	for _, v := range list {
		if element, is := v.(T); is {
			all = append(all, element)
		}
	}
	return all
}
