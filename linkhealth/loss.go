package linkhealth

import (
	"math"
	"time"

	"github.com/giverny/giverny/internal/codec"
)

// kind is of those who share a loss.
type kind int

const (
	nodes kind = iota
	switches
	cables
	numKinds
)

// loss is the share of intervals that sound links or devices of a kind are silent for, since readings get lost at random
// (a sum over the last intervals, weighted exponentially). It counts what was silent between two intervals in which it
// answered: who fails is silent for longer.
type loss struct {
	lost, counted       float64
	newLost, newCounted float64 // in this interval
}

// lossMemory is how many intervals count; falseEvery is how often silence may by chance pass for a failure, over all
// links or all devices of a kind.
const (
	lossMemory = 60
	falseEvery = 10 * 24 * time.Hour
)

// begin forgets some of what is old.
func (l *loss) begin() {
	l.lost = (l.lost + l.newLost) * (1 - 1./lossMemory)
	l.counted = (l.counted + l.newCounted) * (1 - 1./lossMemory)
	l.newLost, l.newCounted = 0, 0
}

// observe adds an interval's verdict, before the watch takes it over.
func (l *loss) observe(w *watch, v verdict) {
	if v != isUp || w.failed {
		return
	}
	switch {
	case w.bad == 1 && !w.evident:
		l.newLost++
		l.newCounted++
	case w.bad == 0 && w.good >= 2: // up, up and up again
		l.newCounted++
	}
}

// rate is that of the last interval if it is higher: loss begins at once.
func (l *loss) rate() float64 {
	if l.newLost == 0 && l.lost == 0 {
		return 0
	}
	all := (l.lost + l.newLost) / (l.counted + l.newCounted)
	return max(all, l.newLost/max(1, l.newCounted))
}

// patience is for how many intervals in a row one of n must be silent to count as failed: at least as many as in a fabric
// that loses nothing, and so many that the loss makes n*rate^patience false failures an interval rarer than falseEvery.
func (l *loss) patience(least, n int, intervalNanos int64) int {
	rate := l.rate()
	if rate == 0 {
		return least
	}
	allowed := float64(intervalNanos) / float64(falseEvery) / float64(n)
	if rate >= 1 || intervalNanos <= 0 {
		return maxDebounce
	}
	return max(least, min(maxDebounce, int(math.Ceil(math.Log(allowed)/math.Log(rate)))))
}

func (l *loss) code(c *codec.Coder) {
	for _, f := range [...]*float64{&l.lost, &l.counted, &l.newLost, &l.newCounted} {
		c.Float(f)
	}
	if !(l.lost >= 0 && l.lost <= l.counted && l.newLost >= 0 && l.newLost <= l.newCounted) {
		c.Damaged("lost %v of %v, lately %v of %v", l.lost, l.counted, l.newLost, l.newCounted)
	}
}
