package scenario

import (
	"fmt"
	"time"

	"github.com/giverny/giverny/schema"
)

// throttling is the state of congestion protection.
type throttling struct {
	on    bool
	until time.Duration
}

// throttle limits the sum of all NICs' send rates to what one can receive, or lifts the
// limit.
func (r *Runner) throttle(on bool, now time.Duration, why string) {
	if r.throttling.on == on {
		return
	}
	r.throttling.on = on
	share := 1.
	if on {
		share = 1 / float64(len(r.alloc.hosts))
	}
	for _, d := range r.alloc.hosts {
		r.model.SetShare(r.model.Send(d), share)
	}
	if on {
		r.logFailure(schema.Event{TimeNanos: r.nanos(now), Fabric: r.graph.Fabric(), Kind: schema.Throttled, Detail: "all NICs throttled: " + why})
	}
}

// protect turns throttling on or off by the latest state.
func (r *Runner) protect() {
	p := r.script.Protection
	if p == nil {
		return
	}
	over := func(percent float64) (n int) {
		for ch := range r.state.CreditStall {
			if 100*max(r.state.CreditStall[ch], r.state.InqStall[ch]) >= percent {
				n++
			}
		}
		return n
	}
	next := r.now + r.script.Step
	switch {
	case !r.throttling.on && over(p.HighPercent) >= p.Links:
		r.throttling.until = next + p.Hold
		r.throttle(true, next, fmt.Sprintf("%d links stalled for %v%% of the time or more", over(p.HighPercent), p.HighPercent))
	case r.throttling.on && next >= r.throttling.until && over(p.LowPercent) < p.Links:
		r.throttle(false, next, "")
	}
}
