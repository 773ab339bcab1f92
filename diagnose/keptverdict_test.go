package diagnose_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
)

// TestAVerdictOutlivesTheWindow: who was accused while the onset was remembered stays accused for as long as it
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
	if !strings.Contains(late.Text, "Found when it began: Job 1") {
		t.Errorf("the text does not say since when it is known: %s", late.Text)
	}
	p.pending.Jobs = append(p.pending.Jobs, schema.Job{ID: "1", Start: schema.Instant(p.start), End: p.now()})
	if gone := p.step(3)[0]; gone.Cause.Class != schema.CauseUnknown || len(gone.Jobs) != 0 {
		t.Errorf("its job has ended: %s, accused %v: %s", gone.Cause.Class, gone.Jobs, gone.Text)
	}
}

// TestNamesOfJobsAreNoCommands: a user's name of a job comes to terminals and tickets as text of one line.
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

// TestAKeptVerdictOutlivesARestart: the state that is saved has the verdicts from when onsets were remembered.
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
