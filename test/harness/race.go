//go:build race

package harness

// raceDetector is true if the tests use the race detector. The detector needs a
// C compiler, which not every machine has.
const raceDetector = true
