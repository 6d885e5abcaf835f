package fieldpath

// Object is the object within others under the names, nil if there is none.
func Object(of map[string]any, names ...string) map[string]any {
	for _, name := range names {
		of, _ = of[name].(map[string]any)
	}
	return of
}

// Strings are the texts in a list; what is no text is left out.
func Strings(value any) []string {
	list, _ := value.([]any)
	var all []string
	for _, v := range list {
		if text, is := v.(string); is {
			all = append(all, text)
		}
	}
	return all
}
