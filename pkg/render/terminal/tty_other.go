//go:build !unix

package terminal

import "os"

// disableEcho does nothing, because frames overwrite typed characters.
func disableEcho(*os.File) (restore func()) { return func() {} }

// suspensions returns a nil channel, because this platform cannot suspend a process.
func suspensions() (stops <-chan os.Signal, stop func()) { return nil, func() {} }

// suspend is never called.
func suspend() {}
