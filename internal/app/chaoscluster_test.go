//go:build integration

package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/test/apachekafka"
	"github.com/giverny/giverny/internal/test/chaos"
	"github.com/giverny/giverny/internal/test/proc"
	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/topology"
)

const (
	clusterAgents   = 4
	clusterTopology = "torus:4x4x4"
	clusterFabric   = "f"
)

// cluster is Apache Kafka, a store, an analyser and agents, each in its own process, with a proxy on each
// connection and a small file system for each process that stores something.
type cluster struct {
	t      *testing.T
	dir    string
	broker *apachekafka.Broker
	parts  map[string]*chaos.Part
	lines  map[string]*chaos.Proxy // by connection
	disks  map[string]*chaos.Disk  // by owner
	graphs []string                // the versions of the topology file
	config string                  // path

	steering sync.Mutex // held while control files are changed
}

// Names of the parts.
const (
	partBroker   = "broker"
	partStore    = "store"
	partAnalyser = "analyser"
)

func agentName(i int) string { return fmt.Sprintf("agent%d", i) }

func agentNames() (names []string) {
	for i := range clusterAgents {
		names = append(names, agentName(i))
	}
	return names
}

// startCluster returns once everything is running; the cluster ends with the test.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "chaos") // a socket path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			os.RemoveAll(dir)
		}
	})
	c := &cluster{t: t, dir: dir, parts: map[string]*chaos.Part{}, lines: map[string]*chaos.Proxy{}, disks: map[string]*chaos.Disk{}}
	t.Cleanup(c.close)
	c.makeDisks()
	c.broker = apachekafka.Start(t, apachekafka.Options{
		Properties: map[string]string{"log.dirs": filepath.Join(c.disks[partBroker].Dir, "data"), "log.segment.bytes": "4194304", "log.index.size.max.bytes": "65536"},
		Advertise: func(addr string) (string, error) {
			for _, who := range append(agentNames(), partAnalyser) {
				c.line(who+" and "+partBroker, "tcp", addr)
			}
			return c.lines[partAnalyser+" and "+partBroker].Addr(), nil
		}})
	broker := chaos.NewPart(partBroker, 20*time.Second, c.broker.Launch)
	broker.Adopt(c.broker.Process())
	c.parts[partBroker] = broker
	c.makeStore()
	c.makeGraphs()
	c.writeConfig()
	c.parts[partAnalyser] = chaos.NewPart(partAnalyser, 20*time.Second, func() (*proc.Process, error) {
		return c.child(partAnalyser, analyseCommand, c.config)
	})
	for i := range clusterAgents {
		c.makeAgent(i)
	}
	for _, part := range c.parts {
		if err := part.Start(); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func (c *cluster) close() {
	for name, part := range c.parts {
		if name != partBroker { // ends with the test
			part.Close()
		}
	}
	if b := c.parts[partBroker]; b != nil {
		b.Close()
	}
	for _, line := range c.lines {
		line.Close()
	}
	for _, disk := range c.disks {
		if err := disk.Close(); err != nil {
			c.t.Error(err)
		}
	}
}

// child starts this test binary as another process.
func (c *cluster) child(name string, args ...string) (*proc.Process, error) {
	return proc.Start(exec.Command(os.Args[0], args...), filepath.Join(c.dir, name+".log"))
}

func (c *cluster) makeDisks() {
	sizes := map[string]int64{partBroker: 512 << 20, partStore: 1 << 30}
	for _, name := range agentNames() {
		sizes[name] = 2 * chaosSpoolBytes
	}
	for name, size := range sizes {
		disk, err := chaos.NewDisk(filepath.Join(c.dir, "disk-"+name), size)
		if err != nil {
			c.t.Fatalf("%v; the walk fills disks, and needs the right to mount: run it as root", err)
		}
		c.disks[name] = disk
	}
}

func (c *cluster) line(between, network, addr string) {
	proxy, err := chaos.NewProxy(network, addr)
	if err != nil {
		c.t.Fatal(err)
	}
	if old := c.lines[between]; old != nil {
		old.Close()
	}
	c.lines[between] = proxy
}

const storeLine = partAnalyser + " and " + partStore

func (c *cluster) makeStore() {
	library, err := engine.FindLibrary("")
	if err != nil {
		c.t.Fatal(err)
	}
	socket := filepath.Join(c.dir, "store", "socket")
	c.parts[partStore] = chaos.NewPart(partStore, 20*time.Second, func() (*proc.Process, error) {
		return c.child(partStore, EngineCommand, "-library="+library, "-data="+filepath.Join(c.disks[partStore].Dir, "data"), "-socket="+socket)
	})
	c.line(storeLine, "unix", socket)
}

// makeGraphs creates versions of the topology file: the fabric, and the same with slower links.
func (c *cluster) makeGraphs() {
	g, err := topology.Parse(clusterFabric, clusterTopology)
	if err != nil {
		c.t.Fatal(err)
	}
	var text strings.Builder
	if err := topology.Write(&text, g); err != nil {
		c.t.Fatal(err)
	}
	links := strings.Index(text.String(), "links:\n") + len("links:\n")
	head, lines := text.String()[:links], strings.SplitAfter(strings.TrimSpace(text.String()[links:])+"\n", "\n")
	lines = lines[:len(lines)-1]
	for i, l := range lines {
		fields := strings.Split(l, ", ")
		fields[4] = "5e+09"
		if i%3 == 0 {
			lines[i] = strings.Join(fields, ", ")
		}
	}
	slices.Reverse(lines) // a process that starts with it numbers the links in reverse
	c.graphs = []string{text.String(), head + strings.Join(lines, "")}
	for i, text := range c.graphs {
		if _, _, err := topology.ReadYAML(strings.NewReader(text), "test", "", nil); err != nil {
			c.t.Fatalf("version %d of the topology: %v", i, err)
		}
	}
	if err := c.setGraph(0); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) topologyFile() string { return filepath.Join(c.dir, "topology.yaml") }

// hangupAge is the age from which a process handles SIGHUP; a younger one reads the file soon anyway.
const hangupAge = 10 * time.Second

// setGraph replaces the topology file, and signals the analyser if it is running.
func (c *cluster) setGraph(version int) error {
	path := c.topologyFile()
	if err := os.WriteFile(path+".new", []byte(c.graphs[version]), 0o600); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	if part := c.parts[partAnalyser]; part != nil && part.Age() > hangupAge {
		return part.Signal(syscall.SIGHUP)
	}
	return nil
}

// writeConfig writes the shared configuration of all processes: intervals of a second, otherwise the defaults.
func (c *cluster) writeConfig() {
	c.config = filepath.Join(c.dir, "giverny.yaml")
	text := fmt.Sprintf(`data_dir: %s
http: {listen: "127.0.0.1:0"}
fabrics:
- {name: %s, topology: %s, partition: 0, interval: 1s}
kafka: {embedded: false, brokers: ["%s"]}
store: {embedded: false, url: "%s"}
`, filepath.Join(c.dir, "data"), clusterFabric, c.topologyFile(), c.lines[partAnalyser+" and "+partBroker].Addr(), c.storeURL())
	if err := os.WriteFile(c.config, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) storeURL() string {
	return "http://default@" + c.lines[storeLine].Addr() + "/giverny?compress=none"
}

func (c *cluster) makeAgent(i int) {
	name := agentName(i)
	order := agentOrder{Name: name, Config: c.config, Topology: clusterTopology, Share: i, All: clusterAgents,
		Proxy: c.lines[name+" and "+partBroker].Addr(), Spool: c.disks[name].Dir, Journal: c.journal(name), Control: c.control(name)}
	text, err := json.Marshal(order)
	if err != nil {
		c.t.Fatal(err)
	}
	path := filepath.Join(c.dir, name+".json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.parts[name] = chaos.NewPart(name, 10*time.Second, func() (*proc.Process, error) { return c.child(name, agentCommand, path) })
}

func (c *cluster) journal(agent string) string { return filepath.Join(c.dir, agent+".journal") }
func (c *cluster) control(agent string) string { return filepath.Join(c.dir, agent+".control") }

// kinds are all faults of the cluster.
func (c *cluster) kinds() []chaos.Kind {
	var parts, disks []string
	for name := range c.parts {
		parts = append(parts, name)
	}
	for name := range c.disks {
		disks = append(disks, "disk of "+name)
	}
	var lines, agentLines []string
	for between := range c.lines {
		lines = append(lines, between)
		if strings.HasPrefix(between, "agent") {
			agentLines = append(agentLines, between)
		}
	}
	for _, list := range [][]string{parts, disks, lines, agentLines} {
		slices.Sort(list)
	}
	const s = time.Second
	part := func(target string) *chaos.Part { return c.parts[target] }
	bad := func(target string, l chaos.Line) chaos.Fault {
		return chaos.Bad{Between: target, Proxy: c.lines[target], Line: l}
	}
	return []chaos.Kind{
		{Name: "kill -9", Targets: parts, HoldMin: s / 2, HoldMax: 8 * s, New: func(_ *rand.Rand, target string) chaos.Fault { return chaos.Kill{Part: part(target)} }},
		{Name: "stop", Targets: parts, HoldMin: s / 2, HoldMax: 8 * s, New: func(_ *rand.Rand, target string) chaos.Fault { return chaos.Stop{Part: part(target)} }},
		{Name: "pause", Targets: parts, HoldMin: s, HoldMax: 20 * s, New: func(_ *rand.Rand, target string) chaos.Fault { return chaos.Pause{Part: part(target)} }},
		{Name: "network cut", Targets: lines, HoldMin: s, HoldMax: 20 * s, New: func(rng *rand.Rand, target string) chaos.Fault {
			cut := rng.IntN(2) == 0
			return bad(target, chaos.Line{Cut: cut, Hole: !cut})
		}},
		{Name: "network slow", Targets: append(agentLines, partAnalyser+" and "+partBroker), HoldMin: 2 * s, HoldMax: 20 * s, New: func(rng *rand.Rand, target string) chaos.Fault {
			return bad(target, chaos.Line{Delay: time.Duration(20+rng.IntN(1500)) * time.Millisecond})
		}},
		{Name: "store slow", Targets: []string{storeLine}, HoldMin: 5 * s, HoldMax: 20 * s, New: func(rng *rand.Rand, target string) chaos.Fault {
			return bad(target, chaos.Line{Delay: time.Duration(50+rng.IntN(500)) * time.Millisecond, BytesPerSecond: 64 << 10 << rng.IntN(5)})
		}},
		{Name: "disk full", Targets: disks, HoldMin: 2 * s, HoldMax: 15 * s, New: func(_ *rand.Rand, target string) chaos.Fault {
			return chaos.Full{Of: target, Disk: c.disks[strings.TrimPrefix(target, "disk of ")]}
		}},
		{Name: "clock jump", Targets: []string{"clocks"}, HoldMin: 2 * s, HoldMax: 20 * s, New: c.newClockJump},
		{Name: "tenfold load", Targets: []string{"load"}, HoldMin: 5 * s, HoldMax: 20 * s, New: func(*rand.Rand, string) chaos.Fault {
			return &steered{c: c, name: "ten times the readings", agents: agentNames(), set: control{Load: 10}}
		}},
		{Name: "topology change", Targets: []string{"topology"}, HoldMin: 3 * s, HoldMax: 30 * s, New: func(*rand.Rand, string) chaos.Fault { return otherGraph{c} }},
	}
}

// clockJumps are the steps of a clock, forward or back.
var clockJumps = []time.Duration{2 * time.Second, 7 * time.Second, 20 * time.Second, time.Minute, 10 * time.Minute, time.Hour, 26 * time.Hour, 400 * 24 * time.Hour, 10 * 365 * 24 * time.Hour}

func (c *cluster) newClockJump(rng *rand.Rand, _ string) chaos.Fault {
	by := clockJumps[rng.IntN(len(clockJumps))]
	if rng.IntN(2) == 0 {
		by = -by
	}
	agents, who := agentNames(), "all agents"
	if rng.IntN(2) == 0 {
		who = agents[rng.IntN(len(agents))]
		agents = []string{who}
	}
	return &steered{c: c, name: fmt.Sprintf("clock of %s by %v", who, by), agents: agents, set: control{ClockNanos: int64(by)}}
}

// steered is a fault that agents simulate according to their control files. Clock and load faults can overlap.
type steered struct {
	c      *cluster
	name   string
	agents []string
	set    control
}

func (f *steered) Name() string { return f.name }

func (f *steered) Inject(context.Context) error { return f.write(f.set) }

func (f *steered) Heal(context.Context) error {
	var none control
	return f.write(none)
}

// write changes the part of this fault and leaves the rest.
func (f *steered) write(to control) error {
	f.c.steering.Lock()
	defer f.c.steering.Unlock()
	var errs []error
	for _, agent := range f.agents {
		now := readControl(f.c.control(agent))
		if f.set.ClockNanos != 0 {
			now.ClockNanos = to.ClockNanos
		} else {
			now.Load = to.Load
		}
		errs = append(errs, writeControl(f.c.control(agent), now))
	}
	return errors.Join(errs...)
}

// otherGraph is the fault of another topology version, followed by the original one.
type otherGraph struct{ c *cluster }

func (f otherGraph) Name() string                 { return "topology file of another version" }
func (f otherGraph) Inject(context.Context) error { return f.c.setGraph(1) }
func (f otherGraph) Heal(context.Context) error   { return f.c.setGraph(0) }
