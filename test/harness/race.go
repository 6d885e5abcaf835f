//go:build race

package harness

// raceDetector is on in the plugin when it is in the tests: the loop has many
// goroutines. It takes a C compiler, which not every machine has.
const raceDetector = true
