//go:build !linux

package holder

// Machine returns "", because the machine is unknown on this platform. So no holder counts as ended,
// and a lease has to expire.
func Machine() string { return "" }

func Alive(int) bool { return true }
