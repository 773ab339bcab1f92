// Package utilisation measures how busy a host is: its RNICs by counters in sysfs, its GPUs by nvidia-smi, its memory and the
// buses between sockets by Intel PCM or AMD uProf, and the processes that use them by resctrl. From the tools' command lines
// and the host's graph it computes shares by the graph's ids. What a host lacks is omitted.
package utilisation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"time"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/perftest"
	"github.com/giverny/giverny/internal/retry"
)

// Config of the tools. Tools with an empty command are not run.
type Config struct {
	// The program nvidia-smi, such as [nvidia-smi]; arguments are added.
	NvidiaSMI []string `yaml:"nvidia_smi,flow"`
	// Intel PCM for memory, such as [pcm-memory, "0.5", -nc, -csv, -i=1].
	PCMMemory []string `yaml:"pcm_memory,flow"`
	// Intel PCM for the buses between sockets, such as [pcm, "0.5", -nc, -csv, -i=1].
	PCM []string `yaml:"pcm,flow"`
	// AMD uProf, such as [AMDuProfPcm, -m, "memory,xgmi", -a, -A, package, -d, "1"].
	UProf []string `yaml:"uprof,flow"`
	// Mount point of resctrl, such as /sys/fs/resctrl. Its groups show who uses the memory and the buses between sockets that PCM or uProf report as in use; empty: not read.
	Resctrl string `yaml:"resctrl"`
	// How long RNICs and resctrl groups are measured.
	Window time.Duration `yaml:"window"`

	Capacities `yaml:",inline"`
}

// DefaultConfig runs no tools.
func DefaultConfig() Config { return Config{Window: 200 * time.Millisecond} }

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	for _, tool := range []struct {
		key    string
		vector []string
	}{{"nvidia_smi", c.NvidiaSMI}, {"pcm_memory", c.PCMMemory}, {"pcm", c.PCM}, {"uprof", c.UProf}} {
		f.Check(len(tool.vector) == 0 || tool.vector[0] != "", tool.key, "the program is empty")
	}
	f.Check(c.Window > 0 && c.Window <= 10*time.Second, "window", "%v: want above 0s, up to 10s", c.Window)
	f.Check(c.MemoryGBps >= 0, "memory_gbytes_per_second", "%g: want 0 or more", c.MemoryGBps)
	f.Check(c.InterSocketGBps >= 0, "inter_socket_gbytes_per_second", "%g: want 0 or more", c.InterSocketGBps)
	return f.Err()
}

// Source reads the utilisation of one host.
type Source struct {
	cfg   Config
	graph *hostping.Graph
	rnics *RNICs
	sysfs string
}

// New returns the source for a valid configuration.
func New(cfg Config, g *hostping.Graph, rnics *RNICs) *Source { return &Source{cfg, g, rnics, "/sys"} }

// Read runs all tools once. Errors of failed tools are joined; the results of the
// others are returned with the error.
func (s *Source) Read(ctx context.Context) (hostping.Utilisation, error) {
	u := hostping.Utilisation{RNICs: map[string]float64{}, GPUs: map[string]float64{}, Links: map[string]float64{}}
	began := time.Now()
	sockets, before, err := s.groups()
	errs := []error{err, s.readRNICs(ctx, &u), s.readGPUs(ctx, &u)}
	t := newTraffic()
	for _, tool := range []struct {
		vector []string
		read   func(string, *traffic) error
	}{{s.cfg.PCMMemory, pcmMemory}, {s.cfg.PCM, pcmSystem}, {s.cfg.UProf, uProf}} {
		if len(tool.vector) == 0 {
			continue
		}
		text, err := output(ctx, tool.vector)
		if err == nil {
			err = tool.read(text, &t)
		}
		errs = append(errs, err)
	}
	maps.Copy(u.Links, t.links(s.graph, s.cfg.Capacities))
	if len(before) > 0 {
		if !retry.Sleep(ctx, s.cfg.Window-time.Since(began)) {
			errs = append(errs, ctx.Err())
		}
		after, err := readGroups(s.cfg.Resctrl, sockets)
		errs = append(errs, err)
		u.Processes = consumers(before, after, s.graph, u.Links)
	}
	return u, errors.Join(errs...)
}

// groups reads the resctrl groups, and the socket of each cache; nil if not configured.
func (s *Source) groups() (sockets map[int]int, groups map[string]moved, err error) {
	if s.cfg.Resctrl == "" {
		return nil, nil, nil
	}
	if sockets, err = cacheSockets(s.sysfs); err != nil {
		return nil, nil, err
	}
	groups, err = readGroups(s.cfg.Resctrl, sockets)
	return sockets, groups, err
}

func (s *Source) readRNICs(ctx context.Context, u *hostping.Utilisation) error {
	var errs []error
	before := map[string]Reading{}
	for _, r := range s.graph.RNICs {
		reading, err := s.rnics.Read(r.ID)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		before[r.ID] = reading
	}
	if len(before) == 0 {
		return errors.Join(errs...)
	}
	if !retry.Sleep(ctx, s.cfg.Window) {
		return ctx.Err()
	}
	for id, first := range before {
		last, err := s.rnics.Read(id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if c := last.Since(first); c.Share >= 0 {
			u.RNICs[id] = c.Share
		}
	}
	return errors.Join(errs...)
}

func (s *Source) readGPUs(ctx context.Context, u *hostping.Utilisation) error {
	if len(s.cfg.NvidiaSMI) == 0 {
		return nil
	}
	text, err := output(ctx, append(s.cfg.NvidiaSMI[:len(s.cfg.NvidiaSMI):len(s.cfg.NvidiaSMI)], "--query-gpu="+gpuColumns, "--format=csv,noheader,nounits"))
	if err != nil {
		return err
	}
	gpus, err := readGPUs(text)
	if err != nil {
		return err
	}
	moved := map[int]float64{}
	traffic, err := output(ctx, append(s.cfg.NvidiaSMI[:len(s.cfg.NvidiaSMI):len(s.cfg.NvidiaSMI)], "dmon", "-s", "t", "-c", "1"))
	if err == nil {
		moved = readGPUTraffic(traffic)
	}
	noteGPUs(u, s.graph, gpus, moved)
	return err
}

// output runs a tool and returns what it prints.
func output(ctx context.Context, vector []string) (string, error) {
	text, err := perftest.Host{}.Run(ctx, vector...)
	if err != nil && errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%s is not installed: %w", vector[0], err)
	}
	return string(text), err
}
