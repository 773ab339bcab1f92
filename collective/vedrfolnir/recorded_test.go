package vedrfolnir_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/internal/test/repo"
)

func diagnose(t *testing.T, folder string) collective.Diagnosis {
	t.Helper()
	run, err := read(folder)
	if err != nil {
		t.Fatal(err)
	}
	return collective.Diagnose(run, collective.Options{})
}

// recordedPath reads critical_ns.txt: "total_ms X ..." and "F13S1:13.9/13.3 ...".
func recordedPath(t *testing.T, folder string) (makespan int64, path []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "critical_ns.txt"))
	if err != nil {
		t.Fatal(err)
	}
	ms, err := strconv.ParseFloat(strings.Fields(string(text))[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(math.Round(ms * 1e6)), regexp.MustCompile(`F\d+S\d+`).FindAllString(string(text), -1)
}

func pathOf(d collective.Diagnosis) []string {
	var out []string
	for _, s := range d.CriticalPath {
		if s.Kind == collective.Transfer {
			out = append(out, fmt.Sprintf("F%sS%d", s.Node, s.Step))
		}
	}
	return out
}

func checkJoined(t *testing.T, d collective.Diagnosis) {
	t.Helper()
	at := int64(0)
	for _, s := range d.CriticalPath {
		if s.BeginNanos != at || s.EndNanos < s.BeginNanos {
			t.Fatalf("segment %+v does not begin at %d", s, at)
		}
		at = s.EndNanos
	}
	if at != d.MakespanNanos {
		t.Fatalf("segments end at %d, makespan %d", at, d.MakespanNanos)
	}
}

// The makespans of the four runs are each other's counterfactuals.
const (
	withBoth = 253_812_213
	withBF1  = 223_891_757
	withBF2  = 224_890_051
	withNone = 194_498_929
)

func TestRecordedRuns(t *testing.T) {
	for _, c := range []struct {
		name     string
		makespan int64
		flows    map[string][2]int64 // the cost by leaving the flow out of the run, and by adding it to the healthy one
	}{
		{"ring40_default", withBoth, map[string][2]int64{"18->14": {withBoth - withBF2, withBF1 - withNone}, "12->15": {withBoth - withBF1, withBF2 - withNone}}},
		{"ring40_bf1only", withBF1, map[string][2]int64{"18->14": {withBF1 - withNone, withBF1 - withNone}}},
		{"ring40_bf2only", withBF2, map[string][2]int64{"12->15": {withBF2 - withNone, withBF2 - withNone}}},
		{"ring40_nobg", withNone, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := repo.Fixture(t, "collective", "vedrfolnir", c.name)
			d := diagnose(t, folder)
			makespan, path := recordedPath(t, folder)
			if d.MakespanNanos != c.makespan || makespan != c.makespan {
				t.Errorf("makespan %d, recorded %d, want %d", d.MakespanNanos, makespan, c.makespan)
			}
			if got := strings.Join(pathOf(d), " "); got != strings.Join(path, " ") {
				t.Errorf("critical path\n%s, recorded\n%s", got, strings.Join(path, " "))
			}
			checkJoined(t, d)
			checkCulprits(t, d, c.flows)
			if off := math.Abs(float64(d.ExpectedNanos)/withNone - 1); off > 0.02 {
				t.Errorf("expected %d ns, %.1f%% from the healthy run", d.ExpectedNanos, 100*off)
			}
		})
	}
}

func checkCulprits(t *testing.T, d collective.Diagnosis, flows map[string][2]int64) {
	t.Helper()
	if len(d.Culprits) != len(flows) || len(d.StoppedRanks)+len(d.LateRanks)+len(d.MissingRanks) > 0 {
		t.Errorf("culprits %+v, stopped %v late %v missing %v; want the flows %v", d.Culprits, d.StoppedRanks, d.LateRanks, d.MissingRanks, flows)
	}
	for _, got := range d.Culprits {
		want, ok := flows[got.Flow]
		if !ok || got.Class != collective.BackgroundFlow || !strings.HasPrefix(got.Object, "switch ") {
			t.Errorf("culprit %+v", got)
			continue
		}
		for _, w := range want {
			if off := math.Abs(float64(got.CostNanos)/float64(w) - 1); off > 0.15 {
				t.Errorf("%s costs %d ns, %.1f%% from %d of the counterfactual runs", got.Flow, got.CostNanos, 100*off, w)
			}
		}
	}
}

// copyRun copies a recorded run without some of its files, with fct.txt changed.
func copyRun(t *testing.T, folder string, without *regexp.Regexp, change func(string) string) string {
	t.Helper()
	to := t.TempDir()
	err := filepath.WalkDir(folder, func(path string, e os.DirEntry, err error) error {
		name, _ := filepath.Rel(folder, path)
		if err != nil || e.IsDir() || without.MatchString(name) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if e.Name() == "fct.txt" {
			text = []byte(change(string(text)))
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return to
}

var backgroundLines = regexp.MustCompile(`(?m)^###.*\n`)

func withoutBackground(text string) string { return backgroundLines.ReplaceAllString(text, "") }

// The background flows' own records are optional: switches saw them too.
func TestRecordedRunsWithoutExtras(t *testing.T) {
	for name, flows := range map[string]map[string][2]int64{
		"ring40_default": {"18->14": {withBoth - withBF2, withBF1 - withNone}, "12->15": {withBoth - withBF1, withBF2 - withNone}},
		"ring40_bf1only": {"18->14": {withBF1 - withNone, withBF1 - withNone}},
		"ring40_bf2only": {"12->15": {withBF2 - withNone, withBF2 - withNone}},
		"ring40_nobg":    nil,
	} {
		for without, files := range map[string]string{"extras": `flow\.txt|pfc\.txt|qlen|truth|critical`, "topology": `flow\.txt|pfc\.txt|qlen|truth|critical|topology`} {
			t.Run(name+" without "+without, func(t *testing.T) {
				folder := repo.Fixture(t, "collective", "vedrfolnir", name)
				checkCulprits(t, diagnose(t, copyRun(t, folder, regexp.MustCompile(files), withoutBackground)), flows)
			})
		}
	}
}

// Reordered, duplicated and truncated lines give the same diagnosis.
func TestRecordedRunOutOfOrder(t *testing.T) {
	folder := repo.Fixture(t, "collective", "vedrfolnir", "ring40_default")
	want := diagnose(t, folder)
	got := diagnose(t, copyRun(t, folder, regexp.MustCompile(`^$`), func(text string) string {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
			lines[i], lines[j] = lines[j], lines[i]
		}
		return strings.Join(lines, "\n") + "\n" + strings.Join(lines[:40], "\n") + "\n14 15 9"
	}))
	if fmt.Sprint(got.CriticalPath) != fmt.Sprint(want.CriticalPath) || fmt.Sprint(got.Culprits) != fmt.Sprint(want.Culprits) {
		t.Errorf("got\n%v\n%v\nwant\n%v\n%v", got.CriticalPath, got.Culprits, want.CriticalPath, want.Culprits)
	}
}

// A run cut off while rank 3 (node 15) was stopped: it received and sent nothing from
// step 6 on.
func TestRecordedRunThatHangs(t *testing.T) {
	folder := repo.Fixture(t, "collective", "vedrfolnir", "ring40_nobg")
	d := diagnose(t, copyRun(t, folder, regexp.MustCompile(`^$`), stopNode15))
	if len(d.StoppedRanks) != 1 || d.StoppedRanks[0] != 3 {
		t.Errorf("stopped ranks %v, want 3", d.StoppedRanks)
	}
	if len(d.Culprits) != 1 || d.Culprits[0].Class != collective.Hang || d.Culprits[0].Object != "host 15" {
		t.Errorf("culprits %+v", d.Culprits)
	}
	if d.Steps != 14 {
		t.Errorf("%d steps, want 14", d.Steps)
	}
	checkJoined(t, d)
}

// stopNode15 keeps what a ring does if node 15 stops before its step 6: rank r ends
// the steps whose data does not come from there.
func stopNode15(text string) string {
	last := map[string]int{"15": 5, "14": 5}
	for i, node := range []string{"16", "17", "18", "19", "12", "13"} {
		last[node] = 6 + i
	}
	var out strings.Builder
	for _, line := range strings.SplitAfter(text, "\n") {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue
		}
		if step, _ := strconv.Atoi(f[2]); step <= last[f[0]] {
			out.WriteString(line)
		}
	}
	return out.String()
}
