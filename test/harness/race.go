//go:build race

package harness

// raceDetector is true if the tests, and therefore the plugin, use the race
// detector. It needs a C compiler, which not every machine has.
const raceDetector = true
