package linkhealth

import (
	"math"
	"time"

	"github.com/giverny/giverny/internal/codec"
)

// kind groups the links and devices that share a loss rate.
type kind int

const (
	nodes kind = iota
	switches
	cables
	numKinds
)

// loss is the share of intervals in which healthy links or devices of a kind are missing due to randomly lost readings
// (an exponentially weighted sum). It counts single intervals without an answer between two with one, since failures
// last longer.
type loss struct {
	lost, counted       float64
	newLost, newCounted float64 // in this interval
}

// lossMemory is the number of intervals that count; falseEvery is the mean time between failures falsely inferred
// from missing readings, over all links or all devices of a kind.
const (
	lossMemory = 60
	falseEvery = 10 * 24 * time.Hour
)

// begin decays old counts.
func (l *loss) begin() {
	l.lost = (l.lost + l.newLost) * (1 - 1./lossMemory)
	l.counted = (l.counted + l.newCounted) * (1 - 1./lossMemory)
	l.newLost, l.newCounted = 0, 0
}

// observe adds an interval's verdict, before the watch observes it.
func (l *loss) observe(w *watch, v verdict) {
	if v != isUp || w.failed || w.silent {
		return
	}
	switch {
	case w.bad == 1 && !w.evident:
		l.newLost++
		l.newCounted++
	case w.bad == 0 && w.good >= 2: // up three times in a row
		l.newCounted++
	}
}

// rate is the average or, if higher, the last interval's rate, since loss may begin suddenly.
func (l *loss) rate() float64 {
	if l.newLost == 0 && l.lost == 0 {
		return 0
	}
	all := (l.lost + l.newLost) / (l.counted + l.newCounted)
	return max(all, l.newLost/max(1, l.newCounted))
}

// patience is for how many consecutive intervals one of n must be missing to count as failed: at least least, as without
// losses, and enough that n*rate^patience false failures per interval are rarer than one per falseEvery.
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
