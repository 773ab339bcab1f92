// Package slurm starts a Slurm cluster for a test: the real slurmctld, one real slurmd per node, and on request
// slurmdbd with its database and slurmrestd, all on loopback and in one folder. Input: the nodes and options.
// Output: methods to run Slurm's commands and to stop parts. It needs no root and no munge; authentication is
// off, so it is for tests only. The programs come from `make deps-test`.
package slurm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/test/freeport"
	"github.com/giverny/giverny/internal/test/proc"
)

const (
	waitTimeout  = 90 * time.Second // a cluster of 4 nodes is up in 1 to 2 s, longer under load
	pollInterval = 50 * time.Millisecond
	stopTimeout  = 5 * time.Second
	logTailLines = 30
	sbin         = "/usr/sbin:/sbin" // where Debian puts the daemons
)

// Config is the cluster to start.
type Config struct {
	Nodes      []string // their names; default n1 to n4
	CPUs       int      // of each node; default 2
	Extra      []string // more lines of slurm.conf
	Topology   string   // topology.conf; empty: none
	Accounting bool     // slurmdbd on a database of its own, so that sacct answers
	REST       bool     // slurmrestd on a TCP port, with tokens (JWT)
}

// Cluster is a running Slurm.
type Cluster struct {
	tb    testing.TB
	cfg   Config
	dir   string
	host  string // host name of this machine, required by slurmctld
	ports []int  // of slurmctld, slurmrestd and slurmdbd, then one per node
	parts map[string]*proc.Process
	order []string // start order of the parts
}

// Start returns once all nodes are idle. If something is not installed, the test fails and says what to install.
func Start(tb testing.TB, cfg Config) *Cluster {
	tb.Helper()
	if len(cfg.Nodes) == 0 {
		cfg.Nodes = []string{"n1", "n2", "n3", "n4"}
	}
	cfg.CPUs = cmp.Or(cfg.CPUs, 2)
	c := &Cluster{tb: tb, cfg: cfg, parts: map[string]*proc.Process{}}
	tb.Cleanup(c.cleanup)
	if err := c.start(); err != nil {
		tb.Fatal(err)
	}
	return c
}

func (c *Cluster) start() (err error) {
	// Not in the test's folder: a socket path must not exceed 107 bytes.
	if c.dir, err = os.MkdirTemp("", "slurm"); err != nil {
		return err
	}
	if c.host, err = os.Hostname(); err != nil {
		return err
	}
	c.host, _, _ = strings.Cut(c.host, ".")
	for range 3 + len(c.cfg.Nodes) {
		c.ports = append(c.ports, freeport.Port(c.tb))
	}
	if err := c.configure(); err != nil {
		return err
	}
	if c.cfg.Accounting {
		if err := c.startAccounting(); err != nil {
			return err
		}
	}
	if err := c.StartController(); err != nil {
		return err
	}
	for _, node := range c.cfg.Nodes {
		if err := c.StartNode(node); err != nil {
			return err
		}
	}
	if err := c.awaitIdle(); err != nil {
		return err
	}
	if c.cfg.REST {
		return c.startREST()
	}
	return nil
}

// Environ is the environment for a program to talk to this cluster.
func (c *Cluster) Environ() []string {
	return []string{"SLURM_CONF=" + c.path("slurm.conf"), "PATH=" + os.Getenv("PATH") + ":" + sbin}
}

// Prefix makes any argument vector talk to this cluster when it is put before it, for code under test whose
// command is configurable.
func (c *Cluster) Prefix() []string { return append([]string{"env", "-C", c.dir}, c.Environ()...) }

// Command returns one of Slurm's commands.
func (c *Cluster) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	vector := append(append(c.Prefix(), name), args...)
	return exec.CommandContext(ctx, vector[0], vector[1:]...)
}

// Run runs one of Slurm's commands.
func (c *Cluster) Run(name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	out, err := c.Command(ctx, name, args...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, exit.Stderr)
	}
	return string(out), err
}

// Output runs one of Slurm's commands and returns its output; a failure fails the test.
func (c *Cluster) Output(name string, args ...string) string {
	c.tb.Helper()
	out, err := c.Run(name, args...)
	if err != nil {
		c.tb.Fatal(err)
	}
	return out
}

// Submit submits a job that runs a line of shell, with options for sbatch, and returns its ID.
func (c *Cluster) Submit(line string, options ...string) string {
	c.tb.Helper()
	out := c.Output("sbatch", append(append([]string{"--parsable", "--output=/dev/null"}, options...), "--wrap", line)...)
	id, _, _ := strings.Cut(strings.TrimSpace(out), ";")
	return id
}

// Await polls until done, or fails the test with the ends of the logs.
func (c *Cluster) Await(what string, done func() bool) {
	c.tb.Helper()
	if err := c.await(what, done); err != nil {
		c.tb.Fatal(err)
	}
}

func (c *Cluster) await(what string, done func() bool) error {
	deadline := time.Now().Add(waitTimeout)
	for !done() {
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s for %s\n%s", waitTimeout, what, c.logs())
		}
		for name, p := range c.parts {
			select {
			case <-p.Done():
				return fmt.Errorf("waiting for %s: %s ended\n%s", what, name, c.logs())
			default:
			}
		}
		time.Sleep(pollInterval)
	}
	return nil
}

// awaitIdle waits until the controller reports every node as idle.
func (c *Cluster) awaitIdle() error {
	return c.await("all nodes to be idle", func() bool {
		out, err := c.Run("sinfo", "--noheader", "--Node", "--format=%N %T")
		return err == nil && strings.Count(out, " idle\n") == len(c.cfg.Nodes)
	})
}

// StartController starts slurmctld; after StopController or Kill, with its saved state.
func (c *Cluster) StartController() error {
	if err := c.startPart("slurmctld", "slurmctld", "-D", "-f", c.path("slurm.conf")); err != nil {
		return err
	}
	return c.await("slurmctld to answer", func() bool {
		out, err := c.Run("scontrol", "ping")
		return err == nil && strings.Contains(out, "UP")
	})
}

// StopController shuts slurmctld down cleanly.
func (c *Cluster) StopController() { c.stopPart("slurmctld") }

// StartNode starts the slurmd of a node.
func (c *Cluster) StartNode(node string) error {
	if err := os.MkdirAll(c.path("spool", node), 0o755); err != nil {
		return err
	}
	return c.startPart(node, "slurmd", "-D", "-N", node, "-f", c.path("slurm.conf"))
}

func (c *Cluster) startPart(name, program string, args ...string) error {
	cmd := c.Command(context.Background(), program, args...)
	p, err := proc.Start(cmd, c.path(name+".out"))
	if err != nil {
		return fmt.Errorf("%w; `make deps-test` installs it", err)
	}
	c.parts[name] = p
	c.order = append(c.order, name)
	return nil
}

func (c *Cluster) stopPart(name string) {
	if p := c.parts[name]; p != nil {
		p.Stop(stopTimeout)
		delete(c.parts, name)
	}
}

func (c *Cluster) path(parts ...string) string {
	return filepath.Join(append([]string{c.dir}, parts...)...)
}

func (c *Cluster) logs() string {
	var text strings.Builder
	for name, p := range c.parts {
		fmt.Fprintf(&text, "%s:\n%s\n", name, p.LogTail(logTailLines))
	}
	return text.String()
}

// cleanup ends the jobs first: their steps are separate daemons, which would outlive the cluster.
func (c *Cluster) cleanup() {
	if c.dir == "" {
		return
	}
	if c.tb.Failed() {
		c.tb.Logf("end of the logs of Slurm:\n%s", c.logs())
	}
	if c.parts["slurmctld"] != nil {
		c.cancelAll()
	}
	for i := len(c.order) - 1; i >= 0; i-- {
		c.stopPart(c.order[i])
	}
	os.RemoveAll(c.dir)
}

func (c *Cluster) cancelAll() {
	who, err := user.Current()
	if err != nil {
		return
	}
	_, _ = c.Run("scancel", "--signal=KILL", "--user="+who.Username) // jobs that run, at once
	_, _ = c.Run("scancel", "--user="+who.Username)
	deadline := time.Now().Add(stopTimeout)
	for time.Now().Before(deadline) {
		if out, err := c.Run("squeue", "--noheader"); err != nil || strings.TrimSpace(out) == "" {
			return
		}
		time.Sleep(pollInterval)
	}
}
