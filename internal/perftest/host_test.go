package perftest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/perftest"
)

// The output of a command is kept in part, whatever its size.
func TestOutputIsBounded(t *testing.T) {
	out, err := perftest.Host{}.Run(t.Context(), "sh", "-c", "head -c 9000000 /dev/zero")
	if err != nil || len(out) != 4<<20 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

// At the time limit nothing is left of a program that runs perftest for another: numactl, a wrapper script.
func TestChildrenEndWithTheirParent(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	file := filepath.Join(t.TempDir(), "child")
	_, err := perftest.Host{}.Run(ctx, "sh", "-c", `sleep 600 & echo $! >"$0"; wait`, file)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 { // the system reaps it
		if errors.Is(syscall.Kill(child, 0), syscall.ESRCH) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the child runs on")
}
