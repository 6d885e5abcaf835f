//go:build race

package harness

// raceDetector reports whether the tests, and therefore the plugin, use the race
// detector. It needs a C compiler, which not every machine has.
const raceDetector = true
