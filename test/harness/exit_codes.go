package harness

// The exit codes in docs/exit-codes.md.
const (
	ExitError        = 1
	ExitUsage        = 2
	ExitFailed       = 3
	ExitTimeout      = 4
	ExitOverwritten  = 5
	ExitNotFound     = 6
	ExitPrecondition = 7
	ExitForbidden    = 8
	ExitUndone       = 9
	ExitUnknown      = 10
	ExitInterrupted  = 130
)
