package store

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What is fresh, what is counted, and what is seen beyond it.
func TestRolled(t *testing.T) {
	const h = 3600
	stored := func(hour int64, madeOf uint64) hourState {
		return hourState{Hour: hour * h, MadeOf: madeOf, Short: true}
	}
	made := func(hour int64, madeOf uint64, samples bool) hourState {
		return hourState{Hour: hour * h, MadeOf: madeOf, Made: true, Short: true, Samples: samples}
	}
	hours := func(from, to int64) stretch { return stretch{from * hourMillis, to * hourMillis} }
	for name, c := range map[string]struct {
		from, to int64
		states   []hourState
		samples  bool
		want     Rolled
	}{
		"nothing is stored":    {from: 0, to: 4, want: Rolled{counted: []stretch{hours(0, 4)}, seen: []stretch{hours(0, 4)}}},
		"nothing is rolled up": {from: 0, to: 4, states: []hourState{stored(0, 1), stored(1, 2)}, want: Rolled{counted: []stretch{hours(0, 4)}, seen: []stretch{hours(0, 4)}}},
		"an empty span":        {from: 4, to: 4},
		"the last hours are counted": {from: 0, to: 4, states: []hourState{stored(0, 1), stored(1, 2), stored(2, 3), made(0, 1, false), made(1, 2, false)},
			want: Rolled{fresh: []stretch{hours(0, 2)}, counted: []stretch{hours(2, 4)}, seen: []stretch{hours(2, 4)}}},
		"the last hour is counted while it has rows": {from: 0, to: 2, states: []hourState{stored(0, 1), stored(1, 2), made(0, 1, false), made(1, 2, false)},
			want: Rolled{fresh: []stretch{hours(0, 1)}, counted: []stretch{hours(1, 2)}, seen: []stretch{hours(1, 2)}}},
		"the last hour has no rows": {from: 0, to: 2, states: []hourState{stored(0, 1), {Hour: h, MadeOf: 2, Short: true, Expired: true}, made(0, 1, false), made(1, 2, false)},
			want: Rolled{fresh: []stretch{hours(0, 2)}}},
		"an hour was stored again": {from: 0, to: 5, states: []hourState{stored(0, 1), stored(1, 22), stored(2, 3), stored(3, 4), made(0, 1, false), made(1, 2, false), made(2, 3, false), made(3, 4, false)},
			want: Rolled{fresh: []stretch{hours(0, 1), hours(2, 4)}, counted: []stretch{hours(1, 2), hours(4, 5)}, seen: []stretch{hours(1, 3), hours(4, 5)}}},
		"it was rolled up again": {from: 0, to: 3, states: []hourState{stored(0, 1), stored(1, 22), made(0, 1, false), made(1, 2, false), made(1, 22, false)},
			want: Rolled{fresh: []stretch{hours(0, 2)}, outdated: []hourState{made(1, 2, false)}, counted: []stretch{hours(2, 3)}, seen: []stretch{hours(2, 3)}}},
		"hours without intervals": {from: 0, to: 9, states: []hourState{stored(1, 1), stored(5, 2), made(1, 1, false), made(5, 2, false)},
			want: Rolled{fresh: []stretch{hours(1, 6)}, counted: []stretch{hours(0, 1), hours(6, 9)}, seen: []stretch{hours(0, 2), hours(6, 9)}}},
		"long intervals": {from: 0, to: 2, states: []hourState{{Hour: 0, MadeOf: 1}, made(0, 1, false)}, want: Rolled{counted: []stretch{hours(0, 2)}, seen: []stretch{hours(0, 2)}}},
		"samples are not all there": {from: 0, to: 3, samples: true, states: []hourState{stored(0, 1), stored(1, 2), made(0, 1, true), made(1, 2, false)},
			want: Rolled{samples: true, fresh: []stretch{hours(0, 1)}, counted: []stretch{hours(1, 3)}, seen: []stretch{hours(1, 3)}}},
	} {
		got := rolledOf(c.from*hourMillis, c.to*hourMillis, c.states, c.samples)
		if diff := cmp.Diff(&c.want, got, cmp.AllowUnexported(Rolled{}, stretch{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		slices.Reverse(c.states) // the server returns them in any order
		if diff := cmp.Diff(got, rolledOf(c.from*hourMillis, c.to*hourMillis, c.states, c.samples), cmp.AllowUnexported(Rolled{}, stretch{})); diff != "" {
			t.Errorf("%s, in reverse: %s", name, diff)
		}
	}
}

// Days of links count if they are made of the current state of all their hours.
func TestRolledDays(t *testing.T) {
	var states []hourState
	for hour := int64(20); hour < 100; hour++ { // from the first day to the fifth
		states = append(states, hourState{Hour: hour * 3600, MadeOf: 1, Short: true}, hourState{Hour: hour * 3600, MadeOf: 1, Made: true, Short: true, Samples: true})
	}
	day := func(number int64, madeOf uint64, made bool) hourState {
		return hourState{Hour: number * 86400, MadeOf: madeOf, Day: true, Made: made}
	}
	states = append(states, day(1, 24, true), day(2, 23, true))
	r := rolledOf(0, 101*hourMillis, states, true)
	if diff := cmp.Diff([]hourState{day(1, 24, true), day(2, 24, false), day(3, 24, false)}, r.days); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]stretch{{20 * hourMillis, 24 * hourMillis}, {48 * hourMillis, 100 * hourMillis}}, r.withoutDays().fresh, cmp.AllowUnexported(stretch{})); diff != "" {
		t.Error(diff)
	}
	states[0].MadeOf, states[12].MadeOf = 2, 2 // hours 20 and 26 were stored again
	if r = rolledOf(0, 101*hourMillis, states, true); len(r.days) != 2 || r.days[0].Hour != 2*86400 {
		t.Errorf("days %+v", r.days)
	}
	states[len(states)-1], states[120].MadeOf = day(2, 24, true), 2 // hour 80 was, too; the third day is rolled up, and lies in one of three stretches
	r = rolledOf(0, 101*hourMillis, states, true)
	if diff := cmp.Diff([]stretch{{21 * hourMillis, 26 * hourMillis}, {27 * hourMillis, 48 * hourMillis}, {72 * hourMillis, 80 * hourMillis}, {81 * hourMillis, 100 * hourMillis}},
		r.withoutDays().fresh, cmp.AllowUnexported(stretch{})); diff != "" {
		t.Error(diff)
	}
}
