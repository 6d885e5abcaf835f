package fieldpath

import "fmt"

// FieldNames are the names on a path that goes through fields alone.
func FieldNames(word string) ([]string, error) {
	path, err := ParseSteps(word)
	if err != nil {
		return nil, fmt.Errorf("path %q: %w", word, err)
	}
	names := make([]string, len(path.Steps))
	for i, s := range path.Steps {
		if s.Kind != Field {
			return nil, fmt.Errorf("%s goes through a list: only fields can be declared", word)
		}
		names[i] = s.Name
	}
	return names, nil
}
