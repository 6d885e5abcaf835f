//go:build race

package harness

// raceDetector means that the tests use the race detector, which needs a C compiler.
const raceDetector = true
