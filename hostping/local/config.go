package local

import (
	"slices"
	"time"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/prober"
	"github.com/giverny/giverny/internal/faults"
)

// Config is how this host is probed.
type Config struct {
	// perftest, or exec for a program that implements the prober protocol; empty: this host is not probed.
	Prober string `yaml:"prober"`
	// For exec: the program and its arguments, without a shell.
	Command []string `yaml:"command,flow"`
	// For perftest.
	Perftest prober.PerftestConfig `yaml:"perftest"`
	// The file that describes this host: lstopo --of xml, NCCL_TOPO_DUMP_FILE or nvidia-smi topo -m.
	Graph string `yaml:"graph"`
	// Format of that file: hwloc, nccl or nvidia-smi; empty: detected.
	Format string `yaml:"format"`
	// The baseline of this host's model, as written by giverny hostping baseline; empty: commands include one.
	Baseline string `yaml:"baseline"`
	// Timeout of a probe.
	ProbeTimeout time.Duration `yaml:"probe_timeout"`
	// Timeout of a run.
	Timeout time.Duration `yaml:"timeout"`
	// Pause between two probes.
	Pause time.Duration `yaml:"pause"`
	// Maximum share of an RNIC's time for probes, in percent, over 5 minutes or more; beyond it a run waits or skips pairs.
	SharePercent float64 `yaml:"share_percent"`
}

// Kinds of probers.
const (
	kindPerftest = "perftest"
	kindExec     = "exec"
)

// DefaultConfig does not probe.
func DefaultConfig() Config {
	return Config{Perftest: prober.DefaultPerftestConfig(), ProbeTimeout: 10 * time.Second, Timeout: 5 * time.Minute, SharePercent: 5}
}

// Enabled reports whether this host may be probed.
func (c *Config) Enabled() bool { return c.Prober != "" }

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Check(slices.Contains([]string{"", kindPerftest, kindExec}, c.Prober), "prober", "%q: want perftest or exec", c.Prober)
	f.Check(c.Prober != kindExec || len(c.Command) > 0 && c.Command[0] != "", "command", "empty; want a program and its arguments")
	f.Check(!c.Enabled() || c.Graph != "", "graph", "empty; want a file that describes this host, such as the output of lstopo --of xml")
	f.Check(slices.Contains([]hostping.Format{hostping.Auto, hostping.Hwloc, hostping.NCCL, hostping.NvidiaSMI}, hostping.Format(c.Format)), "format", "%q: want hwloc, nccl or nvidia-smi", c.Format)
	f.Under("perftest", c.Perftest.Validate())
	f.Check(c.ProbeTimeout > 0, "probe_timeout", "%v: want a positive duration", c.ProbeTimeout)
	f.Check(c.Timeout >= c.ProbeTimeout, "timeout", "%v: want probe_timeout or more", c.Timeout)
	f.Check(c.Pause >= 0, "pause", "%v: want 0s or more", c.Pause)
	f.Check(c.SharePercent > 0 && c.SharePercent <= 100, "share_percent", "%g: want above 0, up to 100", c.SharePercent)
	return f.Err()
}
