//go:build !unix

package terminal

import "os"

// disableEcho does nothing: typed characters are overwritten.
func disableEcho(*os.File) (restore func()) { return func() {} }

// suspensions never sends: this platform cannot suspend a process.
func suspensions() (stops <-chan os.Signal, stop func()) { return nil, func() {} }

// suspend is never called.
func suspend() {}
