package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/feedback/policy"
)

const minute = int64(time.Minute)

func config(change func(*policy.Config)) policy.Config {
	cfg := policy.DefaultConfig()
	cfg.Allow = []string{"n*"}
	if change != nil {
		change(&cfg)
	}
	return cfg
}

func scores(values map[string]float64) (list []policy.Score) {
	for node, value := range values {
		list = append(list, policy.Score{Node: node, Score: value})
	}
	return list
}

func names(list []policy.Score) (out []string) {
	for _, s := range list {
		out = append(out, s.Node)
	}
	return out
}

// A node is marked after a while above one threshold and relieved after a while below a
// lower one; scores in between change nothing.
func TestHysteresis(t *testing.T) {
	p := policy.New(config(nil)) // 60 for 1 min, below 30 for 5 min
	marked := map[string]bool{}
	for at, step := range []struct {
		score float64
		want  bool
	}{
		{60, false}, {60, true}, {59, true}, {30, true}, {29, true}, {29, true}, {29, true}, {45, true}, // 45 restarts the 5 min
		{20, true}, {0, true}, {0, true}, {0, true}, {0, true}, {0, false}, {59, false}, {59, false}, {61, false}, {50, false}, {61, false}, {61, true},
	} {
		now := int64(at+1) * minute
		p.Observe(now, scores(map[string]float64{"n1": step.score}))
		d := p.Decide(now, marked)
		for _, s := range d.Mark {
			marked[s.Node] = true
		}
		for _, s := range d.Relieve {
			delete(marked, s.Node)
		}
		if marked["n1"] != step.want {
			t.Errorf("minute %d, score %g: marked %v", at, step.score, marked["n1"])
		}
	}
}

func TestLimits(t *testing.T) {
	p := policy.New(config(func(c *policy.Config) { c.RaiseAfter, c.LowerAfter, c.MaxNodes, c.PerMinute = 0, 0, 3, 2 }))
	all := map[string]float64{"n1": 70, "n2": 90, "n3": 80, "n4": 75, "x1": 99}
	p.Observe(minute, scores(all))
	d := p.Decide(0, nil)
	if got := names(d.Mark); !slices.Equal(got, []string{"n2", "n3"}) {
		t.Errorf("marked %v, want the two highest that are allowed", got)
	}
	refused := map[string]policy.Reason{}
	for _, r := range d.Refused {
		refused[r.Node] = r.Reason
	}
	if want := (map[string]policy.Reason{"x1": policy.NotAllowed, "n4": policy.TooOften, "n1": policy.TooOften}); fmt.Sprint(refused) != fmt.Sprint(want) || d.Pending != 2 {
		t.Errorf("refused %v, pending %d; want %v, 2", refused, d.Pending, want)
	}
	marked := map[string]bool{"n2": true, "n3": true}
	if d = p.Decide(minute/2, marked); len(d.Mark) > 0 || len(d.Refused) > 0 {
		t.Errorf("within the minute: %+v; a refusal is said once", d)
	}
	if d = p.Decide(minute, marked); !slices.Equal(names(d.Mark), []string{"n4"}) || len(d.Refused) != 1 || d.Refused[0].Reason != policy.TooMany {
		t.Errorf("a minute later %+v", d)
	}
	marked["n4"] = false // relief in progress: it occupies a place, and is not relieved again
	p.Observe(2*minute, nil)
	if d = p.Decide(3*minute, marked); !slices.Equal(names(d.Relieve), []string{"n2", "n3"}) {
		t.Errorf("relieved %v", names(d.Relieve))
	}
}

// A clock that was a day ahead and is set back delays no relief: not by the rate limit, not by the wait for unknown scores, and
// dwell times start again.
func TestAClockThatIsSetBack(t *testing.T) {
	const day = 24 * 60 * minute
	p := policy.New(config(func(c *policy.Config) { c.PerMinute = 1 }))
	for at := range int64(3) {
		p.Observe(day+at*minute, scores(map[string]float64{"n1": 90}))
	}
	if d := p.Decide(day+2*minute, nil); !slices.Equal(names(d.Mark), []string{"n1"}) {
		t.Fatalf("%+v", d)
	}
	marked := map[string]bool{"n1": true}
	p.Observe(10*minute, scores(map[string]float64{"n2": 90}))
	if d := p.Decide(10*minute, marked); len(d.Mark)+len(d.Relieve) > 0 {
		t.Errorf("without any dwell time: %+v", d)
	}
	for at := int64(11); at <= 16; at++ {
		p.Observe(at*minute, nil)
	}
	if d := p.Decide(16*minute, marked); !slices.Equal(names(d.Relieve), []string{"n1"}) {
		t.Errorf("calm for five minutes: %+v", d)
	}
	p = policy.New(config(nil))
	p.Observe(day, scores(map[string]float64{"n1": 90}))
	p.Unknown(day + minute)
	p.Unknown(minute)
	p.Unknown(12 * minute)
	if d := p.Decide(12*minute, marked); !slices.Equal(names(d.Relieve), []string{"n1"}) {
		t.Errorf("unknown for eleven minutes: %+v", d)
	}
}

// A clock that is set forward by a day, or a day without scores, is no dwell time: nothing is marked or relieved before its time.
func TestAClockThatIsSetForward(t *testing.T) {
	const day = 24 * 60 * minute
	p := policy.New(config(nil))
	congested := scores(map[string]float64{"n1": 90})
	p.Observe(10*minute, congested)
	p.Observe(day, congested)
	if d := p.Decide(day, nil); len(d.Mark) > 0 {
		t.Errorf("marked after two intervals with a day between: %v", names(d.Mark))
	}
	p.Observe(day+minute, congested)
	if d := p.Decide(day+minute, nil); !slices.Equal(names(d.Mark), []string{"n1"}) {
		t.Errorf("congested for a minute by the clock that is right now: %+v", d)
	}
	marked := map[string]bool{"n1": true}
	p.Observe(day+2*minute, nil)
	p.Decide(day+2*minute, marked)
	p.Observe(2*day, nil)
	if d := p.Decide(2*day, marked); len(d.Relieve) > 0 {
		t.Errorf("relieved after two calm intervals with a day between: %v", names(d.Relieve))
	}
	for at := int64(1); at <= 5; at++ {
		p.Observe(2*day+at*minute, nil)
	}
	if d := p.Decide(2*day+5*minute, marked); !slices.Equal(names(d.Relieve), []string{"n1"}) {
		t.Errorf("calm for five minutes: %+v", d)
	}
}

// Unknown scores neither mark nor relieve, until they have been unknown for too long.
func TestUnknown(t *testing.T) {
	p := policy.New(config(func(c *policy.Config) { c.RaiseAfter = 0 }))
	marked := map[string]bool{"n1": true}
	p.Observe(minute, scores(map[string]float64{"n1": 90}))
	for at := int64(2); at <= 10; at++ {
		p.Unknown(at * minute)
		if d := p.Decide(at*minute, marked); len(d.Mark)+len(d.Relieve) > 0 {
			t.Fatalf("minute %d: %+v", at, d)
		}
	}
	p.Unknown(11 * minute)
	if d := p.Decide(11*minute, marked); !slices.Equal(names(d.Relieve), []string{"n1"}) || !strings.Contains(d.Relieve[0].Reason, "been unknown for too long") {
		t.Errorf("after ten minutes %+v", d)
	}
	p.Observe(12*minute, scores(map[string]float64{"n1": 90}))
	if d := p.Decide(12*minute, nil); !slices.Equal(names(d.Mark), []string{"n1"}) {
		t.Errorf("once they are known again %+v", d)
	}
}

// After the scores have been unknown for too long, the marks are relieved at the rate limit, and those being relieved are
// left alone. A node that waits is reported once.
func TestReliefOfTheUnknownIsLimited(t *testing.T) {
	p := policy.New(config(func(c *policy.Config) { c.PerMinute = 2 }))
	p.Unknown(minute)
	p.Unknown(11 * minute)
	marked := map[string]bool{"n1": true, "n2": true, "n3": true, "n4": false}
	for refusals := 1; refusals >= 0; refusals-- {
		d := p.Decide(11*minute+int64(refusals), marked)
		if got := names(d.Relieve); len(got) != 2*refusals || d.Pending != 1 || len(d.Refused) != refusals || refusals == 1 && d.Refused[0].Node != "n3" {
			t.Errorf("%+v", d)
		}
		delete(marked, "n1")
		delete(marked, "n2")
	}
}

// A refusal is reported again after the node was marked in between.
func TestRefusalsAfterAMark(t *testing.T) {
	p := policy.New(config(func(c *policy.Config) { c.RaiseAfter, c.PerMinute = 0, 1 }))
	for at, want := range []struct{ mark, refused string }{{"[n1]", "[n2]"}, {"[]", "[n1]"}, {"[n1]", "[]"}, {"[]", "[n1]"}} {
		now := int64(at+2) * minute / 2 // every other decision is within the minute
		p.Observe(now, scores(map[string]float64{"n1": 90, "n2": 80}))
		d := p.Decide(now, nil) // the marks never take
		var refused []string
		for _, r := range d.Refused {
			refused = append(refused, r.Node)
		}
		if fmt.Sprint(names(d.Mark)) != want.mark || fmt.Sprint(refused) != want.refused {
			t.Errorf("decision %d: marks %v, refuses %v; want %+v", at, names(d.Mark), refused, want)
		}
	}
}

// A node that the scheduler cannot mark costs nothing of the rate limit and is tried again a minute later, or when the
// clock was set back; the reason is new until the score falls.
func TestNodesThatCannotBeMarked(t *testing.T) {
	p := policy.New(config(func(c *policy.Config) { c.RaiseAfter, c.PerMinute = 0, 1 }))
	if !p.Unmarkable("n9", "gone", 0) {
		t.Error("a node without a score: the reason is not new")
	}
	for _, step := range []struct {
		at    int64
		score float64
		tried bool
		fresh bool
	}{
		{60, 90, true, true}, {61, 90, false, false}, {119, 90, false, false}, {120, 90, true, false}, {100, 90, true, false},
		{159, 90, false, false}, {160, 20, false, false}, {161, 90, true, true},
	} {
		now := step.at * int64(time.Second)
		p.Observe(now, scores(map[string]float64{"n1": step.score}))
		tried := len(p.Decide(now, nil).Mark) == 1
		if tried != step.tried {
			t.Fatalf("second %d: tried %v", step.at, tried)
		}
		if tried && p.Unmarkable("n1", "not_markable", now) != step.fresh {
			t.Errorf("second %d: the reason is new: %v", step.at, !step.fresh)
		}
	}
	p.Observe(300*int64(time.Second), scores(map[string]float64{"n1": 90}))
	if d := p.Decide(300*int64(time.Second), nil); len(d.Mark) != 1 || !p.Unmarkable("n1", "unknown_node", 300*int64(time.Second)) {
		t.Errorf("another reason is not new: %+v", d)
	}
}

// A node marked by an earlier process, and without a score, is relieved too; one that
// is no longer allowed is relieved immediately.
func TestNodesOfAnEarlierLife(t *testing.T) {
	p := policy.New(config(nil))
	marked := map[string]bool{"n1": true, "x1": true}
	p.Observe(minute, nil)
	if d := p.Decide(minute, marked); !slices.Equal(names(d.Relieve), []string{"x1"}) {
		t.Errorf("at once %v", names(d.Relieve))
	}
	delete(marked, "x1")
	p.Observe(6*minute, nil)
	if d := p.Decide(6*minute, marked); !slices.Equal(names(d.Relieve), []string{"n1"}) {
		t.Errorf("after five minutes %v", names(d.Relieve))
	}
}

// The naive twin searches the whole history of each node.
func TestAgainstANaiveTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := config(func(c *policy.Config) {
			c.MaxNodes, c.PerMinute = 100, 1000
			c.RaiseAfter = time.Duration(rapid.IntRange(0, 3).Draw(t, "raise")) * time.Minute
			c.LowerAfter = time.Duration(rapid.IntRange(0, 3).Draw(t, "lower")) * time.Minute
		})
		p, marked, twin, history := policy.New(cfg), map[string]bool{}, map[string]bool{}, map[string][]float64{}
		for at := range rapid.IntRange(1, 30).Draw(t, "steps") {
			now := map[string]float64{}
			for _, node := range []string{"n1", "n2", "n3"} {
				value := rapid.SampledFrom([]float64{0, 29, 30, 59, 60, 90}).Draw(t, "score")
				if value > 0 {
					now[node] = value
				}
				history[node] = append(history[node], value)
			}
			p.Observe(int64(at+1)*minute, scores(now))
			d := p.Decide(int64(at+1)*minute, marked)
			for _, s := range d.Mark {
				marked[s.Node] = true
			}
			for _, s := range d.Relieve {
				delete(marked, s.Node)
			}
			for node, values := range history {
				if twin[node] && held(values, cfg.LowerAfter, func(v float64) bool { return v < cfg.LowerAt }) {
					delete(twin, node)
				} else if !twin[node] && held(values, cfg.RaiseAfter, func(v float64) bool { return v >= cfg.RaiseAt }) {
					twin[node] = true
				}
				if marked[node] != twin[node] {
					t.Fatalf("minute %d: %s is marked %v, its history %v says %v", at, node, marked[node], values, twin[node])
				}
			}
		}
	})
}

// held reports whether all values within the last duration satisfy fits.
func held(values []float64, last time.Duration, fits func(float64) bool) bool {
	n := int(last/time.Minute) + 1
	return len(values) >= n && !slices.ContainsFunc(values[len(values)-n:], func(v float64) bool { return !fits(v) })
}

func TestValidateNamesEveryFault(t *testing.T) {
	cfg := policy.Config{Allow: []string{"["}}
	err := cfg.Validate()
	for _, key := range []string{"allow.0", "raise_at", "lower_at", "max_nodes", "per_minute", "relieve_unknown_after"} {
		if err == nil || !strings.Contains(err.Error(), key+":") {
			t.Errorf("no fault of %s in %v", key, err)
		}
	}
	if cfg := policy.DefaultConfig(); cfg.Validate() != nil || len(cfg.Allow) > 0 {
		t.Error("by default nothing is allowed")
	}
}

// Each value may be as low and as high as stated, and no further.
func TestTheRangesOfValues(t *testing.T) {
	for _, c := range []struct {
		change func(*policy.Config)
		ok     bool
	}{
		{func(c *policy.Config) { c.RaiseAt = 100 }, true}, {func(c *policy.Config) { c.RaiseAt = 100.5 }, false},
		{func(c *policy.Config) { c.LowerAt = 59.5 }, true}, {func(c *policy.Config) { c.LowerAt = 60 }, false},
		{func(c *policy.Config) { c.LowerAt = 0.5 }, true}, {func(c *policy.Config) { c.LowerAt = 0 }, false},
		{func(c *policy.Config) { c.RaiseAfter, c.LowerAfter = 0, 0 }, true}, {func(c *policy.Config) { c.RaiseAfter = -1 }, false},
		{func(c *policy.Config) { c.LowerAfter = -1 }, false},
		{func(c *policy.Config) { c.MaxNodes, c.PerMinute, c.RelieveUnknownAfter = 1, 1, 1 }, true}, {func(c *policy.Config) { c.MaxNodes = 0 }, false},
		{func(c *policy.Config) { c.PerMinute = 0 }, false}, {func(c *policy.Config) { c.RelieveUnknownAfter = 0 }, false},
		{func(c *policy.Config) { c.Allow = []string{""} }, false},
	} {
		cfg := policy.DefaultConfig()
		c.change(&cfg)
		if err := cfg.Validate(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
