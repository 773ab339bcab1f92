package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/report"
)

// ringOfTwo is fct.txt of two ranks and two steps.
const ringOfTwo = `2 3 1 1 3 10000 10000 1300 2000000000 500 500
3 2 1 1 2 10000 10000 1300 2000000000 600 500
2 3 2 3 0 10000 10000 1300 2000000600 500 500
3 2 2 2 2 10000 10000 1300 2000000600 500 500
`

func runCollective(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return runCollectiveCommand(t, append([]string{"diagnose"}, args...)...)
}

func runCollectiveCommand(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root := newRoot()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(append([]string{"collective"}, args...))
	err := root.Execute()
	return out.String(), err
}

func TestCollectiveDiagnose(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "fct.txt"), []byte(ringOfTwo), 0o600); err != nil {
		t.Fatal(err)
	}
	svg, trace := filepath.Join(folder, "a.svg"), filepath.Join(folder, "a.json")
	text, err := runCollective(t, "--format", "vedrfolnir", "--json", "--line-rate", "25Gbps", "--svg", svg, "--trace", trace, folder)
	if err != nil {
		t.Fatal(err)
	}
	var d map[string]any
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if d["makespan_ns"] != 1100.0 || d["ranks"] != 2.0 || d["steps"] != 2.0 || len(d["critical_path"].([]any)) != 2 {
		t.Errorf("%s", text)
	}
	for _, list := range []string{"culprits", "stopped_ranks", "late_ranks", "missing_ranks"} {
		if _, ok := d[list].([]any); !ok {
			t.Errorf("%s is %v, want a list", list, d[list])
		}
	}
	for _, path := range []string{svg, trace} {
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
	if text, err = runCollective(t, "--format", "vedrfolnir", folder); err != nil || !strings.Contains(text, "critical path") || !strings.Contains(text, "No culprit") {
		t.Errorf("%v: %s", err, text)
	}
	_, path, _ := strings.Cut(text, "took ms") // 1,100 ns; each segment has its begin, end and length in milliseconds
	lines := strings.Split(strings.TrimSpace(path), "\n")
	var sum, took float64
	for _, line := range lines[1:] {
		var begin, end float64
		if _, err := fmt.Sscan(line, &begin, &end, &took); err != nil || begin+took-end > .002 {
			t.Errorf("segment %q: %v", line, err)
		}
		sum += took
	}
	if sum < .001 || sum > .002 {
		t.Errorf("the critical path takes %v ms of 0.0011:%s", sum, path)
	}
}

func TestCollectiveDiagnoseRefuses(t *testing.T) {
	empty, hung := t.TempDir(), t.TempDir()
	dump := `{"version":"2.9","pg_config":{"0":{"name":"0","ranks":"[0]"}},"entries":[{"pg_id":0,"process_group":["0",""],"collective_seq_id":3,"state":"started"}]}`
	if err := os.WriteFile(filepath.Join(hung, "_dump_0"), []byte(dump), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ want, args string }{
		{`--format "x": want one of`, "--format x ."},
		{"--line-rate", "--format vedrfolnir --line-rate fast ."},
		{"give the folder of a run", "--format vedrfolnir /nonexistent"},
		{"no files of format flight-recorder; give dumps of PyTorch's Flight Recorder", "--format flight-recorder " + empty},
		{"have no steps to draw", "--format flight-recorder --svg x.svg " + hung},
	} {
		if _, err := runCollective(t, strings.Fields(c.args)...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.args, err, c.want)
		}
	}
}

// A command ends at the first signal, even while reading records.
func TestCollectiveDiagnoseEnds(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "fct.txt")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	root := newRoot()
	root.SetArgs([]string{"collective", "diagnose", "--format", "vedrfolnir", folder})
	ended := make(chan error, 1)
	go func() {
		_, err := execute(ctx, root, io.Discard)
		ended <- err
	}()
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // returns when the command has opened it
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	cancel()
	select {
	case err := <-ended:
		if want := "diagnose collectives: interrupted, without a result"; !errors.Is(err, context.Canceled) || err.Error() != want || exitStatus(err) != statusInterrupted {
			t.Errorf("ends with %v, status %d; want %s, status %d", err, exitStatus(err), want, statusInterrupted)
		}
	case <-time.After(time.Minute):
		t.Fatal("does not end")
	}
}

// A dry run names the devices of the ranks; unknown hosts, and records whose clock is not UTC, are rejected with advice.
func TestCollectivePublish(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("fct.txt", ringOfTwo)
	names := write("hosts.tsv", "2\thost2\n3\thost3\n")
	config := write("giverny.yaml", "data_dir: "+folder+"\nfabrics: [{name: ib0, topology: 'fattree:k=4'}]\n")
	publish := func(args ...string) (string, error) {
		return runCollectiveCommand(t, append([]string{"publish", "-c", config, "--job", "17", "--dry-run", folder}, args...)...)
	}
	text, err := publish("--begin", "2026-11-22T10:00:00Z", "--node-map", names)
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.Job != "17" || r.Format != "vedrfolnir" || len(r.Devices) != 2 || r.Devices[1][0] != "host3" || len(r.Ways) != 2 || r.Diagnosis.MakespanNanos != 1100 || r.ID() != "collective.17.20261122T100000.000" {
		t.Errorf("%v: %s", err, text)
	}
	two := write("two.yaml", "data_dir: "+folder+"\nfabrics: [{name: ib0, topology: 'fattree:k=4'}, {name: ib1, topology: gone.yaml}]\n")
	if _, err := publish("-c", two, "--fabric", "ib0", "--begin", "2026-11-22T10:00:00Z", "--node-map", names); err != nil {
		t.Errorf("with another fabric that cannot be read: %v", err)
	}
	for want, args := range map[string][]string{
		"no device of fabric ib0 for 2 hosts of the collective (2, 3): give --node-map": {"--begin", "2026-11-22T10:00:00Z"},
		"have no UTC start time": {"--node-map", names},
		`--begin "now"`:          {"--node-map", names, "--begin", "now"},
		`--fabric "ib1" is not in the configuration; it has ib0`: {"--fabric", "ib1"},
	} {
		if _, err := publish(args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", args, err, want)
		}
	}
}

// Text after a diagnosis is on its own line.
func TestTextOfADiagnosisIsWholeLines(t *testing.T) {
	for _, text := range []string{"rank 3 stopped", "makespan 3 ms.\n"} {
		if got := wholeLines(&collective.Diagnosis{Text: text}); got != strings.TrimSpace(text)+"\n" {
			t.Errorf("%q: %q", text, got)
		}
	}
}
