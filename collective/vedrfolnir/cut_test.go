package vedrfolnir_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/internal/test/repo"
)

// Records missing at the end of a file are not a hang: in a file that ends in the
// middle of a line, or early while switches saw the collective continue, or while all
// ranks were in the middle of their steps. The background flow is still found.
func TestRecordedRunsThatEndEarlyAreNoHang(t *testing.T) {
	folder := repo.Fixture(t, "collective", "vedrfolnir", "ring40_bf1only")
	begins := func(text string, lines int) string {
		return strings.Join(strings.SplitAfter(text, "\n")[:lines], "")
	}
	cut := func(text string) string {
		return text[:strings.LastIndex(strings.TrimSpace(text), "\n")+len("\n15 16 ")]
	}
	for name, c := range map[string]struct {
		without string
		edit    func(string) string
		note    string
	}{
		"within the last line": {"^$", cut, "records missing: host 15, step 14 (the records of transfers end at fct.txt:113)"},
		"half":                 {"^$", func(text string) string { return begins(text, 60) }, "records missing: host 12, steps 9 to 14; host 13, steps 8 to 14"},
		"half, no telemetry":   {"telemetry|pfc", func(text string) string { return begins(text, 60) }, "records missing: host 12, steps 9 to 14"},
	} {
		t.Run(name, func(t *testing.T) {
			d := diagnose(t, copyRun(t, folder, regexp.MustCompile(c.without), c.edit))
			if len(d.StoppedRanks) > 0 || len(d.Culprits) == 0 || d.Culprits[0].Flow != "18->14" {
				t.Errorf("stopped %v, culprits %+v", d.StoppedRanks, d.Culprits)
			}
			if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, c.note) {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
		})
	}
}

// A rank whose last records are missing, while the next rank used its data, did not
// stop.
func TestRecordedDataThatWasPassedOnIsNoHang(t *testing.T) {
	folder := repo.Fixture(t, "collective", "vedrfolnir", "ring40_nobg")
	d := diagnose(t, copyRun(t, folder, regexp.MustCompile("telemetry|pfc"), func(text string) string {
		return regexp.MustCompile(`(?m)^15 16 (9|1\d) .*\n`).ReplaceAllString(text, "")
	}))
	if len(d.StoppedRanks) > 0 || len(d.Culprits) > 0 && d.Culprits[0].Class == collective.Hang {
		t.Errorf("stopped %v, culprits %+v", d.StoppedRanks, d.Culprits)
	}
	if want := "records missing: host 15, steps 9 to 14"; !strings.Contains(fmt.Sprint(d.Notes), want) {
		t.Errorf("notes %q, want %q", d.Notes, want)
	}
}

// A complete file that lacks only the last record of one rank is ambiguous.
func TestRecordedRunWithoutOneRecordIsPossiblyAHang(t *testing.T) {
	folder := repo.Fixture(t, "collective", "vedrfolnir", "ring40_bf1only")
	d := diagnose(t, copyRun(t, folder, regexp.MustCompile("^$"), func(text string) string {
		return regexp.MustCompile(`(?m)^15 16 14 .*\n`).ReplaceAllString(text, "")
	}))
	if len(d.Culprits) != 2 || d.Culprits[0].Flow != "18->14" || d.Culprits[1].Class != collective.Hang || d.Culprits[1].Confidence > 0.5 {
		t.Errorf("culprits %+v", d.Culprits)
	}
}

// From finished transfers alone the flow is found, but neither its class nor the place.
func TestRecordedTransfersAloneAreUnsure(t *testing.T) {
	folder := repo.Fixture(t, "collective", "vedrfolnir", "ring40_bf1only")
	d := diagnose(t, copyRun(t, folder, regexp.MustCompile("telemetry|pfc|topology|flow.txt"), func(text string) string { return text }))
	if len(d.Culprits) != 1 || d.Culprits[0].Flow != "18->14" || d.Culprits[0].Confidence > 0.5 || !strings.Contains(d.Culprits[0].Evidence, "no topology and no switch telemetry") {
		t.Fatalf("culprits %+v", d.Culprits)
	}
	if cost := d.Culprits[0].CostNanos; cost < 25_000_000 || cost > 33_000_000 {
		t.Errorf("cost %d ns, want 29.4 ms within 15%%", cost)
	}
	if !strings.Contains(d.Text, "possible background flow 18->14") {
		t.Error(d.Text)
	}
}
