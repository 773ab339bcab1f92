package utilisation

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/hostping"
)

// twoSockets has a memory node and a GPU at each.
func twoSockets() *hostping.Graph {
	return &hostping.Graph{RNICs: []hostping.RNIC{{ID: "mlx5_0"}}, Endpoints: []hostping.Endpoint{{ID: "gpu0", Kind: hostping.GPU}, {ID: "gpu1", Kind: hostping.GPU}},
		Links: []hostping.Link{{ID: "m0", A: "socket0", B: "numa0", Kind: hostping.Memory}, {ID: "m1", A: "socket1", B: "numa1", Kind: hostping.Memory},
			{ID: "bus", A: "socket0", B: "socket1", Kind: hostping.InterSocket}, {ID: "g0", A: "switch", B: "gpu0", Kind: hostping.PCIe}, {ID: "g1", A: "socket1", B: "gpu1", Kind: hostping.RootPort}}}
}

func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Each tool's output is converted to shares of its sockets' links.
func TestReports(t *testing.T) {
	capacities := Capacities{MemoryGBps: 200, InterSocketGBps: 60}
	for file, c := range map[string]struct {
		read func(string, *traffic) error
		want map[string]float64
	}{
		"pcm-memory.csv": {pcmMemory, map[string]float64{"m0": 0.36, "m1": 0.045}},
		"pcm.csv":        {pcmSystem, map[string]float64{"bus": 0.93}},
		"pcm-old.csv":    {pcmSystem, map[string]float64{"bus": 0.42}},
		"uprof.csv":      {uProf, map[string]float64{"m0": 0.9, "m1": 0.1, "bus": 0.5}},
	} {
		tr := newTraffic()
		if err := c.read(text(t, file), &tr); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		got := tr.links(twoSockets(), capacities)
		if len(got) != len(c.want) {
			t.Errorf("%s: %v, want %v", file, got, c.want)
		}
		for id, v := range c.want {
			if math.Abs(got[id]-v) > 1e-9 {
				t.Errorf("%s: %s is %g, want %g", file, id, got[id], v)
			}
		}
	}
	tr := newTraffic()
	tr.memory[0] = 10
	if got := tr.links(twoSockets(), Capacities{}); len(got) != 0 {
		t.Errorf("without a capacity: %v", got)
	}
}

func TestReportsThatAreNone(t *testing.T) {
	for name, read := range map[string]func(string, *traffic) error{"pcm-memory": pcmMemory, "pcm": pcmSystem, "AMDuProfPcm": uProf} {
		for what, text := range map[string]string{"nothing": "", "an error": "PCM Error: cannot open /dev/cpu/0/msr\n", "huge": strings.Repeat("x", maxReport+1)} {
			if err := read(text, new(traffic)); err == nil || !strings.HasPrefix(err.Error(), name) {
				t.Errorf("%s of %s: %v", what, name, err)
			}
		}
	}
	tr := newTraffic()
	if err := pcmMemory("SKT0\nMem Read (MB/s)\n", &tr); err == nil {
		t.Error("a header without values is read")
	}
}

func TestGPUs(t *testing.T) {
	gpus, err := readGPUs(text(t, "nvidia-smi.csv"))
	if err != nil {
		t.Fatal(err)
	}
	u := hostping.Utilisation{GPUs: map[string]float64{}, Links: map[string]float64{}}
	noteGPUs(&u, twoSockets(), gpus, readGPUTraffic(text(t, "dmon.txt")))
	if len(u.GPUs) != 2 || u.GPUs["gpu0"] != 0.93 || u.GPUs["gpu1"] != 0 {
		t.Errorf("use %v", u.GPUs)
	}
	if len(u.Links) != 2 || math.Abs(u.Links["g0"]-0.4) > 0.001 || u.Links["g1"] != 0 {
		t.Errorf("links %v, want 12.6 of 31.5 GB/s", u.Links)
	}
	for _, bad := range []string{"", "No devices were found\n", "x, 1, 1, 1\n"} {
		if got, err := readGPUs(bad); err == nil {
			t.Errorf("%q: %v", bad, got)
		}
	}
}

type stats map[string]uint64

func (s stats) Stats(string) (map[string]uint64, error) {
	if s == nil {
		return nil, errors.New("no statistics")
	}
	return s, nil
}

// sysfs of an RNIC with one port.
func sysfs(t *testing.T, sent, received, dropped int) string {
	t.Helper()
	root := t.TempDir()
	port := filepath.Join(root, "class/infiniband/mlx5_0/ports/1")
	for file, content := range map[string]string{"counters/port_xmit_data": fmt.Sprint(sent), "counters/port_rcv_data": fmt.Sprint(received), "hw_counters/out_of_buffer": fmt.Sprint(dropped),
		"rate": "100 Gb/sec (4X EDR)", "gid_attrs/ndevs/0": "eth0"} {
		path := filepath.Join(port, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// In ten seconds 12.5 GB are sent, 10% of what 100 Gb/s allow, and 3.1% of the time is paused.
func TestRNICs(t *testing.T) {
	at := time.Unix(1000, 0)
	read := func(root string, s Stats, at time.Time) Reading {
		r := RNICs{Root: root, Stats: s, Now: func() time.Time { return at }}
		got, err := r.Read("mlx5_0")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	before := read(sysfs(t, 1000, 1000, 7), stats{"tx_prio3_pause_duration": 1000, "tx_prio0_pause_duration": 900, "tx_global_pause_duration": 5, "rx_discards_phy": 1}, at)
	after := read(sysfs(t, 1000+12_500_000_000/4, 1000+1, 9), stats{"tx_prio3_pause_duration": 311_000, "tx_prio0_pause_duration": 900, "tx_global_pause_duration": 5, "rx_discards_phy": 2}, at.Add(10*time.Second))
	c := after.Since(before)
	if math.Abs(c.Share-0.1) > 1e-6 || math.Abs(c.PauseShare-0.031) > 1e-6 || c.Drops != 3 {
		t.Errorf("%+v", c)
	}
	if c := before.Since(after); c.Share != -1 || c.PauseShare != 0 || c.Drops != 0 {
		t.Errorf("backwards: %+v", c)
	}
	reset := read(sysfs(t, 1, 1, 0), nil, at.Add(20*time.Second)).Since(after)
	if reset.Share != -1 || reset.PauseShare != 0 || reset.Drops != 0 {
		t.Errorf("after a reset: %+v", reset)
	}
	r := RNICs{Root: t.TempDir(), Now: time.Now}
	for _, device := range []string{"mlx5_0", "", "../x", "."} {
		if got, err := r.Read(device); err == nil {
			t.Errorf("%q: %+v", device, got)
		}
	}
}

// A missing or failing tool is reported, with the results of the others.
func TestSource(t *testing.T) {
	cfg := DefaultConfig()
	cfg.Window, cfg.MemoryGBps = time.Millisecond, 200
	cfg.PCMMemory = []string{"cat", "testdata/pcm-memory.csv"}
	cfg.UProf = []string{"no-such-tool"}
	cfg.NvidiaSMI = []string{"false"}
	now := time.Unix(1000, 0)
	s := New(cfg, twoSockets(), &RNICs{Root: sysfs(t, 0, 0, 0), Now: func() time.Time { now = now.Add(time.Second); return now }})
	u, err := s.Read(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no-such-tool") || !strings.Contains(err.Error(), "false on this host") {
		t.Errorf("error %v", err)
	}
	if math.Abs(u.Links["m0"]-0.36) > 1e-9 || u.RNICs["mlx5_0"] != 0 || len(u.RNICs) != 1 {
		t.Errorf("%+v", u)
	}
}
