package escape

import (
	"fmt"
	"io"
)

// PrintLine writes a line for a person. The words of others in it are escaped.
func PrintLine(w io.Writer, format string, args ...any) error {
	_, err := fmt.Fprintln(w, Line(fmt.Sprintf(format, args...)))
	return err
}
