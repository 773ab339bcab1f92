// Package racing holds whether the race detector is on. It makes computations ten times slower and more, so tests of
// many cases run few with it; scripts/gotest.sh runs all of them without.
package racing
