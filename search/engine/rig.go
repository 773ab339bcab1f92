package engine

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/internal/settings"
)

// Rig describes the hosts between which perftest or collie-engine generate traffic, and
// how to reach them.
type Rig struct {
	// The program that runs a command on a host, with its options; the destination and the command are appended.
	SSH []string `yaml:"ssh,flow"`
	// Wire rate of one direction, in Gb/s; 0: as reported by the adapter.
	LineRateGbps float64 `yaml:"line_rate_gbps"`
	// Packet rate of one direction, in millions per second; 0: the most that calibration measures.
	MessageRateMpps float64 `yaml:"message_rate_mpps"`
	// Length of a sample, in seconds.
	SampleSeconds int `yaml:"sample_seconds"`
	// Most samples of a measurement; sampling stops earlier once four in a row agree.
	Samples int `yaml:"samples"`
	// Time for one sample beyond its length: set-up of queue pairs, ssh.
	Timeout time.Duration `yaml:"timeout"`
	// First TCP port; each pair uses two.
	Port int `yaml:"port"`
	// Most queue pairs.
	MaxQPs int `yaml:"max_qps"`
	// Memory locations to search over, such as node0 and node1 (NUMA nodes, by numactl), or gpu0 (collie-engine); empty: the host's default.
	Memory []string `yaml:"memory,flow"`
	// Patterns of diagnostic counters: hw_counters/NAME of sysfs, ethtool/NAME of the interface.
	Counters []string `yaml:"counters,flow"`
	// Patterns of counters that increase when the network is congested: such a sample is void.
	Congestion []string `yaml:"congestion,flow"`
	// Additional arguments of perftest, such as -u 18.
	PerftestArgs []string `yaml:"perftest_args,flow"`
	// Path of Collie's traffic engine on the hosts.
	CollieEngine string `yaml:"collie_engine"`
	// Traffic class (ToS) of collie_engine's packets; 0: its default.
	TrafficClass int `yaml:"traffic_class"`
	// Pairs of hosts.
	Pairs []RigPair `yaml:"pairs"`
}

// RigPair is two hosts connected by a fabric: A is the client, B the server.
type RigPair struct {
	A RigHost `yaml:"a"`
	B RigHost `yaml:"b"`
}

// RigHost is a host and its adapter.
type RigHost struct {
	// Destination of ssh; empty: the local host.
	SSH string `yaml:"ssh"`
	// Address at which the other host reaches it.
	Address string `yaml:"address"`
	// RDMA device, such as mlx5_0.
	Device string `yaml:"device"`
	// Port of the device.
	DevicePort int `yaml:"device_port"`
	// Index of the GID; 0: the tool's default.
	GID int `yaml:"gid"`
	// Network interface of the port, whose statistics include pauses; empty: as in sysfs.
	Interface string `yaml:"interface"`
}

// DefaultRig has no hosts.
func DefaultRig() Rig {
	return Rig{SSH: []string{"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"}, SampleSeconds: 5, Samples: 12, Timeout: 2 * time.Minute, Port: 18515, MaxQPs: 16384,
		Counters:   []string{"hw_counters/*", "ethtool/*discard*", "ethtool/*drop*", "ethtool/*err*", "ethtool/*out_of_buffer*", "ethtool/*stall*"},
		Congestion: []string{"hw_counters/np_cnp_sent", "hw_counters/np_ecn_marked_roce_packets", "hw_counters/rp_cnp_handled"}, CollieEngine: "collie_engine"}
}

// ReadRig reads and validates a rig's YAML.
func ReadRig(file string) (Rig, error) {
	r := DefaultRig()
	text, err := plainfile.Read(file)
	if err != nil {
		return r, err
	}
	if err := settings.File(&r, settings.Source{Name: file, Text: text}, nil); err != nil {
		return r, err
	}
	for i := range r.Pairs {
		for _, h := range []*RigHost{&r.Pairs[i].A, &r.Pairs[i].B} {
			h.DevicePort = cmp.Or(h.DevicePort, 1)
		}
	}
	if err := r.Validate(); err != nil {
		return r, fmt.Errorf("%s: %w", file, err)
	}
	return r, nil
}

// portsPerPair is one for each direction.
const portsPerPair = 2

// Validate reports all errors.
func (r *Rig) Validate() error {
	var f faults.List
	f.Check(len(r.SSH) > 0, "ssh", "is empty: want a program and its options")
	f.Check(r.LineRateGbps >= 0, "line_rate_gbps", "must be 0 or more")
	f.Check(r.MessageRateMpps >= 0, "message_rate_mpps", "must be 0 or more")
	f.Check(r.SampleSeconds > 0, "sample_seconds", "must be above 0")
	f.Check(r.Samples > 0, "samples", "must be above 0")
	f.Check(r.Timeout > 0, "timeout", "must be above 0")
	f.Check(r.Port > 0 && r.Port+portsPerPair*len(r.Pairs) <= 65536, "port", "%d: want a port that leaves room for %d pairs", r.Port, len(r.Pairs))
	f.Check(r.MaxQPs > 0, "max_qps", "must be above 0")
	for _, m := range r.Memory {
		_, _, ok := memoryOf(m)
		f.Check(ok, "memory", "%q: want nodeN or gpuN", m)
	}
	for _, list := range []struct {
		key      string
		patterns []string
	}{{"counters", r.Counters}, {"congestion", r.Congestion}} {
		for _, p := range list.patterns {
			_, err := path.Match(p, "")
			f.Check(err == nil, list.key, "%q: %w", p, err)
		}
	}
	f.Check(len(r.Pairs) > 0, "pairs", "is empty: want two hosts a and b each")
	for i := range r.Pairs {
		f.Under(fmt.Sprintf("pairs.%d.a", i), r.Pairs[i].A.validate())
		f.Under(fmt.Sprintf("pairs.%d.b", i), r.Pairs[i].B.validate())
	}
	return f.Err()
}

func (h *RigHost) validate() error {
	var f faults.List
	f.Check(!strings.HasPrefix(h.SSH, "-"), "ssh", "%q: a destination cannot begin with a dash", h.SSH)
	f.Check(h.Address != "" && !strings.HasPrefix(h.Address, "-"), "address", "%q: want the address at which the other host reaches it", h.Address)
	f.Check(isName(h.Device), "device", "%q: want the name of an RDMA device", h.Device)
	f.Check(h.Interface == "" || isName(h.Interface), "interface", "%q: want the name of a network interface", h.Interface)
	f.Check(h.DevicePort > 0, "device_port", "%d: want 1 or more", h.DevicePort)
	return f.Err()
}

// isName reports whether a text can be a file name in sysfs.
func isName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\x00\n ")
}

// memoryOf parses a memory location: its kind, node or gpu, and number.
func memoryOf(name string) (kind string, number int, ok bool) {
	for _, kind := range []string{"node", "gpu"} {
		var n int
		if rest, found := strings.CutPrefix(name, kind); found {
			if _, err := fmt.Sscanf(rest, "%d", &n); err == nil && n >= 0 && fmt.Sprint(n) == rest {
				return kind, n, true
			}
		}
	}
	return "", 0, false
}
