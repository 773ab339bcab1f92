package ibsysfs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/giverny/giverny/collectors/collectortest"
	"github.com/giverny/giverny/collectors/ibsysfs"
	"github.com/giverny/giverny/schema"
)

// The counters of a port as provided by mlx5, with the largest of the kernel's sets of
// files (get_counter_table): full extended counters.
var (
	counterFiles = strings.Fields("VL15_dropped excessive_buffer_overrun_errors link_downed link_error_recovery multicast_rcv_packets " +
		"multicast_xmit_packets port_rcv_data port_rcv_errors port_rcv_packets port_xmit_data port_xmit_discards port_xmit_packets " +
		"port_xmit_wait symbol_error unicast_rcv_packets unicast_xmit_packets")
	hardwareFiles = strings.Fields("duplicate_request implied_nak_seq_err lifespan local_ack_timeout_err out_of_buffer out_of_sequence " +
		"packet_seq_err rnr_nak_retry_err roce_adp_retrans rx_read_requests rx_write_requests")
)

// countersOfPort: the files above without lifespan, the state and the rate.
const countersOfPort = 16 + 10 + 2

// host creates the sysfs folder of a host with four InfiniBand adapters and an Ethernet
// bond. Every counter of an adapter has a distinct value, 1000*a+n for the n-th file of
// adapter a, with two exceptions.
func host(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for a, name := range []string{"mlx5_0", "mlx5_1", "mlx5_4", "mlx5_5", "mlx5_bond_0"} {
		port := filepath.Join(root, name, "ports", "1")
		layer, rate := "InfiniBand", "400 Gb/sec (4X NDR)"
		if name == "mlx5_bond_0" {
			layer, rate = "Ethernet", "25 Gb/sec (1X EDR)"
		}
		write(t, "MT4129\n", root, name, "hca_type")
		write(t, layer+"\n", port, "link_layer")
		write(t, rate+"\n", port, "rate")
		write(t, "4: ACTIVE\n", port, "state")
		for n, file := range counterFiles {
			write(t, fmt.Sprintln(1000*a+n), port, "counters", file)
		}
		for n, file := range hardwareFiles {
			write(t, fmt.Sprintln(1000*a+100+n), port, "hw_counters", file)
		}
	}
	write(t, "91827364554637\n", root, "mlx5_0", "ports", "1", "counters", "port_xmit_data")
	write(t, "4294967295\n", root, "mlx5_0", "ports", "1", "counters", "port_xmit_wait")
	return root
}

// softRoCE creates the folder of two soft-RoCE devices with the same description and
// only driver counters.
func softRoCE(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for a, name := range []string{"rxeA", "rxeB"} {
		write(t, "rxe\n", root, name, "node_desc")
		write(t, fmt.Sprintf("5054:00ff:fe00:%04x\n", a+1), root, name, "node_guid")
		write(t, "Ethernet\n", root, name, "ports", "1", "link_layer")
		for n, file := range []string{"sent_pkts", "rcvd_pkts", "out_of_seq_request", "lifespan"} {
			write(t, fmt.Sprintln(10*a+n), root, name, "ports", "1", "hw_counters", file)
		}
	}
	return root
}

func newCollector(t *testing.T, root string, edit func(*ibsysfs.Config)) *ibsysfs.Collector {
	t.Helper()
	cfg := ibsysfs.DefaultConfig()
	cfg.Hostname = "node7"
	cfg.Root = root
	if edit != nil {
		edit(&cfg)
	}
	c, err := ibsysfs.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func write(t *testing.T, content string, path ...string) {
	t.Helper()
	file := filepath.Join(path...)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestReadsAHost(t *testing.T) {
	batches := collectortest.Poll(t, newCollector(t, host(t), nil), 1)
	if len(batches) != 2 || batches[0].Rows() != 4 || batches[1].Rows() != 1 {
		t.Fatalf("%d batches; want one of the 4 InfiniBand ports and one of the Ethernet bond", len(batches))
	}
	got := collectortest.Readings(batches)[schema.PortName{Device: "node7 mlx5_0", Port: "1"}]
	for name, want := range map[string]uint64{
		"ib.port_xmit_data":                  91827364554637,
		"ib.port_rcv_data":                   6,
		"ib.port_xmit_wait_32":               4294967295,
		"ib.excessive_buffer_overrun_errors": 1,
		"ib.VL15_dropped":                    0,
		"hw.rx_write_requests":               110,
		"hw.roce_adp_retrans":                108,
		"ib.port_state":                      4,
		"ib.rate_megabits":                   400_000,
	} {
		if v, read := got[name]; !read || v != want {
			t.Errorf("%s = %d (%v), want %d", name, v, read, want)
		}
	}
	checkKnown(t, got, countersOfPort)
}

// checkKnown expects a number of counters of a port, all of them in the schema.
func checkKnown(t *testing.T, got map[string]uint64, count int) {
	t.Helper()
	if len(got) != count {
		t.Errorf("%d counters, want %d: the counters, the hw_counters without lifespan, state and rate", len(got), count)
	}
	for name := range got {
		if _, known := schema.LookupCounter(name); !known {
			t.Errorf("the schema does not know %s", name)
		}
	}
}

func TestReadsSoftRoCE(t *testing.T) {
	root := softRoCE(t)
	c := newCollector(t, root, func(cfg *ibsysfs.Config) { cfg.Identify = ibsysfs.Hostname })
	port := schema.PortName{Device: "node7", Port: "rxeA/1"}
	for _, sent := range []uint64{0, 1587, 3271} {
		write(t, fmt.Sprintln(sent), root, "rxeA", "ports", "1", "hw_counters", "sent_pkts")
		readings := collectortest.Read(t, c)
		if len(readings) != 2 || len(readings[port]) != 3 || readings[port]["rxe.sent_pkts"] != sent {
			t.Errorf("ports %v; want two, with the three counters of rxe and %d sent", readings, sent)
		}
	}
}

func TestIdentify(t *testing.T) {
	rxe, described := softRoCE(t), host(t)
	write(t, "node7 HCA-5\n", described, "mlx5_5", "node_desc")
	write(t, "0c42:a103:0030:0050\n", described, "mlx5_5", "node_guid")
	bond := filepath.Join(described, "mlx5_bond_0", "ports", "1", "gid_attrs", "ndevs", "0")
	write(t, "bond0\n", bond)
	for _, c := range []struct {
		name, root string
		identify   ibsysfs.Identify
		want       schema.PortName
	}{
		{"description", described, ibsysfs.Description, schema.PortName{Device: "node7 HCA-5", Port: "1"}},
		{"no description", described, ibsysfs.Description, schema.PortName{Device: "node7 mlx5_4", Port: "1"}},
		{"guid", described, ibsysfs.GUID, schema.PortName{Device: "0c42a10300300050", Port: "1"}},
		{"no guid", described, ibsysfs.GUID, schema.PortName{Device: "node7 mlx5_4", Port: "1"}},
		{"hostname, InfiniBand", described, ibsysfs.Hostname, schema.PortName{Device: "node7", Port: "mlx5_5/1"}},
		{"hostname, Ethernet", described, ibsysfs.Hostname, schema.PortName{Device: "node7", Port: "bond0"}},
		{"both are called rxe", rxe, ibsysfs.Description, schema.PortName{Device: "505400fffe000001", Port: "1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			readings := collectortest.Read(t, newCollector(t, c.root, func(cfg *ibsysfs.Config) { cfg.Identify = c.identify }))
			if len(readings[c.want]) == 0 {
				t.Errorf("no port %v among %v", c.want, readings)
			}
		})
	}
}

func TestFamilyFollowsTheDriver(t *testing.T) {
	for driver, want := range map[string]string{"mlx5_core": "hw.", "bnxt_en": "bnxt_re.", "ice": "irdma.", "erdma": "erdma.", "": "rdma."} {
		root := t.TempDir()
		write(t, "5\n", root, "rocep1s0", "ports", "1", "hw_counters", "some_events")
		if driver != "" {
			link := filepath.Join(root, "rocep1s0", "device", "driver")
			if err := os.Mkdir(filepath.Dir(link), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("../../bus/pci/drivers/"+driver, link); err != nil {
				t.Fatal(err)
			}
		}
		for _, row := range collectortest.Read(t, newCollector(t, root, nil)) {
			if row[want+"some_events"] != 5 {
				t.Errorf("driver %q: %v, want %ssome_events", driver, row, want)
			}
		}
	}
}

// Without the files of extended counters a data counter counts as 32-bit, until it
// exceeds that.
func TestWidthOfDataCounters(t *testing.T) {
	root := t.TempDir()
	file := []string{root, "mlx4_0", "ports", "2", "counters", "port_xmit_data"}
	c := newCollector(t, root, nil)
	for _, step := range []struct{ content, want string }{
		{"7\n", "ib.port_xmit_data_32"},
		{"4294967295\n", "ib.port_xmit_data_32"},
		{"4294967296\n", "ib.port_xmit_data"},
		{"4294967295\n", "ib.port_xmit_data"},
	} {
		write(t, step.content, file...)
		for _, row := range collectortest.Read(t, c) {
			if _, read := row[step.want]; !read || len(row) != 1 {
				t.Errorf("%q was read as %v, want %s", step.content, row, step.want)
			}
		}
	}
}

// A file with something other than a number loses only its own counter.
func TestOneFileCostsOneCounter(t *testing.T) {
	root := host(t)
	counters := filepath.Join(root, "mlx5_0", "ports", "1", "counters")
	write(t, "N/A (no PMA)\n", counters, "symbol_error")
	write(t, "plenty\n", counters, "link_downed")
	write(t, "", counters, "port_rcv_errors")
	failing := filepath.Join(counters, "VL15_dropped")
	if err := errors.Join(os.Remove(failing), os.Symlink("/proc/self/mem", failing)); err != nil { // reading it gives EIO
		t.Fatal(err)
	}
	readings := collectortest.Read(t, newCollector(t, root, nil))
	row := readings[schema.PortName{Device: "node7 mlx5_0", Port: "1"}]
	if len(row) != countersOfPort-4 {
		t.Errorf("%d counters are left, want all but 4", len(row))
	}
	for _, name := range []string{"ib.symbol_error", "ib.link_downed", "ib.port_rcv_errors", "ib.VL15_dropped"} {
		if v, read := row[name]; read {
			t.Errorf("%s = %d, want none", name, v)
		}
	}
}

func TestPortThatIsDownIsFlagged(t *testing.T) {
	root := host(t)
	write(t, "1: DOWN\n", root, "mlx5_0", "ports", "1", "state")
	row := collectortest.Read(t, newCollector(t, root, nil))[schema.PortName{Device: "node7 mlx5_0", Port: "1"}]
	if row["ib.port_state"] != 1 || len(row) != countersOfPort {
		t.Errorf("state %d, %d counters", row["ib.port_state"], len(row))
	}
}

// A file that blocks forever, such as a register of a failing adapter, blocks only the
// goroutine that reads it: the others are read at every poll.
func TestHungFileCostsItsDevice(t *testing.T) {
	leak := goleak.IgnoreCurrent()
	root := host(t)
	hung := filepath.Join(root, "mlx5_1", "ports", "1", "counters", "port_xmit_wait")
	if err := errors.Join(os.Remove(hung), syscall.Mkfifo(hung, 0o600)); err != nil {
		t.Fatal(err)
	}
	c := newCollector(t, root, nil)
	batches, stuck := collectortest.PollHung(t, c, 3)
	rows := map[string]int{}
	for _, b := range batches {
		for _, p := range b.PortIndex {
			rows[b.Ports[p].Device]++
		}
	}
	if rows["node7 mlx5_0"] < 3 || rows["node7 mlx5_1"] != 0 || len(rows) != 4 {
		t.Errorf("rows per device: %v", rows)
	}
	if stuck != 1 {
		t.Errorf("%v devices stuck, want 1", stuck)
	}
	w, err := os.OpenFile(hung, os.O_WRONLY, 0) // unblocks the reader
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	goleak.VerifyNone(t, leak)
}

func TestHostWithoutAdapters(t *testing.T) {
	c := newCollector(t, filepath.Join(t.TempDir(), "absent"), nil)
	if devices, err := c.Devices(t.Context()); err != nil || len(devices) != 0 {
		t.Errorf("%v, %v", devices, err)
	}
	file := filepath.Join(t.TempDir(), "file")
	write(t, "", file)
	if _, err := newCollector(t, file, nil).Devices(t.Context()); err == nil {
		t.Error("a file instead of a folder is no error")
	}
}

func TestConfig(t *testing.T) {
	_, err := ibsysfs.New(ibsysfs.Config{Identify: "name", Devices: []string{"["}})
	for _, key := range []string{"root", "hostname", "identify", "devices"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("the error does not name %s: %v", key, err)
		}
	}
	c := newCollector(t, host(t), func(c *ibsysfs.Config) { c.Devices = []string{"mlx5_[0-4]"} })
	if devices, err := c.Devices(t.Context()); err != nil || len(devices) != 3 {
		t.Errorf("%d devices match, want mlx5_0, mlx5_1 and mlx5_4 (%v)", len(devices), err)
	}
}

func TestConformance(t *testing.T) {
	collectortest.Run(t, func(t *testing.T) collectortest.Fixture {
		root := host(t)
		if err := os.Remove(filepath.Join(root, "mlx5_4", "ports", "1", "counters", "port_xmit_wait")); err != nil {
			t.Fatal(err)
		}
		return collectortest.Fixture{
			Collector: newCollector(t, root, nil),
			Break: func(t *testing.T) {
				ports := filepath.Join(root, "mlx5_0", "ports")
				if err := os.RemoveAll(ports); err != nil {
					t.Fatal(err)
				}
				write(t, "", ports)
			},
			Broken:   "mlx5_0",
			Absent:   "ib.port_xmit_wait_32",
			AbsentAt: schema.PortName{Device: "node7 mlx5_4", Port: "1"},
		}
	})
}
