//go:build rdmavm

package run_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/collectors/collectortest"
	"github.com/giverny/giverny/collectors/ibsysfs"
	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
	"github.com/giverny/giverny/search/run"
)

// guests is the folder that scripts/rdma-vm.sh fills.
func guests(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("GIVERNY_RDMA_VM")
	if folder == "" {
		t.Fatal("GIVERNY_RDMA_VM names no folder: run make rdma-vm")
	}
	return folder
}

// A search of a few experiments with perftest between two guests that have a real
// RDMA stack, its counters read by ibsysfs too. Emulated processors take minutes for
// it; CI runs the same engine against stand-ins for ssh and perftest.
func TestSearchOverSoftRoCE(t *testing.T) {
	folder := guests(t)
	fabric := filepath.Join(t.TempDir(), "fabric")
	rig := engine.DefaultRig()
	rig.SSH = []string{"ssh", "-i", filepath.Join(folder, "key"), "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
		"-o", "LogLevel=ERROR", "-o", "ConnectTimeout=60"}
	rig.SampleSeconds, rig.Samples, rig.MaxQPs, rig.PerftestArgs, rig.Timeout = 2, 1, 4, []string{"-u", "18"}, 4*time.Minute
	hosts := make([]engine.RigHost, 2)
	for i := range hosts {
		hosts[i] = engine.RigHost{SSH: boot(t, folder, fabric, i+1), Address: fmt.Sprintf("10.8.0.%d", i+1), Device: "rxe0", DevicePort: 1}
	}
	for _, h := range hosts {
		await(t, rig.SSH, h)
	}
	rig.Pairs = []engine.RigPair{{A: hosts[0], B: hosts[1]}}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	e, err := engine.NewPerftest(&rig, 0, log)
	if err != nil {
		t.Fatal(err)
	}
	before := packetsSent(t, rig.SSH, hosts[0])
	o := run.Options{Engines: []engine.Engine{e}, Search: search.Config{Algorithm: search.Lift, Budget: 4, Seed: 1}, Log: filepath.Join(t.TempDir(), "search.log"), Logger: log,
		Restrict: restriction(t, "{transport: [RC_WRITE, RC_SEND, UD_SEND], sizes: {max: 4096}, wq_depth: {max: 128}, wqe_batch: {max: 8}, receive_batch: {max: 8}}")}
	summary := mustRun(t, t.Context(), o)
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	after := packetsSent(t, rig.SSH, hosts[0])
	if summary.Experiments != 4 {
		t.Errorf("%+v; want 4 experiments", summary)
	}
	checkMeasured(t, o.Log, after-before)
}

// checkMeasured checks that traffic was measured, and that the counters which the
// engine saw are part of those that ibsysfs saw.
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
	// The first host's share and the calibration's packets are not known apart: what
	// ibsysfs saw there is more than a tenth of what the engine saw on both.
	if float64(packets) < sent/10 {
		t.Errorf("ibsysfs saw %d packets on one host, and the engine %.0f on both", packets, sent)
	}
}

// boot starts guest n, and gives the destination by which ssh reaches it.
func boot(t *testing.T, folder, fabric string, n int) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("qemu-system-x86_64", "-accel", "tcg", "-machine", "q35", "-cpu", "max", "-smp", "1", "-m", "384",
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio",
		"-kernel", filepath.Join(folder, "vmlinuz"), "-initrd", filepath.Join(folder, "initrd"),
		"-append", fmt.Sprintf("console=ttyS0 quiet panic=-1 nokaslr mitigations=off random.trust_cpu=on tsc=reliable node=%d", n),
		"-netdev", "user,id=u0,restrict=on,hostfwd=tcp:"+address+"-:22", "-device", fmt.Sprintf("virtio-net-pci,netdev=u0,mac=52:54:00:00:01:0%d,romfile=", n),
		"-netdev", "stream,id=f0,addr.type=unix,addr.path="+fabric+",server="+map[bool]string{true: "on", false: "off"}[n == 1],
		"-device", fmt.Sprintf("virtio-net-pci,netdev=f0,mac=52:54:00:00:00:0%d,romfile=", n))
	var serial bytes.Buffer
	cmd.Stdout, cmd.Stderr = &serial, &serial
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("guest %d: %s", n, &serial)
		}
	})
	for range 100 {
		if _, err := os.Stat(fabric); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return "ssh://root@" + address
}

// onHost runs a command on a guest.
func onHost(ctx context.Context, ssh []string, h engine.RigHost, argv ...string) ([]byte, error) {
	line := append(append([]string{}, ssh...), h.SSH)
	return exec.CommandContext(ctx, line[0], append(line[1:], argv...)...).Output()
}

// await waits until a guest has its adapter.
func await(t *testing.T, ssh []string, h engine.RigHost) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	for {
		if _, err := onHost(ctx, ssh, h, "cat", "/sys/class/infiniband/rxe0/node_guid"); err == nil {
			return
		} else if ctx.Err() != nil {
			t.Fatalf("guest %s: %v", h.Address, err)
		}
		time.Sleep(time.Second)
	}
}

// packetsSent is what the ibsysfs collector reads of a guest's adapter, whose files
// are copied.
func packetsSent(t *testing.T, ssh []string, h engine.RigHost) (sent uint64) {
	t.Helper()
	const root = "/sys/class/infiniband/"
	text, err := onHost(t.Context(), ssh, h, "grep", "-r", ".", root+"rxe0/node_guid", root+"rxe0/node_desc", root+"rxe0/ports/1/state", root+"rxe0/ports/1/rate",
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
	cfg := ibsysfs.DefaultConfig(h.Address)
	cfg.Root, cfg.Identify = copied, ibsysfs.Hostname
	collector, err := ibsysfs.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for port, values := range collectortest.Read(t, collector) {
		if port.Device != h.Address || port.Port != "eth1" {
			t.Errorf("ibsysfs names the port %+v; want eth1 of %s", port, h.Address)
		}
		sent += values["rxe.sent_pkts"]
	}
	return sent
}
