package podtemplate

import "slices"

// Choose picks the field to write: the one pod template where there is one and no image
// beside it, or the string .spec.image that the schema has where there is no other
// image. Whatever else there is leaves room for a mistake, and nothing is chosen.
func Choose(all []Candidate) (Candidate, bool) {
	if len(all) != 1 {
		return Candidate{}, false
	}
	only := all[0]
	switch {
	case only.Pattern:
		return Candidate{}, false
	case only.Form == Template:
		return only, true
	}
	// An image further in is that of a part, such as a backup.
	return only, only.Form == Image && only.Declared && only.Path.String() == ".spec.image"
}

// ChooseTemplate is Choose for changes that need a pod template, whatever images there
// are beside it.
func ChooseTemplate(all []Candidate) (Candidate, bool) {
	templates := slices.DeleteFunc(slices.Clone(all), func(c Candidate) bool { return c.Form != Template })
	if len(templates) != 1 || templates[0].Pattern {
		return Candidate{}, false
	}
	return templates[0], true
}
