//go:build !unix

package terminal

import "os"

// disableEcho does nothing: what is typed is drawn over.
func disableEcho(*os.File) (restore func()) { return func() {} }

// suspensions never sends: there is no Ctrl-Z that stops a program.
func suspensions() (told <-chan os.Signal, stop func()) { return nil, func() {} }

// suspend is never called.
func suspend() {}
