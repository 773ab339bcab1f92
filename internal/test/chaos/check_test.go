package chaos

import (
	"math"
	"strings"
	"testing"
)

const (
	made    = 1_700_000_000 * second // start of synthetic histories
	madeFor = 20                     // in intervals
)

func madeRules() Rules {
	return Rules{IntervalNanos: second, MaxGapNanos: 3 * second, MinCover: .5, WaitNanos: 2 * second, ClockNanos: 30 * second,
		Truth: Truth{BasePercent: func(device, _ string) int { return map[string]int{"a1": 30}[device] + 5 }},
		Owner: func(device string) string { return device[:1] }, FromNanos: made, ToNanos: made + madeFor*second}
}

// world is a synthetic history of two agents, a and b, and the tables of a system that loses nothing.
type world struct {
	history []Reading
	tables  Tables
}

var madePorts = []Port{{"a1", "X"}, {"a1", "Y"}, {"b1", "X"}}

func newWorld() *world {
	w := &world{tables: Tables{Ports: map[uint64][]Port{7: madePorts}}}
	rules := madeRules()
	for k := range int64(madeFor + 1) {
		for _, agent := range []string{"a", "b"} {
			w.history = append(w.history, Reading{agent, made + k*second, made + k*second, true})
		}
	}
	for k := range int64(madeFor) {
		start := made + k*second
		s := Interval{StartNanos: start, StoredNanos: start + second + second/10, Version: 7}
		for _, p := range madePorts {
			s.Percents = append(s.Percents, math.Round(outcome{start, start + second}.percent(p, start, &rules)*100)/100)
		}
		w.tables.Intervals = append(w.tables.Intervals, s)
		w.tables.Announced = append(w.tables.Announced, start)
	}
	return w
}

// drop removes an agent's readings at some seconds from the history.
func (w *world) drop(agent string, seconds ...int64) {
	var kept []Reading
	for _, r := range w.history {
		gone := false
		for _, k := range seconds {
			gone = gone || r.Agent == agent && r.TrueNanos == made+k*second
		}
		if !gone {
			kept = append(kept, r)
		}
	}
	w.history = kept
}

func (w *world) set(interval, link int, percent float64) {
	w.tables.Intervals[interval].Percents[link] = percent
}

// Each case breaks one thing, and the checker must find exactly that.
func TestTheCheckerFindsWhatIsWrong(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		broken func(w *world)
		want   string // kinds of problems with their numbers; empty: none
	}{
		"all is right":    {func(*world) {}, ""},
		"a value is lost": {func(w *world) { w.set(5, 1, nan) }, "lost 1"},
		"an interval is lost": {func(w *world) {
			w.tables.Intervals = append(w.tables.Intervals[:5], w.tables.Intervals[6:]...)
			w.tables.Announced = append(w.tables.Announced[:5], w.tables.Announced[6:]...)
		}, "lost 3"},
		"a value is off by two hundredths of a percent": {func(w *world) { w.tables.Intervals[5].Percents[0] += .02 }, "wrong 1"},
		"two ports are mixed up": {func(w *world) {
			p := w.tables.Intervals[5].Percents
			p[0], p[1] = p[1], p[0]
		}, "wrong 2"},
		"two intervals are mixed up": {func(w *world) {
			a, b := &w.tables.Intervals[5], &w.tables.Intervals[9]
			a.Percents, b.Percents = b.Percents, a.Percents
		}, "wrong 6"},
		"an acknowledged reading was not used": {func(w *world) { // its neighbours give a mean over both intervals
			w.set(5, 2, w.mean(2, 5, 7))
			w.set(6, 2, w.mean(2, 5, 7))
		}, "wrong 2"},
		"an interval is there twice": {func(w *world) { w.tables.Intervals = append(w.tables.Intervals, w.tables.Intervals[5]) }, "doubled 1"},
		"rows are there twice":       {func(w *world) { w.tables.Doubled = []string{"3 rows of regions"} }, "doubled 1"},
		"a value without readings":   {func(w *world) { w.drop("b", 6, 7, 8, 9) }, "invented 5"},
		"the silence is stored as that": {func(w *world) {
			w.drop("b", 6, 7, 8, 9)
			for k := 5; k < 10; k++ {
				w.set(k, 2, nan)
			}
		}, ""},
		"an interval is stored before it ended": {func(w *world) { w.tables.Intervals[5].StoredNanos = made + 5*second }, "future 1"},
		"an interval of next year": {func(w *world) {
			w.tables.Intervals = append(w.tables.Intervals, Interval{StartNanos: made + 1e16, StoredNanos: made + 30*second, Version: 7, Percents: []float64{1, 1, 1}})
		}, "future 1"},
		"an announced interval is not stored": {func(w *world) { w.tables.Announced = append(w.tables.Announced, made-5*second) }, "announced 1"},
		"nothing measured, and calm": {func(w *world) {
			w.tables.Intervals = append(w.tables.Intervals, Interval{StartNanos: made - 5*second, StoredNanos: made, Version: 7, Percents: []float64{nan, nan, nan}})
		}, "silent 1"},
		"nothing measured, and Unknown": {func(w *world) {
			w.tables.Intervals = append(w.tables.Intervals, Interval{StartNanos: made - 5*second, StoredNanos: made, Version: 7, Percents: []float64{nan, nan, nan}, Unknown: "nothing_measured"})
		}, ""},
		"the readings of a clock that is an hour ahead are used": {func(w *world) {
			w.history = append(w.history, Reading{"a", made + 2*second + 1, made + 3600*second, true})
			w.tables.Intervals = append(w.tables.Intervals, Interval{StartNanos: made + 3600*second, StoredNanos: made + 3*second, Version: 7, Percents: []float64{1, 1, nan}})
		}, "future 1"},
		"a clock that is a little off is not judged, but for the other agent": {func(w *world) {
			w.history = append(w.history, Reading{"a", made + 10*second, made + 12*second, true})
			w.set(10, 0, 99)
			w.set(10, 2, 99)
		}, "wrong 1"},
		"a reading that was not acknowledged may be there": {func(w *world) { w.doubt("b", 6) }, ""},
		"a poll was missed, and the value is not there":    {func(w *world) { w.drop("b", 6); w.set(5, 2, nan); w.tables.Intervals[6].Percents[2] = w.mean(2, 5, 7) }, "lost 1"},
		"two were, and the first value is not there": {func(w *world) {
			w.drop("b", 6, 7)
			w.set(5, 2, nan)
			w.set(6, 2, w.mean(2, 5, 8))
			w.set(7, 2, w.mean(2, 5, 8))
		}, ""},
		"or not": {func(w *world) {
			w.doubt("b", 6)
			w.set(5, 2, w.mean(2, 5, 7))
			w.set(6, 2, w.mean(2, 5, 7))
		}, ""},
		"but the value may not be missing": {func(w *world) {
			w.doubt("b", 6)
			w.set(5, 2, nan)
		}, "lost 1"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			c.broken(w)
			report := Check(w.history, &w.tables, madeRules())
			var got []string
			for _, what := range []string{Announced, Doubled, Future, Invented, Lost, Silent, Wrong} {
				if n := report.Counts()[what]; n > 0 {
					got = append(got, what+" "+string(rune('0'+n)))
				}
			}
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("found %q, want %q\n%v", s, c.want, report)
			}
			if report.Intervals != madeFor {
				t.Errorf("%d intervals judged, want %d", report.Intervals, madeFor)
			}
		})
	}
}

// mean is the value of a link between two seconds.
func (w *world) mean(link int, from, to int64) float64 {
	rules := madeRules()
	return outcome{made + from*second, made + to*second}.percent(madePorts[link], made+from*second, &rules)
}

// doubt makes a reading unacknowledged.
func (w *world) doubt(agent string, k int64) {
	for i := range w.history {
		if r := &w.history[i]; r.Agent == agent && r.TrueNanos == made+k*second {
			r.Acked = false
		}
	}
}

// Every second and port has a distinct value at the stored precision.
func TestTheTruthTellsIntervalsAndPortsApart(t *testing.T) {
	truth := Truth{BasePercent: func(string, string) int { return 40 }}
	seen, same := map[int64]bool{}, 0
	for k := range int64(1000) {
		for _, p := range madePorts {
			a, b := truth.Counter(p.Device, p.Port, made+k*second), truth.Counter(p.Device, p.Port, made+(k+1)*second)
			value := int64(b-a) / unit
			if value < 2400 || value > 5600 || int64(b-a)%unit != 0 {
				t.Fatalf("second %d: %d", k, b-a)
			}
			for tenth := range int64(10) {
				if got, want := truth.Counter(p.Device, p.Port, made+k*second+tenth*second/10)-a, uint64(b-a)/10*uint64(tenth); got != want {
					t.Fatalf("second %d and %d tenths: %d, want %d", k, tenth, got, want)
				}
			}
			if k < 30 && seen[value] {
				same++
			}
			seen[value] = true
		}
	}
	if same > 5 {
		t.Errorf("%d of 90 values are there twice", same)
	}
}
