package podtemplate

// Choose returns the field to write, and whether it is unambiguous. That requires that the only
// candidate is a pod template, or a string .spec.image in the schema.
func Choose(all []Candidate) (Candidate, bool) {
	if len(all) != 1 || all[0].Pattern {
		return Candidate{}, false
	}
	only := all[0]
	path := only.Path.String()
	if only.Form == Template {
		// If the schema does not have the template, other objects of the kind may have several.
		return only, only.Declared || path == ".spec.template"
	}
	// An image at a deeper level belongs to a part, such as a backup.
	return only, only.Form == Image && only.Declared && path == ".spec.image"
}

// ChooseTemplate is like Choose, but returns only a pod template. A template next to an image field
// is ambiguous, because it may be a mere addition to what the operator generates.
func ChooseTemplate(all []Candidate) (Candidate, bool) {
	only, is := Choose(all)
	return only, is && only.Form == Template
}
