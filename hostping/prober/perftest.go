package prober

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/perftest"
)

// PerftestConfig configures perftest's tools.
type PerftestConfig struct {
	// TCP port over which the two sides connect on this host.
	Port int `yaml:"port"`
	// Port of the RDMA devices.
	DevicePort int `yaml:"device_port"`
	// Index of the GID; 0: the tool's default.
	GID int `yaml:"gid"`
	// Writes per repetition of a probe, of which the median counts. Messages above 1 MiB have fewer.
	Writes int `yaml:"writes"`
	// Additional arguments of the tools, such as -m 1024.
	Args []string `yaml:"args,flow"`
}

// DefaultPerftestConfig keeps a probe short.
func DefaultPerftestConfig() PerftestConfig {
	return PerftestConfig{Port: 18615, DevicePort: 1, Writes: 100}
}

// Validate reports all errors.
func (c *PerftestConfig) Validate() error {
	var f faults.List
	f.Check(c.Port > 0 && c.Port < 1<<16, "port", "%d: want 1 to 65535", c.Port)
	f.Check(c.DevicePort > 0, "device_port", "%d: want 1 or more", c.DevicePort)
	f.Check(c.GID >= 0, "gid", "%d: want 0 or more", c.GID)
	f.Check(c.Writes >= 5 && c.Writes <= 100_000, "writes", "%d: want 5 to 100000", c.Writes)
	return f.Err()
}

// Source reads the host's utilisation.
type Source interface {
	Read(ctx context.Context) (hostping.Utilisation, error)
}

// Perftest probes with both sides of a perftest test on this host, over the same RNIC. For
// memory of a NUMA node it uses ib_write_lat under numactl --membind; for a GPU ib_read_lat
// --use_cuda, which takes the same path, since perftest cannot measure the latency of writes
// to a GPU. For several queue pairs it uses ib_write_bw with one outstanding write each.
type Perftest struct {
	cfg    PerftestConfig
	source Source
	log    *slog.Logger
	sysfs  string
	cuda   map[string]bool // by tool: it was built with CUDA
	failed map[string]bool // by RNIC: its last test failed and was logged
}

// NewPerftest returns the prober; source may be nil.
func NewPerftest(cfg PerftestConfig, source Source, log *slog.Logger) (*Perftest, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("prober perftest: %w", err)
	}
	return &Perftest{cfg: cfg, source: source, log: log, sysfs: "/sys", cuda: map[string]bool{}, failed: map[string]bool{}}, nil
}

// Utilisation reads the source. If parts of it are unknown, the rest counts.
func (p *Perftest) Utilisation(ctx context.Context) (hostping.Utilisation, error) {
	if p.source == nil {
		return hostping.Utilisation{}, nil
	}
	u, err := p.source.Read(ctx)
	if err != nil && len(u.RNICs)+len(u.GPUs)+len(u.Links) > 0 {
		p.log.Warn("hostping: utilisation is incomplete", "error", err)
		err = nil
	}
	return u, err
}

// Close does nothing: no tool outlives its probe.
func (p *Perftest) Close() error { return nil }

// test is one test of perftest.
type test struct {
	tool string
	argv []string // for both sides
}

// Probe runs the tools once or, with several queue pairs, once per repetition.
func (p *Perftest) Probe(ctx context.Context, probe hostping.Probe) (hostping.ProbeResult, error) {
	t, unfit := p.plan(ctx, &probe)
	if ctx.Err() != nil {
		return hostping.ProbeResult{}, ctx.Err()
	}
	if unfit != "" {
		return hostping.ProbeResult{Status: hostping.Invalid, Detail: unfit}, nil
	}
	var micros []float64
	runs := 1
	if probe.QPs > 1 {
		runs = max(1, probe.Repeat)
	}
	for range runs {
		var some []float64
		err := perftest.Clocked(func() (err error) {
			some, err = p.run(ctx, t, &probe)
			return err
		})
		if ctx.Err() != nil {
			return hostping.ProbeResult{}, fmt.Errorf("prober perftest: %s of %s and %s: %w", t.tool, probe.RNIC, probe.Endpoint, ctx.Err())
		}
		if err != nil {
			return p.failure(ctx, &probe, err), nil
		}
		micros = append(micros, some...)
	}
	delete(p.failed, probe.RNIC)
	return hostping.ProbeResult{Status: hostping.OK, LatencyMicros: micros}, nil
}

// absent are phrases with which the tools report a missing device.
var absent = []string{"not found", "Unable to find the Infiniband", "No such device", "not a valid node", "doesn't exist", "invalid node", "out of range"}

// failure is the result of a test that could not be run. Of consecutive ones for an RNIC only the first is logged;
// the report has all.
func (p *Perftest) failure(ctx context.Context, probe *hostping.Probe, err error) hostping.ProbeResult {
	r := hostping.ProbeResult{Status: hostping.Failed, Detail: err.Error()}
	if failed, ok := errors.AsType[*perftest.CommandError](err); ok {
		for line := range strings.Lines(failed.Said) { // the last line, which err has, may be numactl's usage
			if slices.ContainsFunc(absent, func(s string) bool { return strings.Contains(line, s) }) {
				r.Status, r.Detail = hostping.Invalid, strings.TrimSpace(line)
				break
			}
		}
	}
	level := slog.LevelInfo
	if p.failed[probe.RNIC] {
		level = slog.LevelDebug
	}
	p.failed[probe.RNIC] = true
	p.log.Log(ctx, level, "hostping: probe failed", "rnic", probe.RNIC, "endpoint", probe.Endpoint, "status", r.Status, "error", err)
	return r
}

// minWrites is perftest's own minimum of writes per test.
const minWrites = 5

// fullWrites is the size up to which a repetition has all its writes: for a curve's 64 MiB messages they would exceed the
// probe's timeout.
const fullWrites = 1 << 20

// writes per repetition: above fullWrites, as many as have the same number of bytes, at
// least 1.
func (p *Perftest) writes(bytes int) int {
	return max(1, min(p.cfg.Writes, int(float64(p.cfg.Writes)*fullWrites/float64(bytes))))
}

// plan returns the test for a probe, or why there is none.
func (p *Perftest) plan(ctx context.Context, probe *hostping.Probe) (t test, unfit string) {
	kind, index, ok := endpointOf(probe.Endpoint)
	switch {
	case !ok:
		return t, fmt.Sprintf("perftest has no endpoint %.80q: want numaN or gpuN", probe.Endpoint)
	case !isDevice(probe.RNIC):
		return t, fmt.Sprintf("%.80q is not an RDMA device", probe.RNIC)
	case probe.Bytes < 1 || probe.QPs < 1 || probe.Repeat < 1:
		return t, fmt.Sprintf("%d bytes, %d queue pairs, %d repetitions: want 1 or more of each", probe.Bytes, probe.QPs, probe.Repeat)
	}
	writes := p.writes(probe.Bytes)
	switch {
	case probe.QPs > 1:
		t.tool = "ib_write_bw"
	case kind == hostping.GPU:
		t.tool, writes = "ib_read_lat", writes*probe.Repeat+1
	default:
		t.tool, writes = "ib_write_lat", writes*probe.Repeat+1
	}
	if kind == hostping.GPU && !p.hasCUDA(ctx, t.tool) {
		return t, t.tool + " of this host is built without CUDA: it has no --use_cuda"
	}
	t.argv = append(p.placed(probe.RNIC, kind, index), t.tool, "-F", "-d", probe.RNIC, "-i", strconv.Itoa(p.cfg.DevicePort), "-p", strconv.Itoa(p.cfg.Port),
		"-c", "RC", "-s", strconv.Itoa(probe.Bytes), "-n", strconv.Itoa(max(minWrites, writes)))
	if p.cfg.GID > 0 {
		t.argv = append(t.argv, "-x", strconv.Itoa(p.cfg.GID))
	}
	switch t.tool {
	case "ib_write_bw": // one outstanding write per queue pair
		t.argv = append(t.argv, "--report_gbits", "-q", strconv.Itoa(probe.QPs), "-t", "1", "-Q", "1")
	case "ib_write_lat": // not inline: the RNIC must read the message from the endpoint
		t.argv = append(t.argv, "-U", "-I", "0")
	default:
		t.argv = append(t.argv, "-U")
	}
	if kind == hostping.GPU {
		t.argv = append(t.argv, "--use_cuda="+strconv.Itoa(index))
	}
	t.argv = append(t.argv, p.cfg.Args...)
	return t, ""
}

// placed returns the command prefix that binds a test to the CPUs near the RNIC, so
// that T_proc of equation 1 is constant, and to the endpoint's memory. CUDA then
// numbers devices in bus order, as NVML and NCCL do.
func (p *Perftest) placed(rnic string, kind hostping.Kind, index int) (argv []string) {
	if kind == hostping.GPU {
		argv = []string{"env", "CUDA_DEVICE_ORDER=PCI_BUS_ID"}
	}
	var bind []string
	if node, err := os.ReadFile(filepath.Join(p.sysfs, "class/infiniband", rnic, "device/numa_node")); err == nil {
		if n, err := strconv.Atoi(strings.TrimSpace(string(node))); err == nil && n >= 0 {
			bind = append(bind, "--cpunodebind="+strconv.Itoa(n))
		}
	}
	if kind == hostping.Memory {
		bind = append(bind, "--membind="+strconv.Itoa(index))
	}
	if len(bind) > 0 {
		argv = append(append(argv, "numactl"), bind...)
	}
	return argv
}

// hasCUDA reports whether a tool was built with CUDA.
func (p *Perftest) hasCUDA(ctx context.Context, tool string) bool {
	has, known := p.cuda[tool]
	if known {
		return has
	}
	text, err := perftest.Host{}.Run(ctx, tool, "--help")
	if failed, ok := errors.AsType[*perftest.CommandError](err); ok { // older versions exit with 1
		text = []byte(failed.Said)
	}
	has = strings.Contains(string(text), "--use_cuda")
	if ctx.Err() == nil {
		p.cuda[tool] = has
	}
	return has
}

// run runs both sides of a test on this host.
func (p *Perftest) run(ctx context.Context, t test, probe *hostping.Probe) ([]float64, error) {
	const self = "127.0.0.1"
	_, asked, err := perftest.Exchange(ctx, perftest.Side{Argv: t.argv}, perftest.Side{Argv: append(slices.Clone(t.argv), self)})
	if err != nil {
		return nil, err
	}
	if t.tool == "ib_write_bw" {
		rows, err := perftest.Bandwidths(string(asked))
		if err != nil {
			return nil, err
		}
		if err := rows[0].Check(); err != nil {
			return nil, err
		}
		if !(rows[0].Mpps > 0) || int(rows[0].Bytes) != probe.Bytes {
			return nil, fmt.Errorf("result table of %v bytes at %v million messages a second: asked for %d bytes", rows[0].Bytes, rows[0].Mpps, probe.Bytes)
		}
		return []float64{float64(probe.QPs) / rows[0].Mpps}, nil
	}
	l, err := perftest.Latencies(string(asked))
	if err != nil {
		return nil, err
	}
	if int(l.Bytes) != probe.Bytes || !(l.TypicalMicros > 0) {
		return nil, fmt.Errorf("result table of %v bytes in %v us: asked for %d bytes", l.Bytes, l.TypicalMicros, probe.Bytes)
	}
	return repetitions(l, probe.Repeat), nil
}

// repetitions splits a test's samples into repeat parts and returns their medians.
func repetitions(l perftest.Latency, repeat int) (micros []float64) {
	n := len(l.SamplesMicros) / repeat
	if n == 0 {
		return []float64{l.TypicalMicros}
	}
	for i := range repeat {
		part := slices.Sorted(slices.Values(l.SamplesMicros[i*n : (i+1)*n]))
		if m := part[n/2]; m > 0 {
			micros = append(micros, m)
		}
	}
	if len(micros) == 0 {
		return []float64{l.TypicalMicros}
	}
	return micros
}

// endpointOf parses an endpoint: its kind and number.
func endpointOf(id string) (hostping.Kind, int, bool) {
	for prefix, kind := range map[string]hostping.Kind{"numa": hostping.Memory, "gpu": hostping.GPU} {
		if digits, ok := strings.CutPrefix(id, prefix); ok {
			n, err := strconv.Atoi(digits)
			return kind, n, err == nil && n >= 0 && n <= math.MaxInt16 && strconv.Itoa(n) == digits
		}
	}
	return "", 0, false
}

// isDevice reports whether a text can be a device name and is not an option.
func isDevice(s string) bool {
	return s != "" && s[0] != '-' && s != "." && s != ".." && !strings.ContainsAny(s, "/\x00\n ")
}
