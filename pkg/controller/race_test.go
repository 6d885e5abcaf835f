//go:build race

package controller

// raceDetector means that the race detector is on. With it, a world takes five times as long.
const raceDetector = true
