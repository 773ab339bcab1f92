package flightrecorder

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/repo"
)

// recordedDumps are the dumps of a folder and the ranks that its log says were stopped.
func recordedDumps(t *testing.T, name string) ([]*Dump, []int) {
	t.Helper()
	folder := repo.Fixture(t, "collective", "flight-recorder", name)
	files, err := filepath.Glob(filepath.Join(folder, "_dump_*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d dumps in %s: %v", len(files), folder, err)
	}
	var dumps []*Dump
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Parse(filepath.Base(file), data)
		if err != nil {
			t.Fatal(err)
		}
		dumps = append(dumps, d)
	}
	log, err := os.ReadFile(filepath.Join(folder, "fault_injection.log"))
	if err != nil {
		t.Fatal(err)
	}
	var truth []int
	for lines := bufio.NewScanner(bytes.NewReader(log)); lines.Scan(); {
		var rank int
		if n, _ := fmt.Sscanf(lines.Text(), "Rank %d,", &rank); n == 1 {
			truth = append(truth, rank)
		}
	}
	return dumps, truth
}

func TestRecordedFaults(t *testing.T) {
	for _, name := range []string{"gpu_error_1st", "lock_gil_1st"} {
		dumps, truth := recordedDumps(t, name)
		report, err := reportOf(dumps)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(report.Stopped, truth) || report.Ranks != 16 || len(report.Missing) > 0 || len(report.Late) > 0 || len(report.Disagreements) > 0 || !report.Hung {
			t.Errorf("%s: %+v, want ranks %v stopped", name, report, truth)
		}
		if text := report.Text(); !strings.Contains(text, rankList(truth)+" stopped") {
			t.Errorf("%s: text %q", name, text)
		}
	}
}

// TestRecordedFaultsWithoutADump takes each dump away in turn: no healthy rank is
// accused, and a rank that stopped and left a dump is still found.
func TestRecordedFaultsWithoutADump(t *testing.T) {
	for _, name := range []string{"gpu_error_1st", "lock_gil_1st"} {
		dumps, truth := recordedDumps(t, name)
		for i, gone := range dumps {
			report, err := reportOf(slices.Delete(slices.Clone(dumps), i, i+1))
			if err != nil {
				t.Fatal(err)
			}
			want := slices.DeleteFunc(slices.Clone(truth), func(r int) bool { return r == gone.Rank })
			if !slices.Equal(report.Stopped, want) || !slices.Equal(report.Missing, []int{gone.Rank}) {
				t.Errorf("%s without rank %d: stopped %v missing %v, want %v stopped", name, gone.Rank, report.Stopped, report.Missing, want)
			}
		}
	}
}
