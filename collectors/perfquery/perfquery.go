// Package perfquery reads the counters of a whole InfiniBand subnet from one
// host by running ibnetdiscover(8) and perfquery(8). It changes nothing: it
// resets no counter. A node that does not answer is left alone for a while, so
// that it does not slow the sweep. Poll it with few workers, say 4: the tools
// share the one management queue pair of an adapter, and ibsim serves ten.
package perfquery

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/collectors"
)

// Config says how the tools are run.
type Config struct {
	Perfquery     string   `yaml:"perfquery"`     // program
	IBNetDiscover string   `yaml:"ibnetdiscover"` // program
	Command       []string `yaml:"command"`       // put before both: ["sudo", "-n"], ["nsenter", "--net=/run/netns/ib"]
	Env           []string `yaml:"env"`           // KEY=value, beside the environment of this process
	CA            string   `yaml:"ca"`            // local adapter to send through; none: the tools' choice
	CAPort        int      `yaml:"ca_port"`       // its port; 0: the tools' choice
	SwitchesOnly  bool     `yaml:"switches_only"` // the hosts' adapters are read by agents on the hosts
	// DiscoverEvery is how often the subnet is discovered anew, and
	// DiscoverTimeout how long that may take.
	DiscoverEvery   time.Duration `yaml:"discover_every"`
	DiscoverTimeout time.Duration `yaml:"discover_timeout"`
	QueryTimeout    time.Duration `yaml:"query_timeout"`     // of one perfquery; a node takes up to two for each of its adapter ports
	MaxBackoffPolls int           `yaml:"max_backoff_polls"` // how many polls a node that fails again and again is left alone
}

// DefaultConfig runs the tools from the PATH.
func DefaultConfig() Config {
	return Config{Perfquery: "perfquery", IBNetDiscover: "ibnetdiscover", DiscoverEvery: 5 * time.Minute,
		DiscoverTimeout: 20 * time.Second, QueryTimeout: 5 * time.Second, MaxBackoffPolls: 32}
}

// Validate names every fault.
func (c *Config) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.Perfquery != "", "perfquery: empty; name the program")
	check(c.IBNetDiscover != "", "ibnetdiscover: empty; name the program")
	check(c.CAPort >= 0 && c.CAPort <= math.MaxUint8, "ca_port %d: want 0 to 255", c.CAPort)
	check(c.DiscoverEvery > 0, "discover_every %v: want more than 0", c.DiscoverEvery)
	check(c.DiscoverTimeout > 0, "discover_timeout %v: want more than 0", c.DiscoverTimeout)
	check(c.QueryTimeout > 0, "query_timeout %v: want more than 0", c.QueryTimeout)
	check(c.MaxBackoffPolls >= 0, "max_backoff_polls %d: want 0 or more", c.MaxBackoffPolls)
	for _, e := range c.Env {
		check(strings.Contains(e, "="), "env %q: want KEY=value", e)
	}
	return errors.Join(errs...)
}

// Collector lists the nodes of a subnet.
type Collector struct {
	cfg        Config
	nodes      map[string]*node // by GUID; they keep what they learnt
	order      []*node          // as discovered
	discovered time.Time        // zero: never
}

// New makes a collector. It runs nothing yet.
func New(cfg Config) (*Collector, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("perfquery: %w", err)
	}
	return &Collector{cfg: cfg, nodes: map[string]*node{}}, nil
}

// Name of the source.
func (c *Collector) Name() string { return "perfquery" }

// Epoch is 0: nothing tells when a switch began anew.
func (c *Collector) Epoch() uint64 { return 0 }

// Devices lists the nodes that have a link, after discovering the subnet anew
// if it is time. When that fails it lists those of the last time.
func (c *Collector) Devices(ctx context.Context) ([]collectors.Device, error) {
	var err error
	if c.discovered.IsZero() || time.Since(c.discovered) >= c.cfg.DiscoverEvery {
		err = c.discover(ctx)
	}
	devices := make([]collectors.Device, len(c.order))
	for i, n := range c.order {
		devices[i] = n
	}
	return devices, err
}

func (c *Collector) discover(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.DiscoverTimeout)
	defer cancel()
	out, err := c.cfg.run(ctx, c.cfg.IBNetDiscover)
	if err != nil {
		return err
	}
	found, err := parseInventory(out)
	if err != nil {
		return fmt.Errorf("%s: %w", c.cfg.IBNetDiscover, err)
	}
	nodes := make(map[string]*node, len(found))
	order := make([]*node, 0, len(found))
	for _, target := range found {
		if c.cfg.SwitchesOnly && !target.isSwitch {
			continue
		}
		n := c.nodes[target.guid]
		if n == nil || !n.target.equal(&target) { // one that hangs keeps its own
			n = &node{cfg: &c.cfg, target: target}
		}
		nodes[target.guid] = n
		order = append(order, n)
	}
	c.nodes, c.order, c.discovered = nodes, order, time.Now()
	return nil
}

const (
	maxOutputBytes = 64 << 20 // a subnet of 40,000 ports prints 10 MB
	maxErrorBytes  = 4 << 10
	killDelay      = time.Second // for a program's output to be closed once it was killed
)

// run runs a tool to its end and returns what it printed, also with an error.
func (c *Config) run(ctx context.Context, program string, args ...string) ([]byte, error) {
	argv := append(append([]string{}, c.Command...), program)
	if c.CA != "" {
		argv = append(argv, "-C", c.CA)
	}
	if c.CAPort > 0 {
		argv = append(argv, "-P", strconv.Itoa(c.CAPort))
	}
	argv = append(argv, args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = killDelay
	if len(c.Env) > 0 {
		cmd.Env = append(os.Environ(), c.Env...)
	}
	stdout, stderr := &bounded{limit: maxOutputBytes}, &bounded{limit: maxErrorBytes}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), ctx.Err())
	case errors.Is(err, exec.ErrNotFound):
		err = fmt.Errorf("%w; install infiniband-diags", err)
	case err != nil:
		err = fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, lastLine(stderr.Bytes()))
	}
	return stdout.Bytes(), err
}

// bounded keeps the first bytes that are written to it.
type bounded struct {
	bytes.Buffer
	limit int
}

func (b *bounded) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), b.limit-b.Len())])
	return len(p), nil
}

func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}
