package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// runArgs runs a command and returns what it prints, and its error as a user sees it.
func runArgs(t *testing.T, args ...string) (string, error) {
	t.Helper()
	t.Setenv("GIVERNY_CONFIG", "")
	root := newRoot()
	root.SetArgs(args)
	root.SetErr(io.Discard)
	var out bytes.Buffer
	_, err := execute(t.Context(), root, &out)
	return out.String(), err
}

// inputs are the commands that read a file, with @ for its name, and $ for a links CSV that can be read.
var inputs = []string{
	"segment @ --topology mesh:2", "segment $ --topology @", "counters --topology mesh:2 @", "diagnose --topology mesh:2 --links @",
	"diagnose --topology mesh:2 --links $ --jobs @", "diagnose --topology mesh:2 --links $ --failures @",
	"diagnose --topology mesh:2 --links $ --traffic @", "diagnose --topology mesh:2 --links $ --node-map @ --jobs $",
	"topology import @", "topology import --format slurm @", "topology import --format netq @", "topology import --format cables @",
	"topology import --format ibnetdiscover @", "topology import --format ibdiagnet @", "topology import --format giverny @",
	"topology import mesh:2 --previous @", "topology import mesh:2 --out @", "topology show @", "topology diff @ mesh:2",
	"collective diagnose @", "hostping graph @", "hostping run --host @", "hostping run --baseline @",
	"search check --rig @", "search check --restrict @", "search run --known @", "search run --log @", "search explain --workload @",
	"simulate run @", "simulate explain --topology mesh:2 --pattern puts --puts @", "simulate pattern --model @", "demo --story @",
	"config check --config @",
}

// An error about a file says its name once, whether it is absent, a folder, or below a file.
func TestErrorsNameAFileOnce(t *testing.T) {
	links := filepath.Join(t.TempDir(), "links.csv")
	if err := os.WriteFile(links, []byte("link,time,credit_stall\n0,2026-01-01T00:00:00Z,10\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	t.Chdir(folder) // for what a command makes
	named := 0
	for _, name := range []string{folder, filepath.Join(folder, "absent"), filepath.Join(links, "below")} {
		for _, command := range inputs {
			args := strings.Fields(command)
			for i := range args {
				args[i] = strings.NewReplacer("@", name, "$", links).Replace(args[i])
			}
			_, err := runArgs(t, args...)
			if err == nil {
				continue // it may be made there, or have no such input
			}
			line, _, _ := strings.Cut(err.Error(), "\n")
			switch strings.Count(line, name) {
			case 1:
				named++
			case 0: // another fault came first
			default:
				t.Errorf("giverny %s: %s", command, line)
			}
			if len(line) > 2000 {
				t.Errorf("giverny %s: an error of %d bytes", command, len(line))
			}
		}
	}
	if named < 60 {
		t.Errorf("%d errors name the file; want most of %d", named, 3*len(inputs))
	}
}

// A byte order mark, as editors and spreadsheets write it, is no part of an input.
func TestInputsMayBeginWithAByteOrderMark(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(in(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("links.csv", "link,time,credit_stall\n0,2026-01-01T00:00:00Z,10\n")
	write("counters.jsonl", `{"time":"2026-01-01T00:00:00Z","device":"0","port":"X+","counters":{"gemini.traffic_bytes":1}}`+"\n"+
		`{"time":"2026-01-01T00:01:00Z","device":"0","port":"X+","counters":{"gemini.traffic_bytes":61}}`+"\n")
	write("jobs.jsonl", `{"job_id":"1","nodes":["0"],"start":"2025-12-31T00:00:00Z"}`+"\n")
	write("failures.tsv", "2026-01-01T00:00:00Z\tswitch_failed\t0\n")
	write("topology.conf", "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4]\nSwitchName=top Switches=s[1-2]\n")
	write("puts.csv", "from,to,bytes\n0,1,4096\n")
	if _, err := runArgs(t, "simulate", "collective", "--class", "incast", "--out", folder); err != nil {
		t.Fatal(err)
	}
	for file, command := range map[string]string{
		"links.csv": "segment @ --topology mesh:2", "counters.jsonl": "counters --topology mesh:2 @",
		"jobs.jsonl":    "diagnose --topology mesh:2 --links " + in("links.csv") + " --jobs @",
		"failures.tsv":  "diagnose --topology mesh:2 --links " + in("links.csv") + " --failures @",
		"topology.conf": "topology show @", "puts.csv": "simulate pattern --topology mesh:2 --puts @", "run.jsonl": "collective diagnose @",
	} {
		args := strings.Fields(strings.ReplaceAll(command, "@", in(file)))
		want, wantErr := runArgs(t, args...)
		text, err := os.ReadFile(in(file))
		if err != nil {
			t.Fatal(err)
		}
		write(file, "\ufeff"+string(text))
		got, gotErr := runArgs(t, args...)
		if got != want || (gotErr == nil) != (wantErr == nil) {
			t.Errorf("giverny %s: with a mark\n%s%v\nwithout\n%s%v", command, got, gotErr, want, wantErr)
		}
		if wantErr != nil {
			t.Errorf("giverny %s: %v", command, wantErr)
		}
		write(file, string(text))
	}
}

// What an operator may not write is not among the choices of an error.
func TestChoicesOfMinSeverity(t *testing.T) {
	file := filepath.Join(t.TempDir(), "giverny.yaml")
	for _, text := range []string{
		"feedback: {webhooks: [{name: a, min_severity: Severe}]}", "feedback: {webhooks: [{name: a, min_severity: Neg}]}",
		"feedback: {alertmanager: {min_severity: Severe}}", "feedback: {alertmanager: {min_severity: Neg}}",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := runArgs(t, "config", "check", "--config", file)
		if err == nil || !strings.Contains(err.Error(), "min_severity: \"") || !strings.Contains(err.Error(), ": want Low, Medium or High") {
			t.Errorf("%s: %v", text, err)
		}
		if errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
}
