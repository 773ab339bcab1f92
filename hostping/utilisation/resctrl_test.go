package utilisation

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/hostping"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// twoCaches is a sysfs with two sockets whose third-level caches have ids 3 and 8.
func twoCaches(t *testing.T, sysfs string) {
	t.Helper()
	for socket, id := range []string{"3", "8"} {
		cpu := filepath.Join(sysfs, "devices/system/cpu", fmt.Sprint("cpu", socket))
		put(t, filepath.Join(cpu, "cache/index3/id"), id+"\n")
		put(t, filepath.Join(cpu, "topology/physical_package_id"), fmt.Sprintln(socket))
	}
}

// group writes what a group has moved, total and local bytes of each socket, and its tasks.
func group(t *testing.T, folder, tasks string, counters ...string) {
	t.Helper()
	for i, domain := range []string{"mon_L3_03", "mon_L3_08"} {
		put(t, filepath.Join(folder, "mon_data", domain, "mbm_total_bytes"), counters[2*i]+"\n")
		put(t, filepath.Join(folder, "mon_data", domain, "mbm_local_bytes"), counters[2*i+1]+"\n")
	}
	put(t, filepath.Join(folder, "tasks"), tasks)
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

// A link's utilisation is divided among the groups by their bytes: a control group's counters include its monitoring
// groups, and remote bytes cross the bus to the other socket's memory.
func TestGroupsOfResctrl(t *testing.T) {
	root, sysfs := t.TempDir(), t.TempDir()
	twoCaches(t, sysfs)
	sockets, err := cacheSockets(sysfs)
	if err != nil || sockets[3] != 0 || sockets[8] != 1 {
		t.Fatalf("%v, %v", sockets, err)
	}
	write := func(job, batch, all string) map[string]moved {
		group(t, filepath.Join(root, "mon_groups/job17"), "4711\n120\n", job, job, "0", "0")
		group(t, filepath.Join(root, "batch/mon_groups/copy"), "", "Unavailable", "0", "100", "50")
		group(t, filepath.Join(root, "batch"), "9\n", batch, "0", "100", "50")
		group(t, root, "1\n2\n", all, all, "0", "0")
		groups, err := readGroups(root, sockets)
		if err != nil {
			t.Fatal(err)
		}
		return groups
	}
	before := write("1000", "0", "5000")
	after := write("4000", "6000", "9000") // job17 moves 3000 locally, batch 6000 remotely, all others 1000 locally
	got := map[string]hostping.Process{}
	for _, p := range consumers(before, after, twoSockets(), map[string]float64{"m0": .8, "m1": .6, "bus": .9}) {
		got[p.Name] = p
	}
	if len(got) != 3 || got["job17"].PID != 120 || !near(got["job17"].Links["m0"], .6) || len(got["job17"].Links) != 1 {
		t.Errorf("job17: %+v", got)
	}
	if p := got["batch"]; p.PID != 9 || !near(p.Links["bus"], .9) || !near(p.Links["m1"], .6) {
		t.Errorf("batch: %+v", p)
	}
	if p := got[ungrouped]; p.PID != 0 || !near(p.Links["m0"], .2) {
		t.Errorf("the rest: %+v", p)
	}
	if p := consumers(after, before, twoSockets(), map[string]float64{"m0": .8}); len(p) != 0 {
		t.Errorf("counters that were set back: %+v", p)
	}
}

// The source reads groups before and after PCM's report; without resctrl it reports an error, with the other results.
func TestSourceWithResctrl(t *testing.T) {
	root, sysfs := t.TempDir(), t.TempDir()
	twoCaches(t, sysfs)
	group(t, root, "1\n", "0", "0", "0", "0")
	group(t, filepath.Join(root, "mon_groups/job17"), "4711\n", "0", "0", "0", "0")
	counted := filepath.Join(root, "mon_groups/job17/mon_data/mon_L3_03/mbm_")
	cfg := DefaultConfig()
	cfg.Window, cfg.MemoryGBps, cfg.Resctrl = time.Millisecond, 200, root
	cfg.PCMMemory = []string{"sh", "-c", "echo 7 >" + counted + "total_bytes; echo 7 >" + counted + "local_bytes; cat testdata/pcm-memory.csv"}
	g := twoSockets()
	g.RNICs = nil
	s := New(cfg, g, &RNICs{Root: sysfs, Now: time.Now})
	s.sysfs = sysfs
	u, err := s.Read(t.Context())
	if err != nil || len(u.Processes) != 1 || u.Processes[0].PID != 4711 || !near(u.Processes[0].Links["m0"], u.Links["m0"]) || u.Links["m0"] == 0 {
		t.Errorf("%+v, %v", u, err)
	}
	s.cfg.Resctrl = filepath.Join(root, "absent")
	if u, err := s.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "resctrl") || u.Links["m0"] == 0 || len(u.Processes) != 0 {
		t.Errorf("%+v, %v", u, err)
	}
}
