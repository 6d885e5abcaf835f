//go:build race

package controller

// raceDetector means that the race detector is on. The race detector makes a world take five times as long.
const raceDetector = true
