// Package racing tells whether the race detector is on. It slows computations down tenfold or more, so tests with
// many cases run only a few with it; scripts/gotest.sh runs all of them without it.
package racing
