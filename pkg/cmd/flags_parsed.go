package cmd

import "fmt"

// parsedFlag is a flag whose value a function parses: nil until the flag is given.
type parsedFlag[T fmt.Stringer] struct {
	value **T
	parse func(word string) (T, error)
	// kind names the kind of value in help texts.
	kind string
}

func (f parsedFlag[T]) Set(word string) error {
	value, err := f.parse(word)
	if err != nil {
		return err
	}
	*f.value = &value
	return nil
}

func (f parsedFlag[T]) String() string {
	if *f.value == nil {
		return ""
	}
	return (**f.value).String()
}

func (f parsedFlag[T]) Type() string { return f.kind }
