package ibsysfs_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/giverny/giverny/collectors/collectortest"
	"github.com/giverny/giverny/internal/test/repo"
	"github.com/giverny/giverny/schema"
)

// extract unpacks a recorded archive and returns the folder named root in it.
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

func TestReadsARecordedHost(t *testing.T) {
	root := extract(t, "components/accelerator/nvidia/infiniband/class/testdata/sys-class-infiniband-h100.0", "counters", "sysfs-h100.tar.gz")
	batches := collectortest.Poll(t, newCollector(t, root, nil), 1)
	if len(batches) != 2 || batches[0].Rows() != 8 || batches[1].Rows() != 1 {
		t.Fatalf("%d batches; want one of the 8 InfiniBand ports and one of the Ethernet bond", len(batches))
	}
	got := collectortest.Readings(batches)[schema.PortName{Device: "node7 mlx5_0", Port: "1"}]
	for name, want := range map[string]uint64{
		"ib.port_xmit_data":                  230442669431839,
		"ib.port_rcv_data":                   230539874932483,
		"ib.port_xmit_packets":               315487941081,
		"ib.port_xmit_wait_32":               2489603687,
		"ib.excessive_buffer_overrun_errors": 15,
		"ib.VL15_dropped":                    0,
		"hw.rx_write_requests":               3809045607,
		"hw.roce_adp_retrans":                3,
		"ib.port_state":                      4,
		"ib.rate_megabits":                   400_000,
	} {
		if v, read := got[name]; !read || v != want {
			t.Errorf("%s = %d (%v), want %d", name, v, read, want)
		}
	}
	checkKnown(t, got, 2+21+25)
}

// Five recordings of two soft-RoCE devices under load, 0.46 s apart.
func TestReadsRecordedSoftRoCE(t *testing.T) {
	root := extract(t, "", "counters", "rxe", "sysfs-rxe.tar.gz")
	var sent []uint64
	for _, instant := range []string{"0", "1", "2", "3", "4"} {
		batches := collectortest.Poll(t, newCollector(t, filepath.Join(root, "series", instant, "class", "infiniband"), nil), 1)
		readings := collectortest.Readings(batches)
		if len(readings) != 2 {
			t.Fatalf("instant %s: ports %v", instant, readings)
		}
		row := readings[schema.PortName{Device: "node7 rxeA", Port: "1"}]
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
