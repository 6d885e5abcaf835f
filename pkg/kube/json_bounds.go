package kube

import "fmt"

const (
	// maxValues limits the values in a JSON response or in one event of a watch. A value takes up to
	// 350 bytes when it is decoded. The largest lists of real clusters have a few million.
	maxValues = 8 << 20
	// maxDepth limits how deep JSON values are nested, because paths and indentation grow with the
	// depth of each value. The CRDs of large operators have a depth of about 35.
	maxDepth = 200
)

// jsonBounds measures JSON text while it is read.
type jsonBounds struct {
	values, depth   int
	quoted, escaped bool
}

// exceeded reads more text, and returns a description of a bound that the text exceeds, or "". The
// values are counted for each line of the text, because an event of a watch is a line.
func (b *jsonBounds) exceeded(text []byte) string {
	for _, c := range text {
		switch {
		case b.escaped:
			b.escaped = false
		case b.quoted:
			b.escaped, b.quoted = c == '\\', c != '"'
		case c == '"':
			b.quoted = true
		case c == '{' || c == '[':
			b.depth++
			b.values++
		case c == '}' || c == ']':
			b.depth--
		case c == ',':
			b.values++
		case c == '\n' && b.depth == 0:
			b.values = 0
		}
		if b.depth > maxDepth {
			return fmt.Sprintf("JSON with a depth of more than %d", maxDepth)
		}
	}
	if b.values > maxValues {
		return fmt.Sprintf("more than %d million values", maxValues>>20)
	}
	return ""
}
