package proc

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/giverny/giverny/internal/test/await"
)

const orphanLog = "TESTPROC_ORPHAN_LOG"

// TestMain is also the parent in TestChildDiesWithItsParent: it starts a child, prints its ID and waits.
func TestMain(m *testing.M) {
	log := os.Getenv(orphanLog)
	if log == "" {
		goleak.VerifyTestMain(m)
		return
	}
	p, err := Start(exec.Command("sleep", "60"), log)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.Pid())
	<-p.Done()
}

func start(t *testing.T, argv ...string) *Process {
	t.Helper()
	p, err := Start(exec.Command(argv[0], argv[1:]...), filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestStopEndsAPoliteChild(t *testing.T) {
	p := start(t, "sleep", "60")
	p.Stop(10 * time.Second)
	if got := p.Err(); got == nil || got.Error() != "signal: terminated" {
		t.Errorf("ended with %v, want signal: terminated", got)
	}
}

func TestStopKillsADeafChild(t *testing.T) {
	p := start(t, "sh", "-c", `trap "" TERM; echo deaf; exec sleep 60`)
	for p.LogTail(1) != "deaf" {
		time.Sleep(time.Millisecond)
	}
	p.Stop(10 * time.Millisecond)
	if got := p.Err(); got == nil || got.Error() != "signal: killed" {
		t.Errorf("ended with %v, want signal: killed", got)
	}
}

func TestLogTail(t *testing.T) {
	p := start(t, "sh", "-c", "echo one; echo two >&2; echo three")
	if err := p.Err(); err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]string{0: "", 2: "two\nthree", 9: "one\ntwo\nthree"} {
		if got := p.LogTail(n); got != want {
			t.Errorf("LogTail(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestStartNamesTheMissingCommand(t *testing.T) {
	_, err := Start(exec.Command("/nonexistent/broker"), filepath.Join(t.TempDir(), "log"))
	if err == nil || !strings.Contains(err.Error(), "/nonexistent/broker") {
		t.Fatalf("error %v does not name the command", err)
	}
}

func TestChildDiesWithItsParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), orphanLog+"="+filepath.Join(t.TempDir(), "log"))
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	parent.Process.Kill()
	parent.Wait()
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("parent printed %q: %v", line, err)
	}
	await.Until(t, fmt.Sprintf("child %d to end after its parent", pid), 30*time.Second, 10*time.Millisecond, func() bool { return ended(pid) })
}

// ended includes zombies: in a container there may be no process that reaps orphans.
func ended(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
