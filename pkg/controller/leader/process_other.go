//go:build !linux

package leader

// machine is not known here, so no holder of a lease is taken for dead: its
// lease has to run out.
func machine() string { return "" }

func alive(int) bool { return true }
