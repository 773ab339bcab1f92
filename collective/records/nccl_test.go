package records_test

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/records"
	"github.com/giverny/giverny/collective/simulated"
)

// memory is files in memory by name. It counts how many of them are open.
type memory struct {
	texts map[string]string
	open  int
}

type memoryFile struct {
	io.Reader
	of *memory
}

func (f memoryFile) Close() error { f.of.open--; return nil }

func (m *memory) files(names ...string) records.Files {
	return records.Files{Names: names, Open: func(name string) (io.ReadCloser, error) {
		text, known := m.texts[name]
		if !known {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		m.open++
		return memoryFile{strings.NewReader(text), m}, nil
	}}
}

// inspected is the Inspector's file of a rank of two: three collectives, in which rank 1 spends less time waiting.
func inspected(rank int) string {
	var b strings.Builder
	for s := range 3 {
		fmt.Fprintf(&b, `{"header":{"id":"0x1","rank":%d,"n_ranks":2},"metadata":{"hostname":"h%d","pid":7},"coll_perf":{"coll":"AllReduce","coll_sn":%d,"coll_exec_time_us":%d}}`+"\n", rank, rank, s, 9000-8000*rank)
	}
	return b.String()
}

// traced is the example plug-in's trace of a rank of two: one collective with one network step.
func traced(rank int) string {
	return fmt.Sprintf(`[
{"name": "AllReduce", "cat": "COLL", "ph": "b", "id": 0, "pid": %[1]d, "ts": 10, "args": {"SeqNum": 0, "CommHash": 5, "Rank": %[1]d, "Algorithm": "RING"}},
{"name": "ScheduleSend", "cat": "PROXY", "ph": "b", "id": 0, "pid": %[1]d, "ts": 11, "args": {"Channel": 0, "Peer": %[2]d, "Steps": 1, "transSize": 64}},
{"name": "SendWait", "cat": "NET", "ph": "b", "id": 0, "pid": %[1]d, "ts": 12, "args": {"Step": 0}},
{"name": "SendWait", "cat": "NET", "ph": "e", "id": 0, "pid": %[1]d, "ts": 14},
{"name": "AllReduce", "cat": "COLL", "ph": "e", "id": 0, "pid": %[1]d, "ts": 20},
{}]`, rank, 1-rank)
}

func ncclFiles() *memory {
	whole := inspected(1)
	return &memory{texts: map[string]string{
		"rank0.log": inspected(0), "rank1.log": whole, "cut.log": whole[:len(whole)-40], "marked.log": "\ufeff" + whole, "broken.log": whole + "x\n" + whole, "idle.txt": `{"header":{"rank":0,"n_ranks":2}}`,
		"trace0.json": traced(0), "trace1.json": traced(1), "bad.json": `[{"ph":"b","cat":"COLL","ts":-5}]`, "empty.json": "",
	}}
}

// The files of NCCL's two plug-ins are distinguished by content. A truncated file costs the later records of its rank; other
// faults name the file.
func TestNCCL(t *testing.T) {
	m := ncclFiles()
	for _, c := range []struct {
		format string
		names  []string
		steps  int    // of the run
		says   string // in the diagnosis' text and notes, or in the error
		fails  bool
	}{
		{"nccl-inspector", []string{"rank0.log", "rank1.log"}, 0, "rank 1", false},
		{"nccl-inspector", []string{"rank0.log", "marked.log"}, 0, "rank 1", false},
		{"nccl-inspector", []string{"rank0.log", "cut.log"}, 0, "cut.log:3: the file ends in the middle of a record: its rank was killed, or later records of it are missing", false},
		{"nccl-inspector", []string{"rank0.log", "broken.log"}, 0, "broken.log:4: ", true},
		{"nccl-inspector", []string{"rank0.log", "absent.log"}, 0, "open absent.log: ", true},
		{"nccl-inspector", []string{"idle.txt"}, 0, "idle.txt: ", true},
		{"nccl-inspector", []string{"idle.txt", "idle.txt", "idle.txt"}, 0, "idle.txt and 2 more: ", true},
		{"nccl-inspector", nil, 0, "", true},
		{"nccl-inspector", []string{"trace0.json", "trace1.json"}, 2, "2 ranks, 1 steps", false},
		{"nccl-profiler", []string{"trace0.json", "trace1.json"}, 2, "2 ranks, 1 steps", false},
		{"nccl-profiler", []string{"trace0.json", "bad.json"}, 0, "bad.json:1: ", true},
		{"nccl-profiler", []string{"trace0.json", "absent.json"}, 0, "open absent.json: ", true},
		{"nccl-profiler", []string{"rank0.log"}, 0, "rank0.log:1: ", true},
		{"simulated", []string{"idle.txt"}, 0, "idle.txt:1: ", true},
		{"simulated", []string{"absent"}, 0, "open absent: ", true},
		{"simulated", []string{"a", "b"}, 0, "a b: 2 files of records: give one folder with a " + simulated.FileName, true},
	} {
		f, err := records.Named(c.format)
		if err != nil {
			t.Fatal(err)
		}
		run, d, err := f.Diagnose(m.files(c.names...), collective.Options{})
		said := fmt.Sprint(d.Text, d.Notes)
		if c.fails {
			said = fmt.Sprint(err)
		}
		if (err != nil) != c.fails || len(run.Steps) != c.steps || !strings.Contains(said, c.says) {
			t.Errorf("%s of %v: %d steps, %s, %v; want %d, %q", c.format, c.names, len(run.Steps), said, err, c.steps, c.says)
		}
		if c.format == "nccl-inspector" && slices.Contains(c.names, "cut.log") && (!strings.Contains(d.Text, "; "+c.says) || !slices.Contains(d.Notes, c.says)) {
			t.Errorf("text %q, notes %q; want %q in both", d.Text, d.Notes, c.says)
		}
		if m.open != 0 {
			t.Errorf("%s of %v left %d files open", c.format, c.names, m.open)
		}
	}
}

// A file that ends early can be read alone; a damaged one, one of another format and one that is absent cannot.
func TestReadableAlone(t *testing.T) {
	m := ncclFiles()
	m.texts["_dump_0"], m.texts["_dump_1"] = `{"version":"2.9","pg_status":{"0":{}}}`, "no dump"
	for format, want := range map[string][]string{
		"nccl-inspector":  {"rank0.log", "cut.log", "idle.txt", "trace0.json", "empty.json"},
		"nccl-profiler":   {"trace0.json"},
		"flight-recorder": {"empty.json", "_dump_0"},
		"simulated":       {"rank0.log", "cut.log", "broken.log", "idle.txt", "trace0.json", "bad.json", "empty.json", "_dump_0", "_dump_1", "absent"}, // not read alone
	} {
		f, err := records.Named(format)
		if err != nil {
			t.Fatal(err)
		}
		all := m.files("rank0.log", "cut.log", "broken.log", "idle.txt", "trace0.json", "bad.json", "empty.json", "_dump_0", "_dump_1", "absent")
		if good, bad := f.Readable(all); !slices.Equal(good, want) || len(bad) != len(all.Names)-len(want) {
			t.Errorf("%s: readable %v, want %v; not readable %v", format, good, want, bad)
		}
	}
	if m.open != 0 {
		t.Errorf("%d files were left open", m.open)
	}
}

// Files belong to a job by their name, and only those of the right folder.
func TestWantedFiles(t *testing.T) {
	for format, want := range map[string][]string{
		"nccl-inspector": {"a.log", "a.json", "a.jsonl", "a.txt", simulated.FileName, "fct.txt"}, "flight-recorder": {"_dump_3"}, "simulated": {simulated.FileName}, "vedrfolnir": {"out/fct.txt", "fct.txt"},
	} {
		f, err := records.Named(format)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range []string{"a.log", "a.json", "a.jsonl", "a.txt", "a.csv", "out/a.log", "_dump_3", "out/_dump_3", simulated.FileName, "out/" + simulated.FileName, "out/fct.txt", "fct.txt"} {
			if f.Wanted(name) && !slices.Contains(got, name) {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", format, got, want)
		}
	}
}
