package podtemplate

// Choose returns the field to write if it is unambiguous: the only pod template, or a string
// .spec.image in the schema if it is the only candidate. Otherwise, it returns none.
func Choose(all []Candidate) (Candidate, bool) {
	if len(all) != 1 || all[0].Pattern {
		return Candidate{}, false
	}
	only := all[0]
	path := only.Path.String()
	if only.Form == Template {
		// If the schema does not have it, the template may be one of many that other objects
		// have.
		return only, only.Declared || path == ".spec.template"
	}
	// An image further down belongs to a part, such as a backup.
	return only, only.Form == Image && only.Declared && path == ".spec.image"
}

// ChooseTemplate is Choose for changes that need a pod template. A template next to an image
// field may only add to what the operator generates.
func ChooseTemplate(all []Candidate) (Candidate, bool) {
	only, is := Choose(all)
	return only, is && only.Form == Template
}
