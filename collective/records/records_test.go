package records_test

import (
	"errors"
	"fmt"
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

// The format of files and folders is detected by names and content.
func TestDetect(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"vedrfolnir/out/fct.txt": transfers, "vedrfolnir/truth.txt": "x", "dumps/_dump_0": "", "dumps/_dump_1": `{"version":"2.9","entries":[]}`,
		"other/readme.md": "x", "other/dump_0": "x", "other/rank0.log": "x",
		"simulated/" + simulated.FileName: "{}", "simulated/truth.json": `{"class":"slow_link","flows":[]}`, "nccl/rank0.log": inspected(0),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"vedrfolnir": "vedrfolnir", "vedrfolnir/out/fct.txt": "vedrfolnir", "dumps": "flight-recorder", "dumps/_dump_1": "flight-recorder", "simulated": "simulated",
		"nccl/rank0.log": "nccl-inspector"} {
		if f, err := records.Detect([]string{filepath.Join(dir, path)}); f.Name != want || err != nil {
			t.Errorf("%s: %q, %v, want %s", path, f.Name, err, want)
		}
	}
	for path, want := range map[string]string{"other": "format not recognised; give --format: one of vedrfolnir, ", "other/readme.md": "format not recognised", "absent": "give the folder of a run"} {
		if f, err := records.Detect([]string{filepath.Join(dir, path)}); f.Name != "" || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %s", path, f.Name, err, want)
		}
	}
}

// A folder yields the files of a format, including subfolders; every format rejects foreign files.
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
	if err := os.Mkdir(filepath.Join(dir, "rank1.log"), 0o755); err != nil {
		t.Fatal(err)
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
		if _, err := f.Expand([]string{filepath.Join(dir, "absent")}); err == nil || !strings.Contains(err.Error(), "give the folder of a run") {
			t.Errorf("%s of what is absent: %v", f.Name, err)
		}
		if files, err = f.Expand([]string{filepath.Join(dir, "readme")}); err != nil || len(files.Names) != 1 {
			t.Fatal(files.Names, err)
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

// Custom records that name the algorithm but not the waits get those of its plan, with a note on what does not fit.
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

// Readable separates unreadable files from readable ones.
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

// One invalid dump of sixteen, or one that would call code, costs only its own rank.
func TestADumpThatIsNoneCostsItsRank(t *testing.T) {
	dir := t.TempDir()
	for rank := range 16 {
		text := `{"version":"2.9","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]"}},
			"pg_status":{"0":{"last_enqueued_collective":3,"last_started_collective":3,"last_completed_collective":2}},
			"entries":[{"record_id":3,"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":3,"profiling_name":"nccl:all_reduce","input_sizes":[[8]],"state":"started"}]}`
		switch rank {
		case 3:
			text = "\x80\x02cos\nsystem\n."
		case 5:
			text = strings.ReplaceAll(strings.ReplaceAll(text, "collective\":3", "collective\":2"), `"state":"started"`, `"state":"completed"`)
			text = strings.ReplaceAll(text, "_id\":3", "_id\":2")
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("_dump_%d", rank)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f, err := records.Named("flight-recorder")
	if err != nil {
		t.Fatal(err)
	}
	files, err := f.Expand([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	_, d, err := f.Diagnose(files, collective.Options{})
	if err != nil || !slices.Equal(d.StoppedRanks, []int{5}) || !slices.Equal(d.MissingRanks, []int{3}) || !strings.Contains(d.Text, "_dump_3: byte 2: opcode GLOBAL would load or call code: refused; write the dump of this rank again") {
		t.Errorf("%+v, %v; want rank 5 stopped and rank 3 missing", d, err)
	}
	if want := "rank 5: ranks 0, 1, 2, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 wait for it: rank 0 is in nccl:all_reduce 3 of group"; !strings.Contains(d.Text, want) {
		t.Errorf("text %q, want in it %q", d.Text, want)
	}
	if good, bad := f.Readable(files); len(good) != 15 || len(bad) != 1 {
		t.Errorf("readable %v, not %v", good, bad)
	}
}
