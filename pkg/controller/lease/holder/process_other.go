//go:build !linux

package holder

// Machine returns "", so that no holder counts as ended on this platform, and a lease has to expire.
func Machine() string { return "" }

func Alive(int) bool { return true }
