// Package perfquery reads the counters of a whole InfiniBand subnet from one host by
// running ibnetdiscover(8) and perfquery(8). It is read-only and resets no counters. A
// node or port that does not answer is skipped for a while (back-off), so that it does
// not slow the sweep. Use few workers, about 4: the tools share the single management
// queue pair of an adapter, and ibsim serves ten.
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
	"github.com/giverny/giverny/internal/bounded"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/procgroup"
)

// Config is how the tools are run.
type Config struct {
	// Local adapter to send from; empty: the tools' choice, the first that is up.
	CA string `yaml:"adapter"`
	// Its port; 0: the tools' choice, the first that is up.
	CAPort int `yaml:"port"`
	// How long one query may take; a node takes up to two for each of its adapter ports, and two more for each port that does not answer.
	QueryTimeout time.Duration `yaml:"timeout"`
	// Read only switches, for subnets whose hosts have agents that read the adapters.
	SwitchesOnly bool `yaml:"switches_only"`
	// How often the subnet is rediscovered; up to ten times as often while nodes stop answering or links go down, but only at polls.
	DiscoverEvery time.Duration `yaml:"discover_every"`
	// How long a discovery may take.
	DiscoverTimeout time.Duration `yaml:"discover_timeout"`
	// Maximum number of polls for which a node or port that fails repeatedly is skipped (back-off).
	MaxBackoffPolls int `yaml:"max_backoff_polls"`
	// The program perfquery.
	Perfquery string `yaml:"perfquery"`
	// The program ibnetdiscover.
	IBNetDiscover string `yaml:"ibnetdiscover"`
	// Words to put before both programs, such as [sudo, -n] or [nsenter, --net=/run/netns/ib].
	Command []string `yaml:"command,flow"`
	// Variables KEY=value for both, in addition to this process's own.
	Env []string `yaml:"env,flow"`
}

// DefaultConfig runs the tools from the PATH.
func DefaultConfig() Config {
	return Config{Perfquery: "perfquery", IBNetDiscover: "ibnetdiscover", DiscoverEvery: 5 * time.Minute,
		DiscoverTimeout: 20 * time.Second, QueryTimeout: 2 * time.Second, MaxBackoffPolls: 32}
}

// Kind is the entry in the registry. It has few workers: see the package comment.
func Kind() collectors.Kind {
	return collectors.Kind{
		Name:        "perfquery",
		Description: "A whole InfiniBand subnet, by the program perfquery; enable it on one host per subnet.",
		Workers:     4,
		NewConfig:   func() collectors.SourceConfig { return new(DefaultConfig()) },
	}
}

// Open creates the collector; the subnet names its devices itself.
func (c *Config) Open(string) (collectors.Collector, error) { return New(*c) }

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(c.Perfquery != "", "perfquery", "empty; name the program")
	f.Check(c.IBNetDiscover != "", "ibnetdiscover", "empty; name the program")
	f.Check(c.CAPort >= 0 && c.CAPort <= math.MaxUint8, "port", "%d: want 0 to 255", c.CAPort)
	f.Check(c.DiscoverEvery > 0, "discover_every", "%v: want more than 0", c.DiscoverEvery)
	f.Check(c.DiscoverTimeout > 0, "discover_timeout", "%v: want more than 0", c.DiscoverTimeout)
	f.Check(c.QueryTimeout > 0, "timeout", "%v: want more than 0", c.QueryTimeout)
	f.Check(c.MaxBackoffPolls >= 0, "max_backoff_polls", "%d: want 0 or more", c.MaxBackoffPolls)
	for _, e := range c.Env {
		f.Check(strings.Contains(e, "="), "env", "%q: want KEY=value", e)
	}
	return f.Err()
}

// Collector lists the nodes of a subnet.
type Collector struct {
	cfg        Config
	nodes      map[string]*node // by GUID; kept between discoveries
	order      []*node          // in discovery order
	discovered time.Time        // zero: never
}

// New returns a collector. Nothing is run yet.
func New(cfg Config) (*Collector, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Collector{cfg: cfg, nodes: map[string]*node{}}, nil
}

// Name returns "perfquery".
func (c *Collector) Name() string { return "perfquery" }

// Epoch is 0: resets of switches cannot be detected.
func (c *Collector) Epoch() uint64 { return 0 }

// Devices lists the nodes that have a link, after rediscovering the subnet if it is
// time or the last poll had trouble. If that fails it lists the previous ones.
func (c *Collector) Devices(ctx context.Context) ([]collectors.Device, error) {
	var err error
	since := time.Since(c.discovered)
	if since >= c.cfg.DiscoverEvery || since >= c.cfg.DiscoverEvery/troubleShare && c.takeTrouble() {
		err = c.discover(ctx)
	}
	devices := make([]collectors.Device, len(c.order))
	for i, n := range c.order {
		devices[i] = n
	}
	return devices, err
}

// troubleShare is the factor by which the subnet is rediscovered sooner than
// discover_every after trouble; it is bounded because a node that answers
// intermittently must not cause a discovery at every poll.
const troubleShare = 10

// Refresh makes the next call of Devices discover the subnet.
func (c *Collector) Refresh() { c.discovered = time.Time{} }

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
		if n != nil {
			target.keepLost(n.target.ports)
		}
		if n == nil || !n.target.equal(&target) { // an unchanged node keeps its state
			n = &node{cfg: &c.cfg, target: target}
		}
		nodes[target.guid] = n
		order = append(order, n)
	}
	c.nodes, c.order, c.discovered = nodes, order, time.Now()
	return nil
}

// takeTrouble reports whether a node began to fail or a link went down since the last
// call: the subnet may have changed.
func (c *Collector) takeTrouble() bool {
	found := false
	for _, n := range c.order {
		found = n.trouble.Swap(false) || found
	}
	return found
}

const (
	maxOutputBytes = 64 << 20    // a subnet of 40,000 ports prints 10 MB
	maxErrorBytes  = 4 << 10     // of its error output, for the log
	killDelay      = time.Second // how long to wait for the output of a killed program to close
)

// run runs a tool to its end and returns its output, even if it fails.
func (c *Config) run(ctx context.Context, program string, args ...string) ([]byte, error) {
	argv := append(append([]string{}, c.Command...), program)
	if c.CA != "" {
		argv = append(argv, "-C", c.CA)
	}
	if c.CAPort > 0 {
		argv = append(argv, "-P", strconv.Itoa(c.CAPort))
	}
	argv = append(argv, args...)
	cmd := procgroup.Command(ctx, argv, killDelay)
	if len(c.Env) > 0 {
		cmd.Env = append(os.Environ(), c.Env...)
	}
	stdout, stderr := &bounded.Buffer{Limit: maxOutputBytes}, &bounded.Buffer{Limit: maxErrorBytes}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), ctx.Err())
	case stdout.Over():
		err = fmt.Errorf("%s %s: the output has more than %d bytes", program, strings.Join(args, " "), maxOutputBytes)
	case errors.Is(err, exec.ErrNotFound):
		err = fmt.Errorf("%w; install infiniband-diags", err)
	case err != nil:
		err = fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, lastLine(stderr.Bytes()))
	}
	return stdout.Bytes(), err
}

func lastLine(text []byte) string {
	text = bytes.TrimSpace(text)
	return string(text[bytes.LastIndexByte(text, '\n')+1:])
}
