package podtemplate

// Choose picks the field to write where there is no doubt which one is meant: the only pod
// template, or the string .spec.image that the schema has, with no image beside it.
// Whatever else there is leaves room for a mistake, and nothing is chosen.
func Choose(all []Candidate) (Candidate, bool) {
	if len(all) != 1 || all[0].Pattern {
		return Candidate{}, false
	}
	only := all[0]
	path := only.Path.String()
	if only.Form == Template {
		// In a part that the schema leaves open, a template may be one of many that
		// other objects have.
		return only, only.Declared || path == ".spec.template"
	}
	// An image further in is that of a part, such as a backup.
	return only, only.Form == Image && only.Declared && path == ".spec.image"
}

// ChooseTemplate is Choose for changes that need a pod template. One beside an image
// field may be no more than an addition to what the operator makes.
func ChooseTemplate(all []Candidate) (Candidate, bool) {
	only, is := Choose(all)
	return only, is && only.Form == Template
}
