//go:build !linux

package holder

// Machine is not known here, so no holder of a lease is taken for dead: its
// lease has to run out.
func Machine() string { return "" }

func Alive(int) bool { return true }
