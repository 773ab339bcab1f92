//go:build !race

package racing

// On says whether this binary runs under the race detector.
const On = false
