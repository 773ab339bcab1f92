//go:build rdma

package run_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/collectors/collectortest"
	"github.com/giverny/giverny/collectors/ibsysfs"
	"github.com/giverny/giverny/internal/test/rdmavm"
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
	"github.com/giverny/giverny/search/run"
)

// A search of a few experiments with perftest between two guests that have a real
// RDMA stack, its counters read by ibsysfs too. Few, since their processors are emulated.
func TestSearchOverSoftRoCE(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), rdmavm.Limit)
	defer cancel()
	if !searchBetweenGuests(ctx, t) {
		t.Log("the link that QEMU makes between the guests is dead, as ping finds: once more, with others")
		if !searchBetweenGuests(ctx, t) {
			t.Fatal("the link between the guests is dead again")
		}
	}
}

// searchBetweenGuests boots two guests and searches. It returns false if they cannot
// reach each other at the end, which makes the result inconclusive.
func searchBetweenGuests(ctx context.Context, t *testing.T) (reached bool) {
	t.Helper()
	folder := rdmavm.Folder(t)
	cables := [2]*os.File{}
	cables[0], cables[1] = rdmavm.Cable(t)
	rig := engine.DefaultRig()
	rig.SSH = rdmavm.SSH(folder)
	rig.SampleSeconds, rig.Samples, rig.MaxQPs, rig.PerftestArgs, rig.Timeout = 2, 1, 4, []string{"-u", "18"}, 40*time.Second
	hosts, machines := make([]engine.RigHost, 2), make([]*rdmavm.Guest, 2)
	for i := range hosts {
		machines[i] = rdmavm.Boot(t, folder, i+1, cables[i], "-smp", "1", "-m", "384")
		defer machines[i].End()
		hosts[i] = engine.RigHost{SSH: machines[i].Destination, Address: fmt.Sprintf("10.8.0.%d", i+1), Device: "rxe0", DevicePort: 1}
	}
	for _, m := range machines {
		m.Await(t)
	}
	rig.Pairs = []engine.RigPair{{A: hosts[0], B: hosts[1]}}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	e, err := engine.NewPerftest(&rig, 0, log)
	if err != nil {
		t.Fatal(err)
	}
	before := packetsSent(t, machines[0], hosts[0].Address)
	o := run.Options{Engines: []engine.Engine{e}, Search: search.Config{Algorithm: search.Lift, Budget: 4, Seed: 1}, Log: filepath.Join(t.TempDir(), "search.log"), Logger: log,
		Restrict: restriction(t, "{transport: [RC_WRITE, RC_SEND, UD_SEND], sizes: {max: 4096}, wq_depth: {max: 128}, wqe_batch: {max: 8}, receive_batch: {max: 8}}")}
	summary, searchErr := run.Run(ctx, o)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if _, err := machines[0].Run(t.Context(), nil, "ping", "-c", "3", "-w", "20", hosts[1].Address); err != nil {
		t.Logf("the search: %+v, %v; ping: %v", summary, searchErr, err)
		return false
	}
	if searchErr != nil {
		t.Fatal(searchErr)
	}
	after := packetsSent(t, machines[0], hosts[0].Address)
	if summary.Experiments != 4 {
		t.Errorf("%+v; want 4 experiments", summary)
	}
	checkMeasured(t, o.Log, after-before)
	return true
}

// checkMeasured checks that traffic was measured, and that the engine's counters are
// part of those of ibsysfs.
func checkMeasured(t *testing.T, path string, packets uint64) {
	t.Helper()
	l, err := run.ReadLog(path)
	if err != nil {
		t.Fatal(err)
	}
	good, sent := 0, 0.
	for _, m := range l.Measurements {
		t.Logf("%s: %+v", m.Workload, m.Measurement)
		if m.Measurement.Status != search.OK {
			continue
		}
		good++
		if m.Measurement.Directions[0].Mpps <= 0 || m.Measurement.Counters["hw_counters/sent_pkts"] <= 0 {
			t.Errorf("nothing was sent: %+v", m.Measurement)
		}
		sent += 2 * m.Measurement.Counters["hw_counters/sent_pkts"] // of both hosts, in 2 s
	}
	if good < 3 {
		t.Errorf("%d good measurements of 4; want 3", good)
	}
	if rates := l.Header.Settings.Description.PacketRates; len(rates) != 3 {
		t.Errorf("calibrated %v; want 64, 256 and 1024 bytes", rates)
	}
	// The first host's share and the calibration's packets are not known separately:
	// ibsysfs must see there more than a tenth of the engine's count for both.
	if float64(packets) < sent/10 {
		t.Errorf("ibsysfs saw %d packets on one host, and the engine %.0f on both", packets, sent)
	}
}

// packetsSent returns the ibsysfs collector's count for a guest's adapter, from copied
// files.
func packetsSent(t *testing.T, machine *rdmavm.Guest, address string) (sent uint64) {
	t.Helper()
	const root = "/sys/class/infiniband/"
	text, err := machine.Run(t.Context(), nil, "grep", "-r", ".", root+"rxe0/node_guid", root+"rxe0/node_desc", root+"rxe0/ports/1/state", root+"rxe0/ports/1/rate",
		root+"rxe0/ports/1/link_layer", root+"rxe0/ports/1/hw_counters", root+"rxe0/ports/1/gid_attrs/ndevs/0")
	if err != nil && len(text) == 0 {
		t.Fatal(err)
	}
	copied := t.TempDir()
	for line := range strings.Lines(string(text)) {
		file, value, _ := strings.Cut(strings.TrimPrefix(line, root), ":")
		path := filepath.Join(copied, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(value), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cfg := ibsysfs.DefaultConfig()
	cfg.Hostname = address
	cfg.Root, cfg.Identify = copied, ibsysfs.Hostname
	collector, err := ibsysfs.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for port, values := range collectortest.Read(t, collector) {
		if port.Device != address || port.Port != "eth1" {
			t.Errorf("ibsysfs names the port %+v; want eth1 of %s", port, address)
		}
		sent += values["rxe.sent_pkts"]
	}
	return sent
}
