package node

import (
	"bytes"
	"os"
)

// LogTail returns the last lines of a log, or the error if the log cannot be
// read.
func LogTail(path string) string {
	const maxLines = 20
	data, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimRight(data, "\n"), []byte("\n"))
	lines = lines[max(0, len(lines)-maxLines):]
	return string(bytes.Join(lines, []byte("\n")))
}
