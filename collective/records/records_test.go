package records_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/records"
	"github.com/giverny/giverny/collective/simulated"
)

const transfers = `2 3 1 1 3 10000 10000 1300 2000000000 500 500
3 2 1 1 2 10000 10000 1300 2000000000 600 500
`

// A folder gives the files that a form has, with its inner folders where it has some; every form refuses what is not its.
func TestFormatsReadFolders(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"out/fct.txt": transfers, "readme": "x", "rank0.log": "x", "dump_0": "x"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	wanted := map[string][]string{"vedrfolnir": {"out/fct.txt"}, "flight-recorder": {"dump_0"}, "nccl-inspector": {"rank0.log"}, "nccl-profiler": {"rank0.log"}, "simulated": nil}
	for _, f := range records.Formats() {
		files, err := f.Expand([]string{dir})
		for i := range files.Names {
			files.Names[i], _ = filepath.Rel(dir, files.Names[i])
		}
		if want := wanted[f.Name]; !slices.Equal(files.Names, want) || (err == nil) != (len(want) > 0) {
			t.Errorf("%s: %v, %v; want %v", f.Name, files.Names, err, want)
		}
		if files, err = f.Expand([]string{filepath.Join(dir, "readme")}); err != nil {
			t.Fatal(err)
		}
		if _, _, err = f.Diagnose(files, collective.Options{}); err == nil || !strings.Contains(err.Error(), "readme") {
			t.Errorf("%s reads what is not its: %v", f.Name, err)
		}
	}
	f, err := records.Named("vedrfolnir")
	if err != nil {
		t.Fatal(err)
	}
	files, err := f.Expand([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, d, err := f.Diagnose(files, collective.Options{}); err != nil || d.MakespanNanos != 600 {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := records.Named("x"); err == nil || !strings.Contains(err.Error(), "want one of vedrfolnir, ") {
		t.Errorf("form x: %v", err)
	}
}

// Custom records that name the algorithm and not the waits have those of its plan, and what does not fit is said.
func TestWaitsAreFilledIn(t *testing.T) {
	run := collective.Run{Communicators: []collective.Communicator{{Name: "world", Members: []int{0, 1, 2}, Operation: collective.AllGather, Algorithm: collective.Ring}}}
	for rank := range int32(3) {
		run.Ranks = append(run.Ranks, collective.Rank{Node: string('a' + rank), Host: collective.None})
		for step := range int32(2) {
			begin := 1000 + 100*int64(step)
			run.Steps = append(run.Steps, collective.StepRecord{Step: step + 1, Rank: rank, Peer: (rank + 1) % 3, Bytes: 8, BeginNanos: begin, EndNanos: begin + 100 - int64(rank)})
		}
	}
	f, err := records.Named("simulated")
	if err != nil {
		t.Fatal(err)
	}
	for n, note := range []string{"", "communicator world: steps of all_gather by ring that are not in the records: rank 2: 1"} {
		path := filepath.Join(t.TempDir(), simulated.FileName)
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		run.Steps = run.Steps[:len(run.Steps)-n]
		if err := errors.Join(simulated.Write(file, &run), file.Close()); err != nil {
			t.Fatal(err)
		}
		got, d, err := f.Diagnose(records.Files{Names: []string{path}, Open: records.OSOpen}, collective.Options{})
		if err != nil || d.MakespanNanos != 200 || strings.Join(d.Notes, "; ") != note || got.Steps[1].AwaitsRank != 2 || got.Steps[1].AwaitsStep != 1 || got.Steps[0].AwaitsStep != collective.None {
			t.Errorf("%+v, %v, %+v", d, err, got.Steps)
		}
	}
}

// Files that cannot be read are divided from those that can.
func TestReadableLeavesOutWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")
	for path, text := range map[string]string{good: `[{}]`, bad: `[{"ph":"b","ts":`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := records.Named("nccl-inspector")
	if err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "c.json")
	names, faults := f.Readable(records.Files{Names: []string{good, bad, missing}, Open: records.OSOpen})
	if !slices.Equal(names, []string{good, bad}) || len(faults) != 1 { // a trace that a killed process left open is read
		t.Errorf("%v, %v", names, faults)
	}
}
