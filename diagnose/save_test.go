package diagnose_test

import (
	"errors"
	"math"
	"testing"

	"github.com/giverny/giverny/diagnose"
	"github.com/giverny/giverny/internal/codec"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// A stage that is saved and loaded in the middle of an incident gives the same diagnoses.
func TestWhatIsSavedGoesOn(t *testing.T) {
	play := func(reload bool) schema.Diagnosis {
		p := newPlant(t, "torus:8x8x8")
		one := neighbours(p)
		p.step(25)
		p.moved["1"] = 400 * usual
		p.fails(schema.LinkFailed, "7,7,7", "X+")
		p.congest(40, p.within(one)...)
		p.step(4)
		if reload {
			saved := p.stage.Save()
			fresh, err := diagnose.New(p.graph, diagnose.DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			if err := fresh.Load(saved); err != nil {
				t.Fatal(err)
			}
			if len(saved.Bytes) > 40_000 {
				t.Errorf("%d bytes for six jobs and 54 hot links", len(saved.Bytes))
			}
			p.stage = fresh
		}
		return p.step(1)[0]
	}
	a, b := play(false), play(true)
	if a.Cause.Class != b.Cause.Class || math.Abs(a.Cause.Confidence-b.Cause.Confidence) > .02 || len(b.Jobs) != 1 || a.Jobs[0].JobID != b.Jobs[0].JobID || math.Abs(a.Jobs[0].Correlation-b.Jobs[0].Correlation) > .02 {
		t.Errorf("%+v\n%+v", a, b)
	}
}

func TestWhatIsDamagedIsRefused(t *testing.T) {
	p := newPlant(t, "torus:4x4x4")
	p.job("1", box(0, 0, 0, 2, 2, 2)...)
	p.fails(schema.LinkFailed, "0,0,0", "X+")
	p.congest(40, p.within(box(0, 0, 0, 2, 2, 2))...)
	p.step(12)
	saved := p.stage.Save()
	for i := 0; i < len(saved.Bytes); i += 7 {
		damaged := saved
		damaged.Bytes = append([]byte(nil), saved.Bytes...)
		damaged.Bytes[i] ^= 0x55
		if err := p.stage.Load(damaged); !errors.Is(err, codec.ErrDamaged) && !errors.Is(err, codec.ErrVersion) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
	g, err := topology.Parse("test", "torus:4x4x5")
	if err != nil {
		t.Fatal(err)
	}
	other, err := diagnose.New(g, diagnose.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Load(saved); err == nil {
		t.Error("the state of another fabric is taken")
	}
	saved.Version++
	if err := p.stage.Load(saved); !errors.Is(err, codec.ErrVersion) {
		t.Errorf("a later form: %v", err)
	}
}

// An incident goes on in another version of the fabric, with other numbers.
func TestAnotherVersionOfTheFabric(t *testing.T) {
	p := newPlant(t, "torus:8x8x8")
	one := neighbours(p)
	p.step(25)
	p.moved["1"] = 40 * usual
	p.congest(40, p.within(one)...)
	p.step(4)
	moved := make([]schema.LinkID, p.graph.NumLinks())
	for l := range moved {
		moved[l] = schema.LinkID(l)
	}
	if err := p.stage.SetGraph(p.graph, moved); err != nil {
		t.Fatal(err)
	}
	if d := p.step(1); len(d[0].Jobs) != 1 || d[0].Jobs[0].JobID != "1" || d[0].Jobs[0].Correlation < .9 {
		t.Errorf("%+v", d[0].Jobs)
	}
}

func FuzzLoad(f *testing.F) {
	p := newPlant(f, "torus:4x4x4")
	p.job("1", box(0, 0, 0, 2, 2, 2)...)
	p.congest(40, p.within(box(0, 0, 0, 2, 2, 2))...)
	p.step(3)
	f.Add(p.stage.Save().Bytes)
	f.Add([]byte("DIAG"))
	f.Fuzz(func(t *testing.T, state []byte) {
		stage, err := diagnose.New(p.graph, diagnose.DefaultConfig())
		if err != nil {
			t.Fatal(err)
		}
		if stage.Load(schema.StageState{Stage: "diagnose", Version: p.stage.Save().Version, Bytes: state}) == nil {
			stage.Step(&schema.IntervalResult{Snapshot: p.snapshot()})
		}
	})
}

// TestOtherFabricsAreNotReplayed: what was stored under another version of the fabric has other links, and is left out.
func TestOtherFabricsAreNotReplayed(t *testing.T) {
	for links, want := range map[int]bool{0: true, 1: false} {
		p := newPlant(t, "torus:4x4x4")
		p.congest(40, p.within(box(0, 0, 0, 2, 2, 2))...)
		p.step(3)
		before := string(p.stage.Save().Bytes)
		stored := schema.IntervalResult{Snapshot: p.snapshot()}
		stored.Snapshot.Links += links
		p.stage.Restore(&stored)
		if replayed := string(p.stage.Save().Bytes) != before; replayed != want {
			t.Errorf("a snapshot with %d links more: replayed %v", links, replayed)
		}
	}
}

// TestRegionsOfOtherLinksAreLeftOut: a region with a link that the fabric does not have gets no verdict.
func TestRegionsOfOtherLinksAreLeftOut(t *testing.T) {
	p := newPlant(t, "torus:4x4x4")
	last := schema.LinkID(p.graph.NumLinks() - 1)
	for link, want := range map[schema.LinkID]int{last: 1, last + 1: 0} {
		r := schema.IntervalResult{Snapshot: p.snapshot(), Regions: []schema.Region{{ID: 1, Metric: schema.CreditStall,
			Links: []schema.LinkID{0, link}, Size: 2, Mean: 40, Severity: schema.High}}}
		if p.stage.Step(&r); len(r.Diagnoses) != want {
			t.Errorf("link %d of %d: %d verdicts, want %d", link, last+1, len(r.Diagnoses), want)
		}
	}
}
