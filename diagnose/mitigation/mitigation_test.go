package mitigation_test

import (
	"testing"

	"github.com/giverny/giverny/diagnose/mitigation"
	"github.com/giverny/giverny/schema"
)

// Protection events within 210 seconds of each other are one mitigation; a later one begins another. Its effect is
// known five intervals after the last.
func TestMitigations(t *testing.T) {
	const start, minute = int64(1_767_571_200e9), int64(60e9)
	const begin = start + 10*minute
	var tracker mitigation.Tracker
	slot, isCalm := int64(0), false
	var got []schema.Mitigation
	var events []schema.Event
	play := func(throttled ...int64) {
		snap := &schema.Snapshot{Fabric: "test", Interval: schema.Interval{StartNanos: start + slot*minute, DurationNanos: minute}}
		r := schema.IntervalResult{Snapshot: snap, Congestion: &schema.CongestionEvent{BeginNanos: start}}
		for _, second := range throttled {
			r.Failures = append(r.Failures, schema.Failure{Time: schema.Instant(begin + second*1e9), Kind: schema.Throttled})
			r.Events = append(r.Events, schema.Event{TimeNanos: begin + second*1e9, Kind: schema.Throttled}) // a duplicate
		}
		if !isCalm {
			r.Regions = []schema.Region{{ID: 1, Metric: schema.CreditStall, Links: []schema.LinkID{3, 4, 5}, Mean: 40, Severity: schema.High}}
		}
		tracker.Step(&r)
		got = append(got, r.Mitigations...)
		for _, e := range r.Events {
			if e.Kind != schema.Throttled {
				events = append(events, e)
			}
		}
		slot++
	}
	for range 10 {
		play()
	}
	play(0, 30)
	play()
	play()
	play(30 + 210)       // 210 s after the second event: the same mitigation
	isCalm = true        // congestion ends
	play(30 + 210 + 211) // one second too late: another mitigation
	for range 12 {
		play()
	}
	if len(got) != 2 || len(events) != 4 {
		t.Fatalf("%d mitigations, %d events: %+v", len(got), len(events), got)
	}
	first, second := got[0], got[1]
	if first.Begin != schema.Instant(begin) || first.End != schema.Instant(begin+240e9) || first.Events != 3 || !first.Alleviated || first.Congestion != schema.Instant(start) || first.Before <= 0 || first.After != 0 {
		t.Errorf("first: %+v", first)
	}
	if second.Events != 1 || second.Alleviated && second.Before == 0 {
		t.Errorf("second: %+v", second)
	}
	if events[0].Kind != schema.MitigationBegan || events[0].TimeNanos != begin || events[2].Kind != schema.MitigationEnded {
		t.Errorf("events: %+v", events)
	}
}

// A log of a day that is read at once loses no mitigation.
func TestMitigationsOfALogReadLate(t *testing.T) {
	const start, minute, count = int64(1_767_571_200e9), int64(60e9), 200
	var failures []schema.Failure
	for i := range int64(count) {
		failures = append(failures, schema.Failure{Time: schema.Instant(start - (i+1)*10*minute), Kind: schema.Throttled})
	}
	var tracker mitigation.Tracker
	r := schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "test", Interval: schema.Interval{StartNanos: start, DurationNanos: minute}}, Failures: failures}
	tracker.Step(&r)
	if len(r.Mitigations) != count {
		t.Errorf("%d mitigations, want %d", len(r.Mitigations), count)
	}
}
