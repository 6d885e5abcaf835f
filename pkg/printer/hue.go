package printer

// Hue gives text one of a few colours, where there are colours: texts of the same
// number have the same one.
func (s Style) Hue(n uint32, text string) string {
	// Bright ones are told apart on dark and on light. Red stays with what is wrong.
	hues := [...]string{cyan, yellow, green, "34", "35", "96", "93", "92", "94", "95"}
	return s.paint(hues[n%uint32(len(hues))], text)
}
