//go:build race

package harness

// raceDetector says that it is on in the tests, so that it is in the plugin, too: the
// loop has many goroutines. It takes a C compiler, which not every machine has.
const raceDetector = true
