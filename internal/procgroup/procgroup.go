// Package procgroup runs programs in process groups of their own, so that what a program has started is killed with it: a
// wrapper script, ssh or clush that hangs would otherwise leave a process behind at every call. Input: an argument vector.
// Output: a command to start. Programs that keep running and answer line by line are internal/coprocess.
package procgroup

import (
	"context"
	"os/exec"
	"syscall"
	"time"
)

// Command is exec.CommandContext for an argument vector; the whole group is killed when ctx ends. Its pipes are closed at
// the latest after wait, even if a process that has left the group holds them open.
func Command(ctx context.Context, argv []string, wait time.Duration) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return Kill(cmd) }
	cmd.WaitDelay = wait
	return cmd
}

// Kill kills the group of a command that was started and has not been waited for.
func Kill(cmd *exec.Cmd) error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
