package diagnose_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
)

// TestAVerdictOutlivesTheWindow: a job accused while the onset was remembered stays accused for as long as it
// runs, and no longer.
func TestAVerdictOutlivesTheWindow(t *testing.T) {
	p := newPlant(t, "torus:8x8x8")
	one := neighbours(p)
	p.step(35)
	p.moved["1"] = 40 * usual
	p.congest(40, p.within(one)...)
	first := p.step(5)[0]
	if first.Cause.Class != schema.CauseIntraApplication {
		t.Fatalf("at first: %s: %s", first.Cause.Class, first.Text)
	}
	late := p.step(60)[0]
	if late.Cause.Class != first.Cause.Class || len(late.Jobs) != 1 || late.Jobs[0].JobID != "1" || late.Action != first.Action {
		t.Errorf("after two windows: %s, accused %v: %s", late.Cause.Class, late.Jobs, late.Text)
	}
	if !strings.Contains(late.Text, "Found when the congestion began: Job 1") {
		t.Errorf("the text does not say since when it is known: %s", late.Text)
	}
	p.pending.Jobs = append(p.pending.Jobs, schema.Job{ID: "1", Start: schema.Instant(p.start), End: p.now()})
	if gone := p.step(3)[0]; gone.Cause.Class != schema.CauseUnknown || len(gone.Jobs) != 0 {
		t.Errorf("its job has ended: %s, accused %v: %s", gone.Cause.Class, gone.Jobs, gone.Text)
	}
}

// TestAVerdictOutlivesASwell: a region that calms down in part and rises again has a new onset, but no new cause.
func TestAVerdictOutlivesASwell(t *testing.T) {
	p := newPlant(t, "torus:8x8x8")
	one := neighbours(p)
	p.step(35)
	p.moved["1"] = 100 * usual
	p.congest(40, p.within(one)...)
	first := p.step(8)[0]
	for range 3 {
		p.congest(15, p.within(one)...)
		p.step(10)
		p.congest(40, p.within(one)...)
		if late := p.step(10)[0]; late.Cause.Class != first.Cause.Class || len(late.Jobs) != 1 || late.Jobs[0].JobID != "1" {
			t.Errorf("%s, accused %v: %s", late.Cause.Class, late.Jobs, late.Text)
		}
	}
}

// TestAVerdictOutlivesASecondStep: a region that stalls more, long after the job that it is blamed on began to move
// more, and moves no more since then, is still that job's.
func TestAVerdictOutlivesASecondStep(t *testing.T) {
	p := newPlant(t, "torus:8x8x8")
	one := neighbours(p)
	p.step(15)
	p.moved["1"] = 40 * usual
	p.congest(15, p.within(one)...)
	first := p.step(18)[0]
	p.regions = nil
	p.congest(50, p.within(one)...)
	for after := range 30 {
		if late := p.step(1)[0]; late.Cause.Class != first.Cause.Class || len(late.Jobs) != 1 || late.Jobs[0].JobID != "1" {
			t.Fatalf("%d intervals after the step: %s, accused %v: %s", after, late.Cause.Class, late.Jobs, late.Text)
		}
	}
}

// TestAVerdictGoesOverToTheNextRegion: a region whose links changed so much that it has a new number is still that of
// the job that the one with the same root was blamed on, and so is one that comes back after a pause.
func TestAVerdictGoesOverToTheNextRegion(t *testing.T) {
	for pause, want := range map[int]bool{0: true, 3: true, 12: false} {
		p := incastPlant(t, 0)
		first := p.step(5)[0]
		p.step(40)
		links := p.regions[0]
		p.regions = nil
		p.step(pause)
		p.regions = [][]schema.LinkID{nil, links[2:]}
		if late := p.step(1)[0]; late.Region == first.Region || strings.Contains(late.Text, "Found when the congestion began: Job 1") != want {
			t.Errorf("region %d, %d intervals after region %d: %s", late.Region, pause, first.Region, late.Text)
		}
	}
}

// TestAVerdictOutlivesReadings: if the switch at the root of a region stops giving readings, the earlier verdict stands
// and the text says so; without one it says what is missing.
func TestAVerdictOutlivesReadings(t *testing.T) {
	p := incastPlant(t, 0)
	first := p.step(5)[0]
	if first.Root == nil || first.Root.Device != "leaf1" || first.Root.Port != "4" || len(first.Jobs) != 1 {
		t.Fatalf("at first: %+v: %s", first.Root, first.Text)
	}
	p.silent = "leaf1"
	for _, n := range []int{1, 5, 40} {
		d := p.step(n)[0]
		if d.Cause != first.Cause || !cmp.Equal(d.Root, first.Root) || !cmp.Equal(d.Jobs, first.Jobs) {
			t.Errorf("%d intervals without readings: %+v, root %+v: %s", n, d.Cause, d.Root, d.Text)
		}
		if n < 40 && !strings.Contains(d.Text, "Found while leaf1 still reported counters, which it no longer does: Job 1") {
			t.Errorf("the text does not say that readings are missing: %s", d.Text)
		}
	}
	p = incastPlant(t, 0)
	p.root, p.silent, p.jobs = &schema.Root{Device: "leaf1"}, "leaf1", nil
	p.pending.Jobs = nil
	if d := p.step(5)[0]; d.Cause.Class != schema.CauseUnknown || !strings.Contains(d.Text, "leaf1, to which its back pressure leads, reports no counters.") || !strings.HasPrefix(d.Action, "First check the agent or collector that reads leaf1") {
		t.Errorf("no readings from the beginning on: %s: %s", d.Cause.Class, d.Text)
	}
}

// TestNamesOfJobsAreNoCommands: a job's name, set by its user, is a single line of text in terminals and tickets.
func TestNamesOfJobsAreNoCommands(t *testing.T) {
	p := newPlant(t, "torus:8x8x8")
	one := neighbours(p)
	p.pending.Jobs[0].Name = "a\x1b[31mb\nc\u202ed"
	p.step(25)
	p.moved["1"] = 40 * usual
	p.congest(40, p.within(one)...)
	d := p.step(4)[0]
	for _, text := range []string{d.Text, d.Action} {
		if !strings.Contains(text, "job 1 (a?[31mb?c?d)") && !strings.Contains(text, "Job 1 (a?[31mb?c?d)") {
			t.Errorf("%q", text)
		}
	}
}

// TestAKeptVerdictOutlivesARestart: the saved state has the verdicts from when onsets were remembered.
func TestAKeptVerdictOutlivesARestart(t *testing.T) {
	play := func(reload bool) schema.Diagnosis {
		p := newPlant(t, "torus:8x8x8")
		one := neighbours(p)
		p.step(35)
		p.moved["1"] = 40 * usual
		p.congest(40, p.within(one)...)
		p.step(65)
		if reload {
			p.reload()
		}
		return p.step(1)[0]
	}
	stayed, restarted := play(false), play(true)
	if stayed.Cause.Class != schema.CauseIntraApplication || len(stayed.Jobs) != 1 {
		t.Fatalf("without a restart: %s", stayed.Text)
	}
	stayed.Links, restarted.Links = nil, nil
	if diff := cmp.Diff(stayed, restarted); diff != "" {
		t.Errorf("after a restart: %s", diff)
	}
}

// TestAVerdictOutlivesItsFailure: a cable that failed stays the cause of a region that stalls no more than it did,
// though its log line left the window and a job's traffic explains the region. What stalls more, or whose cable came
// back, is judged again.
func TestAVerdictOutlivesItsFailure(t *testing.T) {
	for name, c := range map[string]struct {
		goesOn func(p *plant, region []schema.LinkID)
		want   schema.CauseClass
	}{
		"it stands": {func(p *plant, _ []schema.LinkID) { p.step(40) }, schema.CauseFailure},
		"it calms down in part and rises again": {func(p *plant, region []schema.LinkID) {
			p.step(10)
			p.congest(15, region...)
			p.step(20)
			p.congest(40, region...)
			p.step(10)
		}, schema.CauseFailure},
		"the cable flaps": {func(p *plant, _ []schema.LinkID) {
			for range 10 {
				p.step(3)
				p.fails(schema.LinkRestored, "1,1,1", "X+")
				p.step(1)
				p.fails(schema.LinkFailed, "1,1,1", "X+")
			}
		}, schema.CauseFailure},
		"a job makes it worse": {func(p *plant, region []schema.LinkID) {
			p.step(40)
			p.moved["1"] *= 2
			for _, l := range region {
				p.use[l] *= 2
			}
			p.congest(80, region...)
			p.step(4)
		}, schema.CauseIntraApplication},
		"the cable came back, as its other end reports": {func(p *plant, _ []schema.LinkID) {
			p.step(40)
			p.fails(schema.LinkRestored, "2,1,1", "X-")
			p.step(5)
		}, schema.CauseIntraApplication},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlant(t, "torus:8x8x8")
			p.hasUse = true
			region := p.within(neighbours(p))
			for _, l := range region {
				p.use[l] = 40
			}
			p.moved["1"] = 6000 * usual
			p.step(35)
			p.fails(schema.LinkFailed, "1,1,1", "X+")
			p.congest(40, region...)
			if first := p.step(5)[0]; first.Cause.Class != schema.CauseFailure {
				t.Fatalf("at first: %s: %s", first.Cause.Class, first.Text)
			}
			c.goesOn(p, region)
			if late := p.step(1)[0]; late.Cause.Class != c.want {
				t.Errorf("%s, accused %v: %s", late.Cause.Class, late.Jobs, late.Text)
			}
		})
	}
}

// TestAVerdictOutlivesItsFailureIfSeenLate: a region that begins long after a cable failed, with the load that went the
// other way round since, is still the cable's when the failure leaves the window before the region's onset does.
func TestAVerdictOutlivesItsFailureIfSeenLate(t *testing.T) {
	p := newPlant(t, "torus:8x8x8")
	p.hasUse = true
	region := p.within(neighbours(p))
	row := p.within(box(0, 1, 1, 8, 1, 1))
	failed := p.link("1,1,1", "X+")
	for _, l := range append(region, row...) {
		p.use[l] = 40
	}
	p.moved["1"] = 6000 * usual
	p.step(35)
	p.fails(schema.LinkFailed, "1,1,1", "X+")
	p.use[failed] = 0
	p.step(24)
	for _, l := range row {
		if l != failed {
			p.use[l] = 60
		}
	}
	p.congest(40, region...)
	if first := p.step(4)[0]; first.Cause.Class != schema.CauseFailure {
		t.Fatalf("at first: %s: %s", first.Cause.Class, first.Text)
	}
	for after := range 40 {
		if after == 20 {
			p.reload() // a restart forgets nothing of it
		}
		if late := p.step(1)[0]; late.Cause.Class != schema.CauseFailure {
			t.Fatalf("%d intervals later: %s: %s", after, late.Cause.Class, late.Text)
		}
	}
}
