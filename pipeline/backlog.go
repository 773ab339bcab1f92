package pipeline

import (
	"fmt"
	"time"
)

// backlog measures how long readings wait in Kafka before they are analysed, and whether that becomes less. It is pure: time is
// passed as a value.
type backlog struct {
	appendedNanos int64 // the newest reading that was analysed came to Kafka then, by the broker's clock; 0: none yet

	// The pace is the time between readings by the time in which they were analysed, over about the last paceOver: above 1
	// the analysis catches up. 0: not known yet.
	pace                      float64
	sinceNanos, sinceAppended int64 // where the present measurement of the pace began; 0: nowhere
	lastNanos                 int64 // of the last call of took
}

// maxLag is how long readings may wait, beyond the time for which silence is normal; paceOver is how long the pace is measured:
// results come in bursts.
const (
	maxLag   = time.Minute
	paceOver = 30 * time.Second
)

// took records a batch of readings that came to Kafka at appendedNanos; 0: that is not known.
func (b *backlog) took(appendedNanos, nowNanos int64) {
	if appendedNanos == 0 {
		return
	}
	idle := nowNanos-b.lastNanos > int64(paceOver) // an outage, a restart, or intervals that are longer
	b.appendedNanos, b.lastNanos = max(b.appendedNanos, appendedNanos), nowNanos
	took := nowNanos - b.sinceNanos
	switch {
	case idle:
		b.pace = 0
	case took >= int64(paceOver):
		b.pace = float64(b.appendedNanos-b.sinceAppended) / float64(took)
	default:
		return
	}
	b.sinceNanos, b.sinceAppended = nowNanos, b.appendedNanos
}

// lag returns how long the readings that were analysed last had waited.
func (b *backlog) lag() time.Duration { return time.Duration(max(b.lastNanos-b.appendedNanos, 0)) }

// barely is the pace below which catching up takes more than twenty times as long as the lag.
const barely = 1.05

// stuck reports whether the analysis is known not to catch up.
func (b *backlog) stuck() bool { return b.pace != 0 && b.pace < barely }

// outlook says when the analysis will have caught up, or what to do if it will not.
func (b *backlog) outlook() string {
	switch {
	case b.pace == 0:
		return ""
	case b.stuck():
		return fmt.Sprintf(", and does not catch up: a minute is enough for %.0f s of readings; "+
			"give the analyser and the store more processor time or a faster disk, let several analysers share the fabrics, or lengthen the intervals", 60*b.pace)
	}
	return fmt.Sprintf(", and has caught up in about %s at the present pace", max(time.Duration(float64(b.lag())/(b.pace-1)), time.Second).Round(time.Second))
}
