//go:build !race

package protocol

const raceDetector = false
