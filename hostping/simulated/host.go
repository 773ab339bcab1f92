// Package simulated is a host in which every link has a capacity and a latency, with faults anywhere: the twelve
// bottlenecks of the paper's section 6, slight ones and several at once. From a graph, a seed and faults it computes
// the answers to loopback probes, with noise and outliers. It is independent of the analysis.
package simulated

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/giverny/giverny/hostping"
)

// Config of a host. Latencies are of a round trip, in microseconds; rates in Gb/s.
type Config struct {
	LineGbps                         float64                   // of each RNIC
	CapacityGbps                     map[hostping.Kind]float64 // of links without faults
	Micros                           map[hostping.Kind]float64 // of links
	SwitchMicros                     float64                   // of a PCIe link between two switches, instead
	ProcessMicros, RootComplexMicros float64                   // T_proc of equation 1; extra latency of GPU traffic through the root complex
	OutstandingKB                    float64                   // maximum outstanding read requests of an RNIC: its rate is this over the latency (section 3.2.2)
	Spread                           float64                   // relative standard deviation of links' capacities, fixed per host
	Noise                            float64                   // relative standard deviation of a measured latency
	Outliers                         float64                   // share of measurements that take up to OutlierFactor times as long
	OutlierFactor                    float64
}

// DefaultConfig is the paper's machine: line rate and 1.0 us within a switch, 125.5 Gb/s and 2.2 us through the root
// complex, 116.4 Gb/s and 2.4 us across UPI (Fig. 4).
func DefaultConfig() Config {
	return Config{
		LineGbps:          200,
		CapacityGbps:      map[hostping.Kind]float64{hostping.PCIe: 252, hostping.RootPort: 252, hostping.InterSocket: 480, hostping.Memory: 1600},
		Micros:            map[hostping.Kind]float64{hostping.PCIe: 0.5, hostping.RootPort: 0.05, hostping.InterSocket: 0.2, hostping.Memory: 0.35},
		SwitchMicros:      0.02,
		ProcessMicros:     0.6,
		RootComplexMicros: 1.1,
		OutstandingKB:     34.5,
		Spread:            0.01,
		Noise:             0.02,
		Outliers:          0.02,
		OutlierFactor:     5,
	}
}

// Host answers probes. It is not safe for concurrent use.
type Host struct {
	cfg    Config
	graph  hostping.Graph
	kinds  map[string]hostping.Kind
	paths  map[hostping.Pair][]string
	scale  map[string]float64 // factor of each link's capacity
	faults []Fault
	random *rand.Rand

	busyRNICs map[string]float64
	gone      map[string]bool
}

// New returns a healthy, idle host. The seed determines its links' spread and all noise.
func New(cfg Config, g hostping.Graph, seed uint64) *Host {
	h := &Host{cfg: cfg, graph: g, kinds: map[string]hostping.Kind{}, paths: map[hostping.Pair][]string{}, scale: map[string]float64{},
		random: rand.New(rand.NewPCG(seed, 0x686f7374)), busyRNICs: map[string]float64{}, gone: map[string]bool{}}
	for _, l := range g.Links {
		h.kinds[l.ID] = l.Kind
		h.scale[l.ID] = 1 + cfg.Spread*h.random.NormFloat64()
	}
	for _, p := range g.Paths {
		h.paths[p.Pair] = p.Links
	}
	return h
}

// SetBusy gives an RNIC service traffic of a share of its line rate.
func (h *Host) SetBusy(rnic string, share float64) { h.busyRNICs[rnic] = share }

// Remove removes a device: its probes are then invalid.
func (h *Host) Remove(id string) { h.gone[id] = true }

// Probe answers one probe.
func (h *Host) Probe(p hostping.Probe) hostping.ProbeResult {
	links, ok := h.paths[p.Pair]
	if !ok || h.gone[p.RNIC] || h.gone[p.Endpoint] || p.Bytes < 1 || p.QPs < 1 || p.Repeat < 1 {
		return hostping.ProbeResult{Status: hostping.Invalid, Detail: "no such pair"}
	}
	latency, rate := h.path(p.Pair, links)
	r := hostping.ProbeResult{Status: hostping.OK}
	for range p.Repeat {
		micros := h.cfg.ProcessMicros + latency + h.transfer(p, rate)
		micros *= math.Max(0.5, 1+h.cfg.Noise*h.random.NormFloat64())
		if h.random.Float64() < h.cfg.Outliers {
			micros *= 1 + (h.cfg.OutlierFactor-1)*h.random.Float64()
		}
		r.LatencyMicros = append(r.LatencyMicros, micros)
	}
	return r
}

// path is the latency and rate of a pair, without its RNIC's own limits.
func (h *Host) path(pair hostping.Pair, links []string) (latency, rate float64) {
	rate = h.cfg.LineGbps
	crosses := h.crosses(links)
	for i, l := range links {
		if h.kinds[l] == hostping.PCIe && i > 0 && i < len(links)-1 {
			latency += h.cfg.SwitchMicros
		} else {
			latency += h.cfg.Micros[h.kinds[l]]
		}
		capacity := h.cfg.CapacityGbps[h.kinds[l]] * h.scale[l]
		for i := range h.faults {
			capacity, latency = h.faults[i].onLink(l, capacity, latency)
		}
		rate = min(rate, capacity)
	}
	if isGPU(pair.Endpoint) {
		detour := crosses
		for i := range h.faults {
			detour = detour || h.faults[i].detours(h, pair, links)
		}
		if detour {
			latency += h.cfg.RootComplexMicros
			if !crosses {
				latency += 2 * h.cfg.Micros[hostping.RootPort]
			}
		}
	}
	rate = min(rate, h.cfg.OutstandingKB*8/latency)
	if share := h.busyRNICs[pair.RNIC]; share > 0 {
		rate = min(rate, h.cfg.LineGbps*(1-share))
	}
	return latency, rate
}

// crosses reports whether a path goes through the root complex.
func (h *Host) crosses(links []string) bool {
	return slices.ContainsFunc(links, func(l string) bool { return h.kinds[l] != hostping.PCIe })
}

// transfer is the time to transfer all bytes, in microseconds.
func (h *Host) transfer(p hostping.Probe, rate float64) float64 {
	kilobits := float64(p.Bytes) * 8 / 1000
	each := rate / float64(p.QPs) // the queue pairs share the path
	for i := range h.faults {
		switch f := &h.faults[i]; {
		case f.RNIC != p.RNIC:
		case f.Bottleneck == hostping.TxWindowTooSmall:
			each = min(each, f.Share*h.cfg.LineGbps)
		case f.Bottleneck == hostping.RNICSlowStart:
			return slowStart(kilobits, each, f)
		}
	}
	return kilobits / each
}

// slowStart is the time of a transfer whose rate doubles every DoublingMicros from FirstGbps up to rate.
func slowStart(kilobits, rate float64, f *Fault) float64 {
	at, micros := min(f.FirstGbps, rate), 0.
	for at < rate && kilobits > 0 {
		step := min(f.DoublingMicros, kilobits/at)
		micros += step
		kilobits -= at * step
		at = min(rate, 2*at)
	}
	return micros + max(0, kilobits)/rate
}

func isGPU(id string) bool { return len(id) > 3 && id[:3] == "gpu" }

// Utilisation returns the host's counters.
func (h *Host) Utilisation() hostping.Utilisation {
	u := hostping.Utilisation{RNICs: map[string]float64{}, GPUs: map[string]float64{}, Links: map[string]float64{}, Processes: []hostping.Process{}}
	for _, r := range h.graph.RNICs {
		u.RNICs[r.ID] = h.busyRNICs[r.ID]
	}
	for _, e := range h.graph.Endpoints {
		if e.Kind == hostping.GPU && !h.gone[e.ID] {
			u.GPUs[e.ID] = 0
		}
	}
	for _, l := range h.graph.Links {
		u.Links[l.ID] = 0.05
	}
	for i := range h.faults {
		h.faults[i].use(&u)
	}
	return u
}
