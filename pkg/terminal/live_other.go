//go:build !unix

package terminal

import "os"

// hush does nothing: what is typed is drawn over.
func hush(*os.File) (loud func()) { return func() {} }

// suspensions tells of nothing: there is no Ctrl-Z that stops a program.
func suspensions() (told <-chan os.Signal, stop func()) { return nil, func() {} }

// suspend is never called.
func suspend() {}
