//go:build !linux

package holder

// Machine is unknown on this platform, so that no holder counts as dead and its lease has to
// expire.
func Machine() string { return "" }

func Alive(int) bool { return true }
