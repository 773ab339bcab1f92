package diagnose_test

import (
	"testing"

	"github.com/giverny/giverny/schema"
)

// Protection events within 210 seconds of each other are one mitigation; the next begins another. What became
// of the congestion is known five intervals after the last.
func TestMitigations(t *testing.T) {
	p := newPlant(t, "torus:4x4x4")
	p.congest(40, p.within(box(0, 0, 0, 2, 2, 2))...)
	p.step(10)
	begin := p.start + 10*minute
	var got []schema.Mitigation
	var events []schema.Event
	play := func(throttled ...int64) {
		r := schema.IntervalResult{Snapshot: p.snapshot(), Congestion: &schema.CongestionEvent{BeginNanos: p.start}}
		for _, second := range throttled {
			r.Failures = append(r.Failures, schema.Failure{Time: schema.Instant(begin + second*1e9), Kind: schema.Throttled})
			r.Events = append(r.Events, schema.Event{TimeNanos: begin + second*1e9, Kind: schema.Throttled}) // of the same
		}
		if len(p.regions) > 0 {
			r.Regions = []schema.Region{{ID: 1, Metric: schema.CreditStall, Links: p.regions[0], Mean: 40, Severity: schema.High}}
		}
		p.stage.Step(&r)
		got = append(got, r.Mitigations...)
		for _, e := range r.Events {
			if e.Kind != schema.Throttled {
				events = append(events, e)
			}
		}
		p.slot++
	}
	play(0, 30)
	play()
	play()
	play(30 + 210)       // 210 seconds after the second: the same
	p.regions = nil      // and now it is calm
	play(30 + 210 + 211) // late by a second: another
	for range 12 {
		play()
	}
	if len(got) != 2 || len(events) != 4 {
		t.Fatalf("%d mitigations, %d events: %+v", len(got), len(events), got)
	}
	first, second := got[0], got[1]
	if first.Begin != schema.Instant(begin) || first.End != schema.Instant(begin+240e9) || first.Events != 3 || !first.Alleviated || first.Congestion != schema.Instant(p.start) || first.Before <= 0 || first.After != 0 {
		t.Errorf("first: %+v", first)
	}
	if second.Events != 1 || second.Alleviated && second.Before == 0 {
		t.Errorf("second: %+v", second)
	}
	if events[0].Kind != schema.MitigationBegan || events[0].TimeNanos != begin || events[2].Kind != schema.MitigationEnded {
		t.Errorf("events: %+v", events)
	}
}
