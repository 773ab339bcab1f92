package procgroup_test

import (
	"bufio"
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/procgroup"
)

// What a program has started ends with it.
func TestChildrenAreKilled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cmd := procgroup.Command(ctx, []string{"sh", "-c", "sleep 600 & echo $!; wait"}, time.Minute)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := cmd.Wait(); err == nil {
		t.Error("a killed program ended without an error")
	}
	for range 1000 { // the system reaps it
		if errors.Is(syscall.Kill(child, 0), syscall.ESRCH) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the child runs on")
}
