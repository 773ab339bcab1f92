package ethtool_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/collectors/collectortest"
	"github.com/giverny/giverny/collectors/ethtool"
	"github.com/giverny/giverny/internal/test/repo"
	"github.com/giverny/giverny/schema"
)

// drivers are those of the dumps in testdata and of the recorded ones.
var drivers = []string{"mlx5_core", "bnxt_en", "ice", "e1000e"}

func sample(driver string) string { return filepath.Join("testdata", driver+".txt") }

func dump(t testing.TB, path string) []ethtool.Stat {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	driver := strings.TrimSuffix(filepath.Base(path), ".txt")
	stats, err := ethtool.ReadDump(f, ethtool.Family(driver))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return stats
}

// dumpCase is the expected content of a driver's dump.
type dumpCase struct {
	driver       string
	stats, known int // in the dump; of these, in the schema
	first, last  string
}

func TestReadDump(t *testing.T) {
	for _, c := range []dumpCase{
		{"mlx5_core", 18, 11, "mlx5.rx_packets 91000231", "mlx5.tx1_xmit_more 8"},
		{"bnxt_en", 9, 4, "bnxt.[0]: rx_ucast_packets 5001", "bnxt.tx_packets_pri7 0"},
		{"ice", 7, 5, "ice.rx_unicast 40001", "ice.rx_priority_7_xoff.nic 0"},
		{"e1000e", 3, 0, "e1000e.rx_packets 0", "e1000e.tx_hwtstamp_skipped 0"},
	} {
		c.check(t, dump(t, sample(c.driver)))
	}
}

func TestReadRecordedDump(t *testing.T) {
	for _, c := range []dumpCase{
		{"mlx5_core", 751, 27, "mlx5.rx_packets 845320277", "mlx5.tx15_xmit_more 5530"},
		{"bnxt_en", 499, 58, "bnxt.[0]: rx_ucast_packets 10198513532", "bnxt.tx_packets_pri7 0"},
		{"ice", 602, 40, "ice.rx_unicast 12117448", "ice.rx_priority_7_xoff.nic 0"},
		{"e1000e", 53, 0, "e1000e.rx_packets 0", "e1000e.tx_hwtstamp_skipped 0"},
	} {
		c.check(t, dump(t, repo.Fixture(t, "counters", "ethtool", c.driver+".txt")))
	}
}

func (c *dumpCase) check(t *testing.T, stats []ethtool.Stat) {
	t.Helper()
	known := 0
	for _, s := range stats {
		if _, ok := schema.LookupCounter(s.Name); ok {
			known++
		}
	}
	show := func(s ethtool.Stat) string { return fmt.Sprint(s.Name, " ", s.Value) }
	if len(stats) != c.stats || known != c.known || show(stats[0]) != c.first || show(stats[len(stats)-1]) != c.last {
		t.Errorf("%s: %d statistics from %s to %s, %d known; want %+v", c.driver, len(stats), show(stats[0]), show(stats[len(stats)-1]), known, *c)
	}
}

func TestReadDumpRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "no statistics",
		"NIC statistics:\nno stats available": "no statistics",
		"rx_bytes: 1\nrx_bytes 2\n":           "line 2",
		"rx_bytes: 1\nrx_bytes: -2\n":         "line 2",
		"a: 1\nb: 2\na: 3\n":                  "line 3: mlx5.a is already on line 1",
		"a: 18446744073709551616\n":           "line 1",
		"NIC statistics:\n     a: 1\nNIC statistics:\n     a: 1\n": "line 3",
		strings.Repeat(" ", 5<<20):                                 "more than",
	} {
		_, err := ethtool.ReadDump(strings.NewReader(text), "mlx5")
		if !errors.Is(err, collectors.ErrMalformed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

func FuzzReadDump(f *testing.F) {
	for _, driver := range drivers {
		text, err := os.ReadFile(sample(driver))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		stats, err := ethtool.ReadDump(bytes.NewReader(text), "x")
		if err != nil {
			return
		}
		var again bytes.Buffer // printed in ethtool's format, it parses to the same
		again.WriteString("NIC statistics:\n")
		for _, s := range stats {
			fmt.Fprintf(&again, "     %s: %d\n", strings.TrimPrefix(s.Name, "x."), s.Value)
		}
		if back, err := ethtool.ReadDump(&again, "x"); err != nil || !slices.Equal(back, stats) {
			t.Errorf("%v, then %v (%v)", stats, back, err)
		}
	})
}

// fakeKernel returns the statistics of dumps.
type fakeKernel struct {
	drivers map[string]string // by interface
	stats   map[string][]ethtool.Stat
	faults  map[string]error
}

func (k *fakeKernel) Interfaces() (list []net.Interface, err error) {
	for name := range k.drivers {
		list = append(list, net.Interface{Name: name})
	}
	slices.SortFunc(list, func(a, b net.Interface) int { return strings.Compare(a.Name, b.Name) })
	for i := range list {
		list[i].Index = i + 1
	}
	return list, nil
}

func (k *fakeKernel) DriverName(name string) (string, error) { return k.drivers[name], k.faults[name] }

func (k *fakeKernel) Stats(name string) (map[string]uint64, error) {
	stats := map[string]uint64{}
	for _, s := range k.stats[name] {
		_, vendor, _ := strings.Cut(s.Name, ".")
		stats[vendor] = s.Value
	}
	return stats, k.faults[name]
}

func fromDumps(t *testing.T) *fakeKernel {
	k := &fakeKernel{drivers: map[string]string{"lo": ""}, stats: map[string][]ethtool.Stat{}, faults: map[string]error{"lo": syscall.EOPNOTSUPP}}
	for i, driver := range drivers {
		name := fmt.Sprint("eth", i)
		k.drivers[name], k.stats[name] = driver, dump(t, sample(driver))
	}
	return k
}

func newCollector(t *testing.T, k ethtool.Kernel, edit func(*ethtool.Config)) *ethtool.Collector {
	t.Helper()
	cfg := ethtool.DefaultConfig()
	cfg.Hostname = "node7"
	if edit != nil {
		edit(&cfg)
	}
	c, err := ethtool.New(cfg, k)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// An interface that has had statistics is read again after its driver said that it has none.
func TestADriverThatIsReset(t *testing.T) {
	k := fromDumps(t)
	c := newCollector(t, k, nil)
	of := func(name string) (columns map[string]uint64) {
		return collectortest.Read(t, c)[schema.PortName{Device: "node7", Port: name}]
	}
	before := len(of("eth0"))
	k.faults["eth0"] = syscall.EOPNOTSUPP
	if got := of("eth0"); len(got) != 0 {
		t.Errorf("%v of an interface without statistics", got)
	}
	delete(k.faults, "eth0")
	if got := of("eth0"); len(got) != before {
		t.Errorf("after the reset: %d counters, before: %d", len(got), before)
	}
}

func TestKeepsWhatTheSchemaKnowsAndExtras(t *testing.T) {
	c := newCollector(t, fromDumps(t), func(c *ethtool.Config) { c.Extra = []string{"e1000e.*", "mlx5.rx_corrected_bits_phy"} })
	batches := collectortest.Poll(t, c, 2)
	if len(batches) != 8 {
		t.Errorf("%d batches in two polls, want one a driver and poll", len(batches))
	}
	for i := range 4 { // the columns keep their order
		for k, column := range batches[i].Columns {
			if batches[i+4].Columns[k].Name != column.Name {
				t.Fatalf("column %d is %s, then %s", k, column.Name, batches[i+4].Columns[k].Name)
			}
		}
	}
	readings := collectortest.Readings(batches)
	for port, wants := range map[string]map[string]uint64{
		"eth0": {"mlx5.rx_packets_phy": 91000555, "mlx5.rx_corrected_bits_phy": 3},
		"eth1": {"bnxt.rx_bytes": 3141592653589},
		"eth2": {"ice.rx_bytes.nic": 500600700, "ice.tx_bytes.nic": 90800700600},
		"eth3": {"e1000e.tx_packets": 21},
	} {
		row := readings[schema.PortName{Device: "node7", Port: port}]
		for name, want := range wants {
			if v, read := row[name]; !read || v != want {
				t.Errorf("%s: %s = %d (%v), want %d", port, name, v, read, want)
			}
		}
	}
}

func TestSelectsInterfaces(t *testing.T) {
	c := newCollector(t, fromDumps(t), func(c *ethtool.Config) { c.Interfaces, c.Exclude = []string{"eth[12]", "lo"}, []string{"eth2"} })
	for poll, want := range []string{"[eth1 lo]", "[eth1]"} { // lo has reported that it has no statistics
		devices, err := c.Devices(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, d := range devices {
			names = append(names, d.Name())
			if err := d.Read(t.Context(), &collectors.Reading{}); d.Name() == "lo" && collectors.ReasonOf(err) != collectors.Unsupported {
				t.Errorf("lo: %v", err)
			}
		}
		if got := fmt.Sprint(names); got != want {
			t.Errorf("poll %d lists %s, want %s", poll, got, want)
		}
	}
}

func TestConfig(t *testing.T) {
	_, err := ethtool.New(ethtool.Config{Interfaces: []string{"["}, Exclude: []string{"["}, Extra: []string{"["}}, &fakeKernel{})
	for _, key := range []string{"interfaces", "exclude", "extra"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("the error does not name %s: %v", key, err)
		}
	}
}

func TestConformance(t *testing.T) {
	collectortest.Run(t, func(t *testing.T) collectortest.Fixture {
		k := fromDumps(t)
		return collectortest.Fixture{
			Collector: newCollector(t, k, nil),
			Break:     func(*testing.T) { k.faults["eth1"] = syscall.EIO },
			Broken:    "eth1",
			Absent:    "bnxt.rx_bytes",
			AbsentAt:  schema.PortName{Device: "node7", Port: "eth0"},
		}
	})
}

// The machine's own loopback has no statistics; a missing interface is a different
// error.
func TestLinuxTellsMuteFromGone(t *testing.T) {
	k, err := ethtool.OpenLinux()
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	for name, want := range map[string]collectors.Reason{"lo": collectors.Unsupported, "nosuch0": collectors.Gone} {
		if _, err := k.Stats(name); collectors.ReasonOf(err) != want {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	interfaces, err := k.Interfaces()
	if err != nil || !slices.ContainsFunc(interfaces, func(i net.Interface) bool { return i.Name == "lo" }) {
		t.Errorf("%v, %v: lo is missing", interfaces, err)
	}
}
