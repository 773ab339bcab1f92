package scenario_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
)

var rewrite = flag.Bool("rewrite", false, "write testdata again")

const start = int64(1_767_571_200e9) // 2026-01-05, midnight

func newRunner(t testing.TB, name string, seed uint64) *scenario.Runner {
	t.Helper()
	s, err := scenario.Builtin(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := scenario.New(nil, s, seed, start)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// heat is how many links have credit stalls at the severity bounds, and the mean stall
// of those from Low on.
type heat struct {
	low, medium, high int
	mean              float64
}

func heatOf(truth *scenario.Truth) (h heat) {
	for _, l := range truth.Links {
		switch schema.SeverityOf(l.CreditPercent) {
		case schema.High:
			h.high++
			fallthrough
		case schema.Medium:
			h.medium++
			fallthrough
		case schema.Low:
			h.low++
			h.mean += l.CreditPercent
		}
	}
	h.mean /= float64(max(1, h.low))
	return h
}

// moment is a test's summary of an interval.
type moment struct {
	at     time.Duration
	heat   heat
	events []schema.Event
	causes []scenario.Cause
	jobs   []scenario.JobTraffic
	line   string
}

// played caches the stories played so far, by name and seed: several tests use the same one.
var played = map[string]telling{}

// play plays a story, long ones only in part.
func play(t *testing.T, name string, seed uint64) telling {
	t.Helper()
	key := fmt.Sprint(name, seed)
	if story, ok := played[key]; ok {
		return story
	}
	most := map[string]int{"calm": 20, "busy": 20, "enzo": 70, "namd": 40, "blade": 36}[name] // intervals of large fabrics
	r := newRunner(t, name, seed)
	var all []moment
	for most == 0 || len(all) < most {
		step, ok := r.Step()
		if !ok {
			break
		}
		all = append(all, moment{time.Duration(step.Interval.StartNanos - start), heatOf(step.Truth), slices.Clone(step.Events),
			step.Truth.Causes, step.Traffic, picture(step.Truth)})
	}
	played[key] = all
	return all
}

// TestStories compares the stories with testdata/NAME.txt: a line for each change of
// the picture, and the log entries. Rewrite them with -rewrite.
func TestStories(t *testing.T) {
	for _, name := range scenario.BuiltinNames() {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			last := ""
			for _, m := range play(t, name, 1) {
				for _, e := range m.events {
					if e.Kind != schema.JobStarted && e.Kind != schema.JobEnded {
						fmt.Fprintf(&got, "%8s  %s: %s %s %s\n", time.Duration(e.TimeNanos-start), e.Kind, e.Device, e.Port, e.Detail)
					}
				}
				if m.line != last {
					fmt.Fprintf(&got, "%8s  %s\n", m.at, m.line)
					last = m.line
				}
			}
			path := filepath.Join("testdata", name+".txt")
			if *rewrite {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("the story has changed (-want +got); if that was meant, go test -rewrite\n%s", diff)
			}
		})
	}
}

// picture is coarse, so that small changes of the model do not change it: the highest
// severity shared by a region's worth of links, and the heaviest cause.
func picture(truth *scenario.Truth) string {
	const regionLinks = 20
	h := heatOf(truth)
	state := schema.Negligible
	switch {
	case h.high >= regionLinks:
		state = schema.High
	case h.medium >= regionLinks:
		state = schema.Medium
	case h.low >= regionLinks:
		state = schema.Low
	default:
		return "calm"
	}
	c := truth.Causes[0]
	return fmt.Sprintf("%s: %s %s %s of job %s", state, c.Class, c.Object, c.Pattern, c.Jobs[0])
}

// telling is a played story.
type telling []moment

// between is the mean heat of a part of a story, and its last moment.
func (story telling) between(t *testing.T, from, to time.Duration) (h heat, last moment) {
	t.Helper()
	n := 0
	for _, m := range story {
		if m.at >= from && m.at < to {
			h.low, h.medium, h.high, h.mean = h.low+m.heat.low, h.medium+m.heat.medium, h.high+m.heat.high, h.mean+m.heat.mean
			n++
			last = m
		}
	}
	if n == 0 {
		t.Fatalf("the story has nothing between %s and %s", from, to)
	}
	return heat{h.low / n, h.medium / n, h.high / n, h.mean / float64(n)}, last
}

// The demo: calm, a Low to Medium region, High links that grow, relief.
func TestDemo(t *testing.T) {
	for seed := range uint64(8) {
		testDemo(t, seed)
	}
}

func testDemo(t *testing.T, seed uint64) {
	story := play(t, "demo", seed)
	for _, phase := range []struct {
		what     string
		from, to time.Duration
		ok       func(heat) bool
		cause    scenario.Class
	}{
		{"calm", 0, 18 * time.Second, func(h heat) bool { return h.low == 0 }, ""},
		{"a job heats a region", 26 * time.Second, 40 * time.Second, func(h heat) bool { return h.low > 200 && h.high == 0 && h.mean > 10 && h.mean < 25 }, scenario.IntraApplicationCause},
		{"a link fails", 40 * time.Second, 50 * time.Second, func(h heat) bool { return h.high >= 10 && h.high < 40 }, ""},
		{"it spreads", 50 * time.Second, 66 * time.Second, func(h heat) bool { return h.high > 50 }, scenario.FailureCause},
		{"routes go around", 66 * time.Second, 78 * time.Second, func(h heat) bool { return h.high < 10 && h.low > 100 }, ""},
		{"relief", 79 * time.Second, 90 * time.Second, func(h heat) bool { return h.low == 0 }, ""},
	} {
		h, last := story.between(t, phase.from, phase.to)
		if !phase.ok(h) {
			t.Errorf("seed %d, %s: %+v", seed, phase.what, h)
		}
		if phase.cause != "" && last.causes[0].Class != phase.cause {
			t.Errorf("%s: the cause is %+v, want %s", phase.what, last.causes[0], phase.cause)
		}
	}
}

// The Enzo case (Monet, section 7): a small Medium region when the reading
// begins, wide High congestion about twenty minutes later, throttling that does
// not help, and a job whose read traffic is 16 times that of any other.
func TestEnzo(t *testing.T) {
	story := play(t, "enzo", 1)
	early, _ := story.between(t, 30*time.Minute, 36*time.Minute)
	if early.low > 400 || early.mean < 15 || early.mean >= 25 {
		t.Errorf("first burst: %+v, want a few links at Medium", early)
	}
	late, step := story.between(t, 56*time.Minute, 60*time.Minute)
	if late.high < 1000 {
		t.Errorf("second burst: %+v, want wide High congestion", late)
	}
	if c := step.causes[0]; c.Class != scenario.SystemCause || c.Jobs[0] != "enzo" || c.Pattern != scenario.ReadFS {
		t.Errorf("the cause is %+v, want enzo's reads", c)
	}
	var enzo, next float64
	for _, j := range step.jobs {
		if j.JobID == "enzo" {
			enzo = j.ReadBytes
		} else {
			next = max(next, j.ReadBytes)
		}
	}
	if enzo < 10*next {
		t.Errorf("enzo reads %.3g bytes, the next job %.3g: want an outlier", enzo, next)
	}
	if during, _ := story.between(t, 60*time.Minute, 62*time.Minute); during.low > 0 {
		t.Errorf("while all NICs are throttled: %+v", during)
	}
	if after, _ := story.between(t, 63*time.Minute, 70*time.Minute); after.high < late.high*9/10 {
		t.Errorf("after the throttle: %+v; it must not have helped", after)
	}
}

// The blade failure (Monet, Figure 7(ii)): no High links before, more than 200
// just after, and the two routers are the cause.
func TestBlade(t *testing.T) {
	story := play(t, "blade", 1)
	if before, _ := story.between(t, 0, 30*time.Minute); before.high > 0 || before.low == 0 {
		t.Errorf("before: %+v, want Low congestion only", before)
	}
	after, step := story.between(t, 30*time.Minute, 31*time.Minute)
	if after.high < 150 {
		t.Errorf("after: %+v, want 150 High links or more", after)
	}
	for _, c := range step.causes[:2] {
		if c.Class != scenario.FailureCause || c.Object != "12,3,3" && c.Object != "12,3,4" {
			t.Errorf("the cause is %+v, want the routers at (12,3,3) and (12,3,4)", c)
		}
	}
}

// NAMD's two states (Monet, Figure 7(iii)) alternate every ten minutes.
func TestNAMDAlternates(t *testing.T) {
	story := play(t, "namd", 1)
	for k := range time.Duration(2) {
		one, _ := story.between(t, 20*k*time.Minute, (20*k+10)*time.Minute)
		two, _ := story.between(t, (20*k+10)*time.Minute, (20*k+20)*time.Minute)
		if one.high > 0 || one.low < 1500 || two.high < 900 || two.low > 1200 {
			t.Errorf("period %d: state 1 %+v, state 2 %+v", k, one, two)
		}
	}
}

// The victim does not send to a full port, but still slows down; the truth names the port.
func TestVictim(t *testing.T) {
	story := play(t, "victim", 1)
	achieved := func(step moment, id string) float64 {
		for _, j := range step.jobs {
			if j.JobID == id {
				return j.AchievedBytesPerSecond / j.OfferedBytesPerSecond
			}
		}
		t.Fatalf("job %s does not run", id)
		return 0
	}
	_, calm := story.between(t, 0, 30*time.Second)
	if a := achieved(calm, "innocent"); a < .999 {
		t.Errorf("alone, the innocent job gets %.2f of its demand", a)
	}
	_, step := story.between(t, 40*time.Second, 60*time.Second)
	if a := achieved(step, "innocent"); a > .7 {
		t.Errorf("beside the incast, the innocent job gets %.2f of its demand; want a victim", a)
	}
	if c := step.causes[0]; c.Jobs[0] != "aggressor" || len(c.Roots) != 1 || c.Roots[0] != "leaf7 1" {
		t.Errorf("the cause is %+v, want the aggressor at the port of leaf7 to host56", c)
	}
}

func TestSlowHostAndFlap(t *testing.T) {
	story := play(t, "slowhost", 1)
	if h, step := story.between(t, 45*time.Second, 80*time.Second); h.low < 40 || step.causes[0].Class != scenario.SlowHostCause || step.causes[0].Object != "host17" {
		t.Errorf("%+v, %+v: want host17 to hold up its leaf", h, step.causes)
	}
	if h, _ := story.between(t, 85*time.Second, 120*time.Second); h.low > 0 {
		t.Errorf("after the drain: %+v", h)
	}
	failed, restored := 0, 0
	for _, m := range play(t, "flap", 1) {
		for _, e := range m.events {
			if e.Kind == schema.LinkFailed {
				failed++
			}
			if e.Kind == schema.LinkRestored {
				restored++
			}
		}
	}
	if failed != 5 || restored != 5 {
		t.Errorf("the link failed %d times and came back %d times, want 5 and 5", failed, restored)
	}
}
