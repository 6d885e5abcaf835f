// Package logs reads container logs, once or until the owner of the pods is gone. All requests go through Open.
package logs

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"time"
)

// maxLine is the maximum number of bytes in a line. A longer line is cut, and cutMark is added.
const (
	maxLine = 64 << 10
	cutMark = " … [cut at 64 KiB]"
)

// Line is one line of a log.
type Line struct {
	// Time is when the line was written, by the node's clock. It is zero for the kubelet's messages about the log.
	Time time.Time
	Text string // without the line break
}

// lineReader splits a log into lines, with bounded memory.
type lineReader struct {
	from *bufio.Reader
	line []byte
}

func newLineReader(from io.Reader) *lineReader {
	return &lineReader{from: bufio.NewReaderSize(from, 16<<10)}
}

// next returns the next line. At the end of the log, the error is io.EOF and text is the incomplete last line.
func (r *lineReader) next() (text string, err error) {
	r.line = r.line[:0]
	over := false
	for {
		part, err := r.from.ReadSlice('\n')
		part = bytes.TrimSuffix(part, []byte("\n"))
		// Keep one more byte, because the last byte might be the carriage return at the end of the line.
		if room := maxLine + 1 - len(r.line); len(part) > room {
			over, part = true, part[:room]
		}
		r.line = append(r.line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if !over {
			r.line = bytes.TrimSuffix(r.line, []byte("\r"))
		}
		if len(r.line) > maxLine {
			return string(r.line[:maxLine]) + cutMark, err
		}
		return string(r.line), err
	}
}

func (r *lineReader) idle() bool { return r.from.Buffered() == 0 }

// parseLine splits a line into the time that the server adds, if any, and the text.
func parseLine(text string) Line {
	before, after, found := strings.Cut(text, " ")
	if at, err := time.Parse(time.RFC3339Nano, before); found && err == nil {
		return Line{Time: at, Text: after}
	}
	return Line{Text: text}
}
