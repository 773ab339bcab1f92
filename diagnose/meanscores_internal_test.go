package diagnose

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/giverny/giverny/diagnose/history"
	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/diagnose/root/roottest"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Of two jobs that fit equally well, the one with more evidence over the intervals stays ahead despite noise; a
// cause that was never possible has no score.
func TestMeanScores(t *testing.T) {
	s := &Stage{interval: interval{history: remembersAt(roottest.Graph(t, "torus:4x4"), history.Clock{}), earlier: &earlierVerdicts{means: map[uint64]*meanScores{}}}}
	a, b := &job{Job: &history.Job{Job: schema.Job{ID: "a"}}}, &job{Job: &history.Job{Job: schema.Job{ID: "b"}}}
	for i, noise := range [...]float64{0, -.5, .5, -1.5, .4, -1.2} {
		s.history.Clock.Now = int64(i)
		rc := &regionCase{in: &s.interval, region: &schema.Region{ID: 1}, suspects: []suspect{{job: a, score: 3}, {job: b, score: 2 - noise}}}
		host, link := rc.smooth(1, math.Inf(-1))
		if rc.suspects[0].score <= rc.suspects[1].score {
			t.Errorf("interval %d: a has %.2f, b %.2f", i, rc.suspects[0].score, rc.suspects[1].score)
		}
		if host != 1 || !math.IsInf(link, -1) {
			t.Errorf("interval %d: a steady host has %v, a link that is not slow %v", i, host, link)
		}
	}
	s.history.Clock.Now += 2 * meanIntervals // the region was gone
	rc := &regionCase{in: &s.interval, region: &schema.Region{ID: 1}, suspects: []suspect{{job: a, score: -2}}}
	if rc.smooth(math.Inf(-1), 4); rc.suspects[0].score != -2 {
		t.Errorf("a region that came back has %v, want -2", rc.suspects[0].score)
	}
	s.history.Clock.Now += 2 * meanIntervals
	if s.earlier.forget(s.history.Clock.Now, 30); len(s.earlier.means) != 0 {
		t.Error("means of a region that is gone are kept")
	}
}

// A cause that is impossible in one of several intervals is remembered, with its link; one that is impossible for long
// is not.
func TestAnIntervalRulesNothingOut(t *testing.T) {
	s := &Stage{interval: interval{graph: roottest.Graph(t, "torus:4x4x4"), history: remembersAt(roottest.Graph(t, "torus:4x4x4"), history.Clock{}), earlier: &earlierVerdicts{means: map[uint64]*meanScores{}}}}
	for i, now := range [...]float64{4, 4, 4, math.Inf(-1), 4, 4, math.Inf(-1), math.Inf(-1), math.Inf(-1), math.Inf(-1)} {
		s.history.Clock.Now = int64(i)
		rc := &regionCase{in: &s.interval, region: &schema.Region{ID: 1}, ends: ends{bottleneck: root.Bottleneck{Link: schema.NoLink}}}
		if now > 0 {
			rc.ends.bottleneck = root.Bottleneck{Link: 5, Slower: true, Lost: .5}
		}
		_, link := rc.smooth(0, now)
		if likely := i < 7; link > 0 != likely {
			t.Errorf("interval %d: %.2f", i, link)
		}
		if rc.recallSlowLink(); rc.ends.bottleneck.Link != 5 {
			t.Errorf("interval %d: link %d", i, rc.ends.bottleneck.Link)
		}
	}
}

// A new failure starts a mean of its own.
func TestMeanOfANewFailure(t *testing.T) {
	s := &Stage{interval: interval{history: remembersAt(roottest.Graph(t, "torus:4x4"), history.Clock{}), earlier: &earlierVerdicts{means: map[uint64]*meanScores{}}}}
	for i, c := range [...]struct {
		time        schema.Instant
		score, want float64
	}{{1, 2, 2}, {1, 0, 1}, {2, 4, 4}} {
		s.history.Clock.Now = int64(i)
		rc := &regionCase{in: &s.interval, region: &schema.Region{ID: 1}, failures: []nearFailure{{PlacedFailure: &history.PlacedFailure{Failure: schema.Failure{Time: c.time}}, score: c.score}}}
		if rc.smooth(0, 0); rc.failures[0].score != c.want {
			t.Errorf("interval %d: %v, want %v", i, rc.failures[0].score, c.want)
		}
	}
}

// Jobs come and go in a region that lasts: only its suspects keep means.
func TestMeansAreOfSuspects(t *testing.T) {
	s := &Stage{interval: interval{history: remembersAt(roottest.Graph(t, "torus:4x4"), history.Clock{}), earlier: &earlierVerdicts{means: map[uint64]*meanScores{}}}}
	for i := range 100 {
		s.history.Clock.Now = int64(i)
		rc := &regionCase{in: &s.interval, region: &schema.Region{ID: 1}}
		for _, id := range [...]string{"stays", fmt.Sprint(i), fmt.Sprint(i + 1)} {
			rc.suspects = append(rc.suspects, suspect{job: &job{Job: &history.Job{Job: schema.Job{ID: id}}}, score: 1})
		}
		rc.smooth(0, 0)
		if got, want := slices.Sorted(maps.Keys(s.earlier.means[1].jobs)), slices.Sorted(slices.Values([]string{"stays", fmt.Sprint(i), fmt.Sprint(i + 1)})); !slices.Equal(got, want) {
			t.Fatalf("interval %d: means of %v, want of %v", i, got, want)
		}
	}
}

// Loading restores what was saved; a state of the previous format has no means and is still read.
func TestMeansAreSaved(t *testing.T) {
	g, err := topology.Parse("test", "torus:4x4x4")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	s.history.Clock = history.Clock{Duration: 60e9, First: 1, Now: 9}
	for region := range uint64(3) {
		rc := &regionCase{in: &s.interval, region: &schema.Region{ID: region}, failures: []nearFailure{{PlacedFailure: &history.PlacedFailure{Failure: schema.Failure{Time: 7}}, score: 1.5}}}
		for i := range region {
			rc.suspects = append(rc.suspects, suspect{job: &job{Job: &history.Job{Job: schema.Job{ID: fmt.Sprint(i)}}}, score: float64(i) - .5})
		}
		rc.smooth(math.Inf(-1), 2.25)
		rc.meanPart(&job{Job: &history.Job{Job: schema.Job{ID: "7"}}}, .25)
	}
	fresh, err := New(g, DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := fresh.Load(s.Save()); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(fresh.earlier.means, s.earlier.means) {
		t.Errorf("%v, want %v", fresh.earlier.means, s.earlier.means)
	}
	before := savedFormat
	before.Version = formOfKept
	if err := fresh.Load(schema.StageState{Stage: "diagnose", Version: formOfKept, Bytes: before.Seal(s.code)}); err != nil || len(fresh.earlier.means) != 0 {
		t.Errorf("a state without means: %v, %v", fresh.earlier.means, err)
	}
}
