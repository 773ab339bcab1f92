// Package rdmavm boots QEMU guests with a real RDMA stack (rdma_rxe) for tests. Input: the folder created by
// scripts/rdma-vm.sh and the devices of a guest. Output: a guest reachable by ssh; it ends with the test.
package rdmavm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/test/freeport"
	"github.com/giverny/giverny/internal/test/repo"
)

// Folder is the folder created by scripts/rdma-vm.sh. The test fails if it is missing.
func Folder(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(repo.Dir(t), ".deps", "rdma-vm")
	if _, err := os.Stat(filepath.Join(folder, "vmlinuz")); err != nil {
		t.Fatalf("no guests: %v; run make deps-test", err)
	}
	return folder
}

// SSH is the ssh command and options for guests.
func SSH(folder string) []string {
	return []string{"ssh", "-i", filepath.Join(folder, "key"), "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
		"-o", "LogLevel=ERROR", "-o", "ConnectTimeout=60"}
}

// Guest is a running virtual machine.
type Guest struct {
	ssh         []string
	Destination string // for ssh
	End         func() // stops it
	ended       chan struct{}
	limit       time.Time
}

// Limit is the time limit of a whole test with guests, which takes about a minute.
const Limit = 5 * time.Minute

// Cable returns the two ends of a cable between the second interfaces of two guests. A named socket would be a race: it
// exists before the first QEMU listens on it, and the other would then start without a cable.
func Cable(t *testing.T) (a, b *os.File) {
	t.Helper()
	ends, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(ends[0]), "cable"), os.NewFile(uintptr(ends[1]), "cable")
}

// Boot starts guest n, which is node n of its fabric, with an end of a cable at eth1 unless it is nil, and further arguments
// for QEMU, including memory and processors. It does not wait until the guest is up.
func Boot(t *testing.T, folder string, n int, cable *os.File, args ...string) *Guest {
	t.Helper()
	address := freeport.Addr(t)
	cmd := exec.Command("qemu-system-x86_64", append([]string{"-accel", "tcg", "-machine", "q35", "-cpu", "max",
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio",
		"-kernel", filepath.Join(folder, "vmlinuz"), "-initrd", filepath.Join(folder, "initrd"),
		"-append", fmt.Sprintf("console=ttyS0 quiet panic=-1 nokaslr mitigations=off random.trust_cpu=on tsc=reliable no_timer_check node=%d", n),
		"-netdev", "user,id=u0,restrict=on,hostfwd=tcp:" + address + "-:22", "-device", fmt.Sprintf("virtio-net-pci,bus=pcie.0,netdev=u0,mac=52:54:00:00:01:0%d,romfile=", n)}, args...)...)
	if cable != nil {
		defer cable.Close() // QEMU has a copy
		cmd.ExtraFiles = []*os.File{cable}
		cmd.Args = append(cmd.Args, "-netdev", "stream,id=cable,server=off,addr.type=fd,addr.str=3", "-device", fmt.Sprintf("virtio-net-pci,netdev=cable,mac=52:54:00:00:00:0%d,romfile=", n))
	}
	var serial bytes.Buffer
	cmd.Stdout, cmd.Stderr = &serial, &serial
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g := &Guest{ssh: SSH(folder), Destination: "ssh://root@" + address, ended: make(chan struct{}), limit: time.Now().Add(Limit)}
	go func() {
		_ = cmd.Wait()
		close(g.ended)
	}()
	g.End = sync.OnceFunc(func() {
		var state []byte
		if t.Failed() {
			state = g.state()
		}
		_ = cmd.Process.Kill()
		<-g.ended
		if t.Failed() {
			t.Logf("guest %d: %s\n%s", n, &serial, state)
		}
	})
	t.Cleanup(g.End)
	return g
}

// state is the guest's state for diagnosis: where its tests wait, and its packet counters.
func (g *Guest) state() []byte {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	text, err := g.run(ctx, nil, `ps w | grep -v '\['; for p in $(pidof ib_write_bw ib_read_bw ib_send_bw ib_write_lat); do echo "$p waits in"; cat /proc/$p/stack; done
		rdma resource show qp; grep . /sys/class/infiniband/*/ports/1/hw_counters/*; ip -s link; ip neigh; dmesg | tail -n 20`)
	return append(text, fmt.Sprintln(err)...)
}

// Run runs a command in the guest's shell and returns its output. It fails when the test's Limit is over.
func (g *Guest) Run(ctx context.Context, input io.Reader, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithDeadlineCause(ctx, g.limit, fmt.Errorf("%v are over since guest %s was started", Limit, g.Destination))
	defer cancel()
	text, err := g.run(ctx, input, argv...)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return text, err
}

func (g *Guest) run(ctx context.Context, input io.Reader, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, g.ssh[0], append(append(append([]string{}, g.ssh[1:]...), g.Destination), argv...)...)
	cmd.Stdin = input
	text, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return text, err
}

// Await waits until the guest has its adapter, which takes half a minute with emulated processors on an idle machine.
func (g *Guest) Await(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for {
		if _, err := g.Run(ctx, nil, "cat", "/sys/class/infiniband/rxe0/node_guid"); err == nil {
			return
		} else if ctx.Err() != nil {
			t.Fatalf("guest %s: %v", g.Destination, err)
		}
		select {
		case <-g.ended:
			t.Fatalf("guest %s ended while it started", g.Destination)
		case <-time.After(time.Second):
		}
	}
}
