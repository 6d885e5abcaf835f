//go:build !unix

package terminal

import "os"

// disableEcho does nothing, because frames overwrite typed characters.
func disableEcho(*os.File) (restore func()) { return func() {} }

// suspensions returns a nil channel, because processes cannot be suspended on this platform.
func suspensions() (stops <-chan os.Signal, stop func()) { return nil, func() {} }

// suspend is never called.
func suspend() {}
