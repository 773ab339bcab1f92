//go:build rdma

package run_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/internal/test/rdmavm"
)

// A host is probed by perftest's tools over a real RDMA stack: a guest of two sockets, each with a memory node and an
// adapter (rdma_rxe) on a PCIe interface of its own, runs giverny hostping baseline and giverny hostping run. A third
// memory node that its description names and the machine lacks is unmeasured.
func TestHostpingOverSoftRoCE(t *testing.T) {
	g := rdmavm.Boot(t, rdmavm.Folder(t), 1, nil, "-smp", "2,sockets=2", "-m", "1280",
		"-object", "memory-backend-ram,id=m0,size=640M", "-object", "memory-backend-ram,id=m1,size=640M",
		"-numa", "node,nodeid=0,cpus=0,memdev=m0", "-numa", "node,nodeid=1,cpus=1,memdev=m1",
		"-device", "pxb-pcie,id=pxb0,bus_nr=64,bus=pcie.0,numa_node=0", "-device", "pcie-root-port,id=rp0,bus=pxb0,chassis=1",
		"-device", "pxb-pcie,id=pxb1,bus_nr=128,bus=pcie.0,numa_node=1", "-device", "pcie-root-port,id=rp1,bus=pxb1,chassis=2",
		"-netdev", "hubport,id=f0,hubid=0", "-device", "virtio-net-pci,bus=rp0,netdev=f0,mac=52:54:00:00:00:01,romfile=",
		"-netdev", "hubport,id=f1,hubid=1", "-device", "virtio-net-pci,bus=rp1,netdev=f1,mac=52:54:00:00:00:02,romfile=")
	binary := build(t) // while the guest boots
	g.Await(t)
	install(t, g, binary)
	must(t, g, "ip addr add 10.8.1.1/24 dev eth2 && ip link set eth2 up && rdma link add rxe1 type rxe netdev eth2")
	graph := describe(t, g)
	before := sent(t, g)
	// Both sides of a latency test spin. On a busy machine each turn may take a time slice (4 ms), or two: so few writes,
	// and a large message that takes longer than that.
	const probing = "--host /host.xml --prober perftest --writes 5 --probe-timeout 30s --timeout 100s"
	t.Logf("%s", must(t, g, "giverny hostping baseline "+probing+" --large-bytes 131072 --out /baseline.json"))
	var report hostping.Report
	for range 3 { // noise hides other pairs in each
		text := must(t, g, "giverny hostping run "+probing+" --baseline /baseline.json --json")
		t.Logf("%s", text)
		report = hostping.Report{}
		if err := json.Unmarshal(text, &report); err != nil {
			t.Fatal(err)
		}
		if len(report.Matrix) >= leastMeasured {
			break
		}
	}
	check(t, &graph, &report)
	for rnic, packets := range sent(t, g) {
		if packets-before[rnic] < 1000 {
			t.Errorf("%s sent %d packets in %d probes", rnic, packets-before[rnic], report.Probes)
		}
	}
}

// leastMeasured is how many of the six pairs one run must measure.
const leastMeasured = 3

// check: both memory nodes are measured from both adapters, except what the noise of emulated processors hides.
func check(t *testing.T, graph *hostping.Graph, report *hostping.Report) {
	t.Helper()
	measured := 0
	for _, c := range report.Matrix {
		if c.LatencyMicros <= 0 || c.Gbps <= 0 || c.Endpoint == "numa7" {
			t.Errorf("%+v", c)
		}
		measured++
	}
	if measured < leastMeasured || measured+len(report.Unmeasured) != len(graph.Paths) {
		t.Errorf("%d pairs measured, %d not: want %d of %d or more", measured, len(report.Unmeasured), leastMeasured, len(graph.Paths))
	}
	absent := slices.DeleteFunc(report.Unmeasured, func(u hostping.Unmeasured) bool { return u.Endpoint != "numa7" })
	if len(absent) != len(graph.RNICs) {
		t.Errorf("not measured: %+v; want numa7 of each adapter", report.Unmeasured)
	}
	for _, u := range absent {
		if !strings.HasPrefix(u.Reason, string(hostping.Invalid)) {
			t.Errorf("%s to %s: %q; want that it is not there", u.RNIC, u.Endpoint, u.Reason)
		}
	}
}

// build compiles giverny for the guest.
func build(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "giverny")
	if text, err := exec.Command("go", "build", "-o", path, "github.com/giverny/giverny/cmd/giverny").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return path
}

// install copies a program to the guest.
func install(t *testing.T, g *rdmavm.Guest, path string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	read, write := io.Pipe()
	go func() {
		z := gzip.NewWriter(write)
		_, err := io.Copy(z, file)
		write.CloseWithError(errors.Join(err, z.Close()))
	}()
	if text, err := g.Run(t.Context(), read, "gunzip >/bin/giverny && chmod 755 /bin/giverny"); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func must(t *testing.T, g *rdmavm.Guest, command string) []byte {
	t.Helper()
	text, err := g.Run(t.Context(), nil, command)
	if err != nil {
		t.Fatalf("%s: %v: %s", command, err, text)
	}
	return text
}

// describe writes lstopo's description of the guest to a file there. An rdma_rxe is not a PCI device: it is added
// next to its interface, where an RNIC's would be.
func describe(t *testing.T, g *rdmavm.Guest) hostping.Graph {
	t.Helper()
	xml := string(must(t, g, "lstopo-no-graphics --of xml"))
	for line := range strings.Lines(string(must(t, g, "cd /sys/class/infiniband && grep . */parent"))) {
		device, parent, _ := strings.Cut(strings.TrimSpace(line), "/parent:")
		at := regexp.MustCompile(`<object type="OSDev"[^>]* name="` + parent + `"`).FindStringIndex(xml)
		if at == nil {
			t.Fatalf("%s runs on %s, which lstopo does not name: %s", device, parent, xml)
		}
		xml = xml[:at[0]] + fmt.Sprintf("<object type=\"OSDev\" name=%q osdev_type=\"3\"/>", device) + xml[at[0]:]
	}
	xml = regexp.MustCompile(`<object type="NUMANode" os_index="0"`).ReplaceAllString(xml, `<object type="NUMANode" os_index="7"/>$0`)
	if text, err := g.Run(t.Context(), strings.NewReader(xml), "cat >/host.xml"); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	graph, err := hostping.ReadGraph("host.xml", []byte(xml), hostping.Hwloc)
	if err != nil {
		t.Fatal(err)
	}
	buses := slices.DeleteFunc(slices.Clone(graph.Links), func(l hostping.Link) bool { return l.Kind != hostping.InterSocket })
	if len(graph.RNICs) != 2 || len(graph.Endpoints) != 3 || len(buses) != 1 {
		t.Fatalf("%+v: want 2 adapters, 3 memory nodes and a bus between two sockets", graph)
	}
	return graph
}

// sent is how many packets each adapter has sent.
func sent(t *testing.T, g *rdmavm.Guest) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for line := range strings.Lines(string(must(t, g, "cd /sys/class/infiniband && grep . */ports/1/hw_counters/sent_pkts"))) {
		device, value, _ := strings.Cut(strings.TrimSpace(line), "/ports/1/hw_counters/sent_pkts:")
		n, err := strconv.Atoi(value)
		if err != nil {
			t.Fatal(err)
		}
		counts[device] = n
	}
	return counts
}
