package vedrfolnir_test

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/vedrfolnir"
)

// write lays out a run in a folder.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// read reads a run from its folder, or from one file.
func read(path string) (collective.Run, error) {
	var names []string
	err := filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if inner, _ := filepath.Rel(path, at); inner == "." || vedrfolnir.IsFile(inner) {
			names = append(names, at)
		}
		return nil
	})
	if err != nil {
		return collective.Run{}, err
	}
	return vedrfolnir.Read(names, func(name string) (io.ReadCloser, error) { return os.Open(name) })
}

const smallTopology = `4 2 3
0 1
2 0 25Gbps 0.003ms 0
3 1 10Gb/s 5us 0.001
0 1 25Gbps 1000ns 0

src0 dst0 rate
`

const smallTransfers = `2 3 1 1 3 10000 10000 1300 2000000000 500 400
3 2 1 1 2 10000 10000 1300 2000000000 600 400
### 2 3 10001 10001 2600 2000000100 900 800
2 3 2 3 0 10000 10000 1300 2000000600 500 400
3 2 2 2 2 10000 10000 1300 2000000600 500 400
`

const smallTelemetry = `time 2000500000

signal

epoch now

traffic meter form port 1 to port 2
portToPortBytes
2655560

port telemetry data for port 2
enqQdepth pfcPausedPacketNum packetNum
10 2 3

flow telemetry data for port 2
flowIdx srcIp dstIp srcPort dstPort protocol minSeq maxSeq packetNum enqQdepth pfcPausedPacketNum
7 0b000201 0b000301 10000 10000 17 0 1300 2 10 1
8 0b000201 0b000301 10001 10001 17 0 0 1 0 1

epoch last

port telemetry data for port 2
enqQdepth pfcPausedPacketNum packetNum
0 0 0

flow telemetry data for port 2
flowIdx srcIp dstIp srcPort dstPort protocol minSeq maxSeq packetNum enqQdepth pfcPausedPacketNum

end

`

func TestReadSmallRun(t *testing.T) {
	folder := write(t, map[string]string{
		"out/fct.txt": smallTransfers, "topology.txt": smallTopology, "data/telemetry_0.txt": smallTelemetry,
		"out/pfc.txt": "2000000000 2 0 1 1\n2000000900 2 0 1 0\n", "flow.txt": "2\n2 3 3 10001 2600 2\n3 2 3 10001 99 2.5\n",
	})
	run, err := read(folder)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Ranks) != 2 || run.Ranks[0].Node != "2" || len(run.Steps) != 4 || len(run.Pauses) != 2 || len(run.Notes) != 0 {
		t.Fatalf("%+v", run)
	}
	if s := run.Steps[1]; s.Step != 2 || s.AwaitsRank != 1 || s.AwaitsStep != 1 || s.Peer != 1 || s.EndNanos != 2000001100 {
		t.Errorf("step %+v", s)
	}
	if l := run.Fabric.Links[1]; l.BitsPerSecond != 10e9 || l.DelayNanos != 5000 || l.ErrorRate != 0.001 || l.APort != 1 || l.BPort != 1 {
		t.Errorf("link %+v", l)
	}
	// The flow that has a record of its own, by a begin of fewer digits, and the one that is
	// only planned.
	if len(run.Flows) != 2 || run.Flows[0].EndNanos != 2000001000 || run.Flows[1].EndNanos != 0 || run.Flows[1].Bytes != 99 {
		t.Errorf("flows %+v", run.Flows)
	}
	if len(run.Telemetry) != 2 {
		t.Fatalf("telemetry %+v", run.Telemetry)
	}
	now, last := run.Telemetry[0], run.Telemetry[1]
	if !now.Signal || now.In != 1 || now.MeterBytes != 2655560 || now.Port != 2 || now.QueueSum != 10 || now.Paused != 2 || now.Packets != 3 || now.EpochNanos != 2000000000 || now.LastNanos != 2000500000 {
		t.Errorf("now %+v", now)
	}
	if last.EpochNanos != 1999000000 || last.LastNanos != 2000000000 || last.In != 1 {
		t.Errorf("last %+v", last)
	}
	if f := now.Flows; len(f) != 2 || !f[0].Collective || f[1].Collective || f[0].MaxSeq != 1300 {
		t.Errorf("flows %+v", f)
	}
}

// A source whose step numbers restart ran another collective.
func TestReadSeveralCollectives(t *testing.T) {
	again := strings.NewReplacer("20000", "20001").Replace(smallTransfers)
	run, err := read(write(t, map[string]string{"fct.txt": smallTransfers + again}))
	if err != nil {
		t.Fatal(err)
	}
	d := collective.Diagnose(run, collective.Options{})
	if d.Iterations != 2 || d.Steps != 2 || d.MakespanNanos != 101_100 {
		t.Errorf("%+v", d)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"empty folder":    {map[string]string{"readme": "x"}, "give the folder of a run"},
		"not transfers":   {map[string]string{"fct.txt": "hello world\nfoo\n"}, "fct.txt:1: no line can be read"},
		"binary":          {map[string]string{"fct.txt": strings.Repeat("\x00", 10_000)}, "fct.txt:1"},
		"huge topology":   {map[string]string{"fct.txt": smallTransfers, "topology.txt": "999999999 1 1\n"}, "topology.txt:1"},
		"not a run's":     {nil, "want fct.txt"},
		"missing":         {nil, "no such file"},
		"topology is bad": {map[string]string{"fct.txt": smallTransfers, "topology.txt": "a b c\n"}, "topology.txt:1"},
	} {
		t.Run(name, func(t *testing.T) {
			path := write(t, c.files)
			switch name {
			case "missing":
				path = filepath.Join(path, "nothing")
			case "not a run's":
				path = filepath.Join(write(t, map[string]string{"notes.txt": ""}), "notes.txt")
			}
			_, err := read(path)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %q in one line", err, c.want)
			}
		})
	}
}

// FuzzRead: for any files, reading and diagnosing end, the path is contiguous and no
// time is negative.
func FuzzRead(f *testing.F) {
	f.Add(smallTransfers, smallTopology, smallTelemetry, "2000000000 2 0 1 1\n", "1\n2 3 3 10001 2600 2.0\n")
	f.Add("2 3 1 1 3 1 1 5 9 9 9\n2 3 1 1 3 1 1 5 9 9 9\n3 2 4194304 1 2 1 1 5 1 1 1\n", "2 0 1\n\n0 1 1bps 1s 0\n", "time 1\nport\nend\n", "0 0 0 0 1\n", "x\n")
	f.Add(smallTransfers, smallTopology, "time 1\nport\ntraffic\nepoch\nend\n"+smallTelemetry, "", "")
	f.Add("2 3 1 1 3 1 1 9000000000000000000 9 9 9\n2 3 1 1 3 1 1 5 2000000000000000000 2000000000000000000 9\n", smallTopology, smallTelemetry, "", "")
	f.Fuzz(func(t *testing.T, transfers, topology, telemetry, pauses, flows string) {
		folder := write(t, map[string]string{"fct.txt": transfers, "topology.txt": topology, "telemetry_0.txt": telemetry, "pfc.txt": pauses, "flow.txt": flows})
		run, err := read(folder)
		if err != nil {
			return
		}
		d := collective.Diagnose(run, collective.Options{})
		at := int64(0)
		for _, s := range d.CriticalPath {
			if s.BeginNanos != at || s.EndNanos < at {
				t.Fatalf("path %+v", d.CriticalPath)
			}
			at = s.EndNanos
		}
		if at != d.MakespanNanos || d.MakespanNanos < 0 {
			t.Fatalf("path ends at %d, makespan %d", at, d.MakespanNanos)
		}
	})
}
