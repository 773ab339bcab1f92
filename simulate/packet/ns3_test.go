package packet

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/repo"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// ns3Config is the machine of the recorded ns-3 runs, the public RDMA simulator
// of HPCC (Li et al., SIGCOMM 2019) as Vedrfolnir and Hawkeye use it. Packets of
// 1300 bytes have 48 bytes of headers (Ethernet 14, IPv4 20, UDP 8, sequence 6)
// and are acknowledged one by one with 60 bytes, in their own priority. DCQCN
// marks from 100 to 400 KB with up to 0.2 at 25 Gb/s; its other values are those
// of Hawkeye's released configuration: alpha every 1 us, cuts every 4 us,
// increases every 900 us, one step of fast recovery, 50 and 100 Mb/s, at least 100
// Mb/s, the target kept by cuts in a row, and the window of the fabric's longest
// round trip (44 us of cables, 1300 bytes per hop) times the rate. PFC pauses a
// port's priority where its share of the buffer is full:
//
//	(1024000 - headroom 112500 - reserve 16384 - shared)/8 + 4096 bytes
//
// which one busy port alone reaches at about 103 KB; it resumes 3 KB lower. The
// recordings' cables are 3 us, and 5 us at the core, which Config cannot tell
// apart; 4 us more on a path of 14 ms are below what is compared.
func ns3Config() Config {
	c := DefaultConfig()
	c.LinkSpeed, c.CableNanos = 3.125, 3000
	c.SwitchNanos, c.StagesIncluded, c.StoreAndForward, c.OutputQueued = 0, true, true, true
	c.PacketBytes, c.HeaderBytes, c.AckBytes, c.ControlBytes = 1300, 48, 60, 60
	c.DMASpeed, c.ActivePuts, c.NICBufferBytes = 1e6, 64, 1348 // a NIC whose memory is no bottleneck, and turns among queue pairs
	c.FlowControl, c.BufferBytes, c.XoffBytes, c.XonBytes, c.PauseNanos = PFC, 1<<20, 103_000, 100_000, 0
	c.WindowBytes = 145_300
	c.Rate = RateConfig{Enabled: true, KminBytes: 100_000, KmaxBytes: 400_000, Pmax: 0.2, NotifyMicros: 0, Gain: 1.0 / 256,
		AlphaMicros: 1, CutMicros: 4, KeepTarget: true, PerTransfer: true, TimerMicros: 900, FastSteps: 1, AdditiveGbps: 0.05, HyperGbps: 0.1, MinGbps: 0.1}
	return c
}

// ns3Paths are the switches between hosts in the recordings, ECMP's choices by
// the hash of addresses and ports: data as the switches' telemetry has them,
// acknowledgements by the same hash.
var ns3Paths = map[[2]int][2][]int{
	{13, 14}: {{0, 5, 1}, {1, 5, 0}},
	{15, 16}: {{1, 4, 8, 6, 2}, {2, 7, 10, 5, 1}},
	{17, 18}: {{2, 6, 3}, {3, 7, 2}},
	{19, 12}: {{3, 7, 10, 5, 0}, {0, 4, 8, 6, 3}},
	{18, 14}: {{3, 7, 11, 5, 1}, {1, 5, 10, 7, 3}},
	{12, 15}: {{0, 5, 1}, {1, 5, 0}},
}

// ns3Run is a recorded run on our simulator.
type ns3Run struct {
	t     *testing.T
	sim   *Sim
	ids   map[int]topology.DeviceID
	sent  [8]int                  // steps that a rank has completed
	of    map[TransferID]int      // rank whose step it is
	flows map[int32]ns3Background // by timer
}

type ns3Background struct {
	from, to int
	bytes    int64
}

const (
	ns3FirstHost = 12
	ns3Steps     = 14 // 2(p-1) of a ring of 8
	ns3Chunk     = 40_000_000
	ns3Start     = 2.0 // s
)

func newNS3Run(t *testing.T, dir string) *ns3Run {
	r := &ns3Run{t: t, ids: map[int]topology.DeviceID{}, of: map[TransferID]int{}, flows: map[int32]ns3Background{}}
	b := topology.NewBuilder("ns3")
	lines := ns3Lines(t, filepath.Join(dir, "topology.txt"))
	var nodes, switches, links int
	ns3Scan(t, lines[0], &nodes, &switches, &links)
	for i := range nodes {
		d := topology.Device{Name: fmt.Sprint("n", i), Kind: topology.Switch}
		if i >= ns3FirstHost {
			d.Kind = topology.Host
		}
		r.ids[i] = b.Device(d)
	}
	ports := map[int]int{}
	for _, line := range lines[2 : 2+links] {
		var a, z int
		ns3Scan(t, line, &a, &z)
		ports[a]++
		ports[z]++
		b.Both(topology.Link{From: r.ids[a], To: r.ids[z], FromPort: fmt.Sprint(ports[a]), ToPort: fmt.Sprint(ports[z])})
	}
	g, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	if r.sim, err = New(g, ns3Config()); err != nil {
		t.Fatal(err)
	}
	for i, line := range ns3Lines(t, filepath.Join(dir, "flow.txt"))[1:] {
		if strings.TrimSpace(line) == "" {
			continue
		}
		var f ns3Background
		var class, port int
		var start float64
		ns3Scan(t, line, &f.from, &f.to, &class, &port, &f.bytes, &start)
		r.flows[int32(i)] = f
		if err := r.sim.Timer(Nanos((start-ns3Start)*1e9), int32(i)); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func ns3Lines(t *testing.T, path string) (lines []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

func ns3Scan(t *testing.T, line string, into ...any) {
	t.Helper()
	if _, err := fmt.Sscan(line, into...); err != nil {
		t.Fatalf("line %q: %v", line, err)
	}
}

func (r *ns3Run) post(from, to int, bytes int64) TransferID {
	var along Paths
	if via, ok := ns3Paths[[2]int{from, to}]; ok {
		along = Paths{r.path(from, via[0], to), r.path(to, via[1], from)}
	}
	id, err := r.sim.PostAlong(Request{From: r.ids[from], To: r.ids[to], Bytes: bytes}, along)
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func (r *ns3Run) path(from int, via []int, to int) (path []routing.Channel) {
	at := r.ids[from]
	for _, next := range append(via[:len(via):len(via)], to) {
		for _, ch := range r.sim.Channels().Out(at) {
			if _, end := r.sim.Channels().Ends(ch); end == r.ids[next] {
				path = append(path, ch)
			}
		}
		at = r.ids[next]
	}
	return path
}

// step posts a rank's next step once its last one, and the previous rank's one of the
// same step, are acknowledged.
func (r *ns3Run) step(rank int) {
	r.of[r.post(ns3FirstHost+rank, ns3FirstHost+(rank+1)%8, ns3Chunk)] = rank
}

// play runs the ring to its end and returns the makespan in ms.
func (r *ns3Run) play() float64 {
	for rank := range r.sent {
		r.step(rank)
	}
	last := Time(0)
	for {
		n, ok := r.sim.Next(Never)
		if !ok {
			return last.Nanoseconds() / 1e6
		}
		if n.Kind == Timed {
			f := r.flows[n.Timer]
			r.post(f.from, f.to, f.bytes)
		}
		rank, step := r.of[n.Transfer]
		if n.Kind != Completed || !step {
			continue
		}
		last = r.sim.Now()
		r.sent[rank]++
		// a rank waits for the one before it, and the next one for it
		if done := r.sent[rank]; done < ns3Steps && r.sent[(rank+7)%8] >= done {
			r.step(rank)
		}
		if next := (rank + 1) % 8; r.sent[next] == r.sent[rank] && r.sent[next] < ns3Steps {
			r.step(next)
		}
	}
}

// TestFirstStepOfARecordedRing: each rank's first step takes as long as in ns-3, to
// 0.2%: packets, headers, acknowledgements and cables are the same.
func TestFirstStepOfARecordedRing(t *testing.T) {
	dir := repo.Fixture(t, "collective", "vedrfolnir", "ring40_nobg")
	want := map[int]float64{}
	for _, line := range ns3Lines(t, filepath.Join(dir, "out", "fct.txt")) {
		var from, to, step, missing, before, sport, dport int
		var bytes int64
		var start, took float64
		ns3Scan(t, line, &from, &to, &step, &missing, &before, &sport, &dport, &bytes, &start, &took)
		if step == 1 {
			want[from-ns3FirstHost] = took
		}
	}
	if len(want) != 8 {
		t.Fatalf("%d first steps are recorded, want 8", len(want))
	}
	r := newNS3Run(t, dir)
	for rank := range r.sent {
		r.step(rank)
	}
	drain(r.sim)
	for id, rank := range r.of {
		got := r.sim.Times(id).Completed.Nanoseconds()
		near(t, fmt.Sprintf("first step of rank %d", rank), got, want[rank], 0.002*want[rank])
	}
}
