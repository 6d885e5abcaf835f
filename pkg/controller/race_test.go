//go:build race

package controller

// raceDetector means that the race detector is on.
const raceDetector = true
