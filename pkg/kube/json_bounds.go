package kube

import "fmt"

const (
	// maxValues limits the number of values in a JSON response or in one event of a watch. A decoded
	// value needs up to 350 bytes. The largest lists in real clusters have a few million values.
	maxValues = 8 << 20
	// maxDepth limits the depth of JSON values, because the length of paths and indentation grows
	// with the depth. The CRDs of large operators have a depth of about 35.
	maxDepth = 200
)

// jsonBounds counts the values and the depth of JSON text.
type jsonBounds struct {
	values, depth   int
	quoted, escaped bool
}

// exceeded processes more text, and returns a description of the exceeded limit, or "". The count of values
// restarts after a line break outside of objects and lists, because each event of a watch is a line.
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
