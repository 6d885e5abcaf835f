//go:build race

package e2e

// raceFlag builds the plugin with the race detector when the tests are: the loop
// has many goroutines. It takes a C compiler, which not every machine has.
var raceFlag = []string{"-race"}
