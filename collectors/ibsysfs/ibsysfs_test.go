package ibsysfs_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/giverny/giverny/collectors/collectortest"
	"github.com/giverny/giverny/collectors/ibsysfs"
	"github.com/giverny/giverny/internal/test/repo"
	"github.com/giverny/giverny/schema"
)

// extract unpacks a fixture and returns the folder that root names in it.
func extract(t *testing.T, root string, fixture ...string) string {
	t.Helper()
	f, err := os.Open(repo.Fixture(t, fixture...))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unzipped, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for archive := tar.NewReader(unzipped); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(dir, root)
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o755)
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, path)
		case tar.TypeReg:
			var content []byte
			if content, err = io.ReadAll(archive); err == nil {
				err = os.WriteFile(path, content, 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

const h100Root = "components/accelerator/nvidia/infiniband/class/testdata/sys-class-infiniband-h100.0"

func h100(t *testing.T) string { return extract(t, h100Root, "counters", "sysfs-h100.tar.gz") }

func newCollector(t *testing.T, root string, edit func(*ibsysfs.Config)) *ibsysfs.Collector {
	t.Helper()
	cfg := ibsysfs.DefaultConfig("a08-p1-dgx-04-c01")
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

func TestReadsAnH100Host(t *testing.T) {
	batches := collectortest.Poll(t, newCollector(t, h100(t), nil), 1)
	if len(batches) != 2 || batches[0].Rows() != 8 || batches[1].Rows() != 1 {
		t.Fatalf("%d batches; want one of the 8 InfiniBand ports and one of the Ethernet bond", len(batches))
	}
	got := collectortest.Readings(batches)[schema.PortName{Device: "a08-p1-dgx-04-c01 mlx5_0", Port: "1"}]
	for name, want := range map[string]uint64{
		"ib.port_xmit_data":                  230442669431839,
		"ib.port_rcv_data":                   230539874932483,
		"ib.port_xmit_packets":               315487941081,
		"ib.port_xmit_wait_32":               2489603687,
		"ib.excessive_buffer_overrun_errors": 15,
		"ib.VL15_dropped":                    0,
		"hw.rx_write_requests":               3809045607,
		"hw.roce_adp_retrans":                3,
		ibsysfs.StateColumn:                  4,
		ibsysfs.RateColumn:                   400_000,
	} {
		if v, read := got[name]; !read || v != want {
			t.Errorf("%s = %d (%v), want %d", name, v, read, want)
		}
	}
	if len(got) != 2+21+25 {
		t.Errorf("%d counters, want 48: 21 counters, 26 hw_counters without lifespan, state and rate", len(got))
	}
	for name := range got {
		if _, known := schema.LookupCounter(name); !known {
			t.Errorf("the schema does not know %s", name)
		}
	}
}

// Five recordings of two soft-RoCE devices under load, 0.46 s apart.
func TestReadsSoftRoCEOverTime(t *testing.T) {
	root := extract(t, "", "counters", "rxe", "sysfs-rxe.tar.gz")
	var sent []uint64
	for _, instant := range []string{"0", "1", "2", "3", "4"} {
		batches := collectortest.Poll(t, newCollector(t, filepath.Join(root, "series", instant, "class", "infiniband"), nil), 1)
		readings := collectortest.Readings(batches)
		if len(readings) != 2 {
			t.Fatalf("instant %s: ports %v", instant, readings)
		}
		row := readings[schema.PortName{Device: "a08-p1-dgx-04-c01 rxeA", Port: "1"}]
		if len(row) != 15 {
			t.Errorf("instant %s: %d counters, want the 15 of rxe", instant, len(row))
		}
		if _, read := row["ib.port_xmit_data"]; read {
			t.Error("rxe has no counters folder, yet one was read")
		}
		sent = append(sent, row["rxe.sent_pkts"])
	}
	for i, want := range []uint64{22225, 23812, 25496, 26916, 28297} {
		if sent[i] != want {
			t.Errorf("rxe.sent_pkts was %v", sent)
			break
		}
	}
}

func TestIdentify(t *testing.T) {
	rxe := filepath.Join(extract(t, "", "counters", "rxe", "sysfs-rxe.tar.gz"), "loaded", "class", "infiniband")
	described := h100(t)
	write(t, "a08-p1-dgx-04-c01 HCA-5\n", described, "mlx5_5", "node_desc")
	write(t, "0c42:a103:0030:0050\n", described, "mlx5_5", "node_guid")
	bond := filepath.Join(described, "mlx5_bond_0", "ports", "1", "gid_attrs", "ndevs", "0")
	write(t, "bond0\n", bond)
	for _, c := range []struct {
		name, root string
		identify   ibsysfs.Identify
		want       schema.PortName
	}{
		{"description", described, ibsysfs.Description, schema.PortName{Device: "a08-p1-dgx-04-c01 HCA-5", Port: "1"}},
		{"no description", described, ibsysfs.Description, schema.PortName{Device: "a08-p1-dgx-04-c01 mlx5_4", Port: "1"}},
		{"guid", described, ibsysfs.GUID, schema.PortName{Device: "0c42a10300300050", Port: "1"}},
		{"no guid", described, ibsysfs.GUID, schema.PortName{Device: "a08-p1-dgx-04-c01 mlx5_4", Port: "1"}},
		{"hostname, InfiniBand", described, ibsysfs.Hostname, schema.PortName{Device: "a08-p1-dgx-04-c01", Port: "mlx5_5/1"}},
		{"hostname, Ethernet", described, ibsysfs.Hostname, schema.PortName{Device: "a08-p1-dgx-04-c01", Port: "bond0"}},
		{"both are called rxe", rxe, ibsysfs.Description, schema.PortName{Device: "30581bfffebd9732", Port: "1"}},
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

// Without the extended counters' files a data counter goes as 32-bit, until it
// shows that it is not.
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

// What a file may hold or answer instead of a number costs that counter alone.
func TestOneFileCostsOneCounter(t *testing.T) {
	root := h100(t)
	counters := filepath.Join(root, "mlx5_0", "ports", "1", "counters")
	write(t, "N/A (no PMA)\n", counters, "symbol_error")
	write(t, "plenty\n", counters, "link_downed")
	write(t, "", counters, "port_rcv_errors")
	failing := filepath.Join(counters, "VL15_dropped")
	if err := errors.Join(os.Remove(failing), os.Symlink("/proc/self/mem", failing)); err != nil { // reads of it give EIO
		t.Fatal(err)
	}
	readings := collectortest.Read(t, newCollector(t, root, nil))
	row := readings[schema.PortName{Device: "a08-p1-dgx-04-c01 mlx5_0", Port: "1"}]
	if len(row) != 48-4 {
		t.Errorf("%d counters of 48 are left, want 44", len(row))
	}
	for _, name := range []string{"ib.symbol_error", "ib.link_downed", "ib.port_rcv_errors", "ib.VL15_dropped"} {
		if v, read := row[name]; read {
			t.Errorf("%s = %d, want none", name, v)
		}
	}
}

func TestPortThatIsDownIsFlagged(t *testing.T) {
	root := h100(t)
	write(t, "1: DOWN\n", root, "mlx5_0", "ports", "1", "state")
	row := collectortest.Read(t, newCollector(t, root, nil))[schema.PortName{Device: "a08-p1-dgx-04-c01 mlx5_0", Port: "1"}]
	if row[ibsysfs.StateColumn] != 1 || len(row) != 48 {
		t.Errorf("state %d, %d counters", row[ibsysfs.StateColumn], len(row))
	}
}

// A file that blocks for ever, as a register of a dying adapter may, holds the
// goroutine that reads it: the others are read poll after poll.
func TestHungFileCostsItsDevice(t *testing.T) {
	leak := goleak.IgnoreCurrent()
	root := h100(t)
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
	if rows["a08-p1-dgx-04-c01 mlx5_0"] < 3 || rows["a08-p1-dgx-04-c01 mlx5_1"] != 0 || len(rows) != 8 {
		t.Errorf("rows per device: %v", rows)
	}
	if stuck != 1 {
		t.Errorf("%v devices stuck, want 1", stuck)
	}
	w, err := os.OpenFile(hung, os.O_WRONLY, 0) // the reader comes back
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
	c := newCollector(t, h100(t), func(c *ibsysfs.Config) { c.Devices = []string{"mlx5_[0-4]"} })
	if devices, err := c.Devices(t.Context()); err != nil || len(devices) != 3 {
		t.Errorf("%d devices match, want mlx5_0, mlx5_1 and mlx5_4 (%v)", len(devices), err)
	}
}

func TestConformance(t *testing.T) {
	collectortest.Run(t, func(t *testing.T) collectortest.Fixture {
		root := h100(t)
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
			AbsentAt: schema.PortName{Device: "a08-p1-dgx-04-c01 mlx5_4", Port: "1"},
		}
	})
}
