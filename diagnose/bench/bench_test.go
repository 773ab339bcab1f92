package bench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology"
)

// expected are the classes of which every kind shows at least one, on every fabric.
var expected = map[Kind][]schema.CauseClass{
	Incast: {schema.CauseSystem, schema.CauseIntraApplication}, FileSystem: {schema.CauseSystem}, Contention: {schema.CauseSystem, schema.CauseIntraApplication},
	Crossing: {schema.CauseSystem, schema.CauseIntraApplication}, OwnPattern: {schema.CauseIntraApplication, schema.CauseSystem}, LinkFails: {schema.CauseFailure},
	SwitchFails: {schema.CauseFailure}, Flaps: {schema.CauseFailure}, SlowHost: {schema.CauseSlowHost}, SlowLink: {schema.CauseFailure, schema.CauseSlowHost},
	Missing: {schema.CauseUnknown}, Coincidence: {schema.CauseSystem, schema.CauseIntraApplication, schema.CauseFailure},
}

// listener records what a judge is shown.
type listener struct {
	jobs     map[string]bool
	failures int
	rows     int
}

func (l *listener) Step(r *schema.IntervalResult) {
	for _, j := range r.Jobs {
		l.jobs[j.ID] = true
	}
	l.failures += len(r.Failures)
	l.rows += len(r.Traffic)
}

func TestKindsShowWhatTheyAreCalled(t *testing.T) {
	for i, kind := range Kinds() {
		set := Sets()[i%len(Sets())]
		in, err := set.Incident(kind, 7)
		if err != nil {
			t.Error(err)
			continue
		}
		l := &listener{jobs: map[string]bool{}}
		verdicts, err := in.Play(l)
		if err != nil {
			t.Error(err)
			continue
		}
		shown := 0
		for _, v := range verdicts {
			if slices.ContainsFunc(v.Truth.Classes, func(c schema.CauseClass) bool { return slices.Contains(expected[kind], c) }) {
				shown++
			}
			for _, id := range v.Truth.Jobs {
				if !l.jobs[id] {
					t.Errorf("%s/%s: job %s is to be accused, and no judge knows it", set.Name, kind, id)
				}
			}
		}
		if shown == 0 {
			t.Errorf("%s/%s: none of %d regions is %v", set.Name, kind, len(verdicts), expected[kind])
		}
		for id := range in.hidden {
			if l.jobs[id] {
				t.Errorf("%s/%s: job %s is hidden, and was shown", set.Name, kind, id)
			}
		}
		if in.noTraffic != (l.rows == 0) {
			t.Errorf("%s/%s: %d rows of traffic, no table: %v", set.Name, kind, l.rows, in.noTraffic)
		}
		if kind == LinkFails && l.failures == 0 {
			t.Errorf("%s/%s: no failure was logged", set.Name, kind)
		}
	}
}

func TestSeedsRepeat(t *testing.T) {
	set := Sets()[1]
	play := func(seed int64) []Verdict {
		in, err := set.Incident(Incast, seed)
		if err != nil {
			t.Fatal(err)
		}
		verdicts, err := in.Play(noVerdicts{})
		if err != nil {
			t.Fatal(err)
		}
		return verdicts
	}
	first := play(3)
	if diff := cmp.Diff(first, play(3)); diff != "" {
		t.Errorf("the same seed gave another incident: %s", diff)
	}
	if cmp.Equal(first, play(4)) {
		t.Error("another seed gave the same incident")
	}
}

// verdict makes a verdict of a class, a confidence, a root and jobs.
func verdict(minute int64, truth Truth, class schema.CauseClass, confidence float64, root *schema.Root, jobs ...string) Verdict {
	v := Verdict{Interval: schema.Interval{StartNanos: StartNanos + minute*int64(interval), DurationNanos: int64(interval)}, Truth: truth}
	v.Got.Cause, v.Got.Root = schema.Cause{Class: class, Confidence: confidence}, root
	for _, id := range jobs {
		v.Got.Jobs = append(v.Got.Jobs, schema.AccusedJob{JobID: id})
	}
	return v
}

func TestScore(t *testing.T) {
	guilty := Truth{Scored: true, Classes: []schema.CauseClass{schema.CauseSystem}, Jobs: []string{"17", "18"}, Roots: []Place{{"leaf7", "9"}, {"host56", ""}}}
	innocent := Truth{Scored: true, Classes: []schema.CauseClass{schema.CauseFailure}}
	var s Score
	s.Add([]Verdict{
		verdict(0, guilty, schema.CauseUnknown, .45, nil),
		verdict(1, guilty, schema.CauseSystem, .95, &schema.Root{Link: schema.NoLink, Device: "leaf7", Port: "9", Peer: "host56"}, "18", "4"),
		verdict(2, guilty, schema.CauseSystem, .95, &schema.Root{Link: schema.NoLink, Device: "leaf7", Port: "8"}, "4", "18"),
		verdict(3, guilty, schema.CauseSystem, .95, &schema.Root{Link: schema.NoLink, Device: "host56"}, "17"),
		verdict(4, Truth{}, schema.CauseSystem, .95, nil, "4"), // noise: not scored
	})
	s.Add([]Verdict{
		verdict(0, innocent, schema.CauseFailure, .75, nil),
		verdict(1, innocent, schema.CauseFailure, .75, nil, "4"),
	})
	s.Add(nil) // calm
	for name, c := range map[string]struct{ got, want Share }{
		"class": {s.Class, Share{1.75, 2}}, "job": {s.Job, Share{.5, 1}}, "root": {s.Root, Share{.5, 1}},
		"device": {s.RootDevice, Share{.75, 1}}, "false blame": {s.FalseBlame, Share{.5, 1}},
	} {
		if c.got != c.want {
			t.Errorf("%s: %+v, want %+v", name, c.got, c.want)
		}
	}
	// Four verdicts of the first incident weigh as much as two of the second: (.25*.45 + .75*.05 + .25) / 2.
	if e := s.CalibrationError(); math.Abs(e-.2) > 1e-9 || s.Incidents != 3 || s.Verdicts != 6 {
		t.Errorf("calibration error %v of %d verdicts on %d incidents", e, s.Verdicts, s.Incidents)
	}
	if s.Delay(0) != 0 || s.Delay(.9) != 1 {
		t.Errorf("delays %v", s.Delays)
	}
	var twice Score
	twice.Merge(&s)
	twice.Merge(&s)
	if twice.Class != (Share{3.5, 4}) || math.Abs(twice.CalibrationError()-.2) > 1e-9 || len(twice.Delays) != 4 {
		t.Errorf("merged: %+v", twice)
	}
}

func TestPlaces(t *testing.T) {
	tree, err := topology.Parse("test", "fattree:leaves=2,hosts=2,spines=2")
	if err != nil {
		t.Fatal(err)
	}
	torus, err := topology.Parse("test", "torus:4x4x4")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := PlacesOf(tree, "host3"), []Place{{"host3", ""}, {"leaf1", "2"}}; !cmp.Equal(got, want) {
		t.Errorf("of a host: %v, want %v", got, want)
	}
	if got, want := PlacesOf(torus, "3,0,0 X+"), []Place{{"3,0,0", "X+"}, {"0,0,0", "X-"}}; !cmp.Equal(got, want) {
		t.Errorf("of a duplex port: %v, want %v", got, want)
	}
	if got, want := PlacesOf(torus, "0,0,0 X-"), []Place{{"0,0,0", "X-"}, {"3,0,0", "X+"}}; !cmp.Equal(got, want) {
		t.Errorf("of its other end: %v, want %v", got, want)
	}
}

// TestRootsThatHoldBackAlikeAreAllRight: if several nodes of a job read more than they can receive, each is right, even
// if one causes a little more stall; a root that causes much less is not; and if no root stands out, none is scored.
func TestRootsThatHoldBackAlikeAreAllRight(t *testing.T) {
	tree, err := topology.Parse("test", "fattree:leaves=4,hosts=8,spines=2")
	if err != nil {
		t.Fatal(err)
	}
	links := func(shares map[string]float64) (out []scenario.LinkTruth) {
		for l := range 5 {
			link := scenario.LinkTruth{Link: schema.LinkID(l), CreditPercent: 30}
			for _, root := range []string{"host0", "host1", "host2", "spine0 1", "spine1 2", "leaf0 9"} {
				if shares[root] > 0 {
					link.Roots = append(link.Roots, scenario.RootShare{Root: root, Share: shares[root]})
				}
			}
			out = append(out, link)
		}
		return out
	}
	for _, c := range []struct {
		name   string
		shares map[string]float64
		want   []string // devices
	}{
		{"alike", map[string]float64{"host0": .35, "host1": .33, "host2": .32}, []string{"host0", "host1", "host2"}},
		{"one much less", map[string]float64{"host0": .5, "host1": .4, "host2": .1}, []string{"host0", "host1"}},
		{"too little is known", map[string]float64{"host0": .2, "host1": .1}, nil},
	} {
		var truth Truth
		truth.findRoots(tree, &scenario.Truth{Causes: []scenario.Cause{{Class: scenario.SystemCause}}}, links(c.shares))
		var got []string
		for _, p := range truth.Roots {
			if p.Port == "" {
				got = append(got, p.Device)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestDiagramIsWellFormed(t *testing.T) {
	var s Score
	s.Add([]Verdict{verdict(0, Truth{Scored: true, Classes: []schema.CauseClass{schema.CauseFailure}}, schema.CauseFailure, 1, nil)})
	var svg bytes.Buffer
	Diagram(&svg, &s)
	d, bars := xml.NewDecoder(&svg), 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "rect" {
			bars++
		}
	}
	if bars != 3 { // background, frame, one bar
		t.Errorf("%d rectangles", bars)
	}
}
