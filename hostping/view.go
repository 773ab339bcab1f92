package hostping

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Thresholds of section 5.
const (
	abnormalShare   = 0.20 // Abnormal_th: of latency or bandwidth against the baseline
	overloadedShare = 0.90 // Util_high
	idleRNICShare   = 0.05 // Thp_low, of the line rate

	idleGPUShare = 0.05
	// crowdedShare is the use of a root port that may slow the other RNICs there.
	crowdedShare = 0.3
	// lineRateShare of an RNIC's best baseline counts as line rate: memory that reaches it is affinitive.
	lineRateShare = 0.9
)

// route is a measured path with its context.
type route struct {
	Path
	at        []int // indexes of its links
	gpu       bool
	near      bool // affinitive
	relative  bool // judged relative to its RNIC's affinitive endpoints, not by the baseline alone
	m         Measured
	latency   float64 // of the baseline, microseconds
	gbps      float64 // of the baseline
	limit     float64 // expected rate now if no link were degraded, Gb/s
	explained bool    // by a misconfiguration
}

// ratio is the measured over the expected rate.
func (r *route) ratio() float64 { return r.m.Gbps / r.limit }

// view is a run combined with its baseline.
type view struct {
	in       *Input
	links    []Link
	index    map[string]int
	routes   []route
	relative map[string]bool // RNICs judged among their own endpoints: with service traffic, or next to one that crowds their root port
	ports    map[string]string
	state    State
	noise    float64 // relative standard error of a path's bandwidth
	notes    []string
}

// newView combines measurements, baseline and utilisation.
func newView(in *Input) *view {
	v := &view{in: in, links: in.Graph.Links, index: map[string]int{}, relative: map[string]bool{}}
	for i, l := range v.links {
		v.index[l.ID] = i
	}
	v.state = StateOf(&in.Utilisation)
	v.ports = rootPorts(&in.Graph)
	taken := map[string]bool{}
	for _, r := range in.Graph.RNICs {
		if in.Utilisation.RNICs[r.ID] > idleRNICShare || in.Trigger == r.ID {
			v.relative[r.ID] = true
			port := v.ports[r.ID]
			used, known := in.Utilisation.Links[port]
			taken[port] = taken[port] || in.Trigger == r.ID || !known || used > crowdedShare
		}
	}
	for _, r := range in.Graph.RNICs {
		if taken[v.ports[r.ID]] {
			v.relative[r.ID] = true
		}
	}
	if in.Trigger != "" {
		v.state = Busy
	}
	v.join()
	v.limits()
	return v
}

// StateOf is the paper's idle rule (section 4.2): little traffic on all RNICs, and all GPUs inactive.
func StateOf(u *Utilisation) State {
	for _, share := range u.RNICs {
		if share > idleRNICShare {
			return Busy
		}
	}
	for _, share := range u.GPUs {
		if share > idleGPUShare {
			return Busy
		}
	}
	return Idle
}

// rootPorts maps each RNIC to the link at its root port.
func rootPorts(g *Graph) map[string]string {
	kinds := map[string]Kind{}
	for _, l := range g.Links {
		kinds[l.ID] = l.Kind
	}
	ports := map[string]string{}
	for _, p := range g.Paths {
		for _, l := range p.Links {
			if kinds[l] == RootPort {
				ports[p.RNIC] = cmp.Or(ports[p.RNIC], l)
				break
			}
		}
	}
	return ports
}

// join makes the routes of the pairs that were measured and have a baseline.
func (v *view) join() {
	base := map[Pair]*PairBaseline{}
	best := map[string]float64{}
	for i := range v.in.Baseline.Pairs {
		p := &v.in.Baseline.Pairs[i]
		base[p.Pair] = p
		_, rate := p.Typical()
		best[p.RNIC] = max(best[p.RNIC], rate)
	}
	measured := map[Pair]*Measured{}
	for i := range v.in.Measured {
		measured[v.in.Measured[i].Pair] = &v.in.Measured[i]
	}
	gpu := map[string]bool{}
	for _, e := range v.in.Graph.Endpoints {
		gpu[e.ID] = e.Kind == GPU
	}
	var noises []float64
	for _, p := range v.in.Graph.Paths {
		m, b := measured[p.Pair], base[p.Pair]
		if m == nil || !m.OK() {
			continue
		}
		if b == nil {
			v.notes = append(v.notes, fmt.Sprintf("%s to %s is not judged: the baseline does not have it", p.RNIC, p.Endpoint))
			continue
		}
		r := route{Path: p, gpu: gpu[p.Endpoint], m: *m, relative: v.relative[p.RNIC]}
		r.latency, r.gbps = b.Typical()
		r.near = slices.Contains(v.in.Graph.Affinitive[p.RNIC], p.Endpoint) && (r.gpu || r.gbps >= lineRateShare*best[p.RNIC])
		for _, l := range p.Links {
			r.at = append(r.at, v.index[l])
		}
		v.routes = append(v.routes, r)
		noises = append(noises, m.Error)
	}
	v.noise = min(0.15, max(0.01, Median(noises)))
}

// limits sets each route's expected rate without a degraded link: its baseline and, for an RNIC judged among its own
// endpoints, at most the best current rate of these (section 4.3, busy hosts).
func (v *view) limits() {
	now := map[string]float64{}
	for i := range v.routes {
		if r := &v.routes[i]; r.near {
			now[r.RNIC] = max(now[r.RNIC], r.m.Gbps)
		}
	}
	for i := range v.routes {
		r := &v.routes[i]
		r.limit = r.gbps
		if r.relative && now[r.RNIC] > 0 {
			r.limit = min(r.limit, now[r.RNIC])
		}
	}
}

// leaders returns the pairs that alone determine the current rate of their RNIC: an outlier there makes all others
// look slow.
func (v *view) leaders() (pairs []Pair) {
	first, second := map[string]int{}, map[string]float64{}
	for i := range v.routes {
		r := &v.routes[i]
		if !r.relative || !r.near {
			continue
		}
		at, ok := first[r.RNIC]
		switch {
		case !ok:
			first[r.RNIC] = i
		case r.m.Gbps > v.routes[at].m.Gbps:
			first[r.RNIC], second[r.RNIC] = i, v.routes[at].m.Gbps
		default:
			second[r.RNIC] = max(second[r.RNIC], r.m.Gbps)
		}
	}
	for _, r := range v.in.Graph.RNICs {
		if at, ok := first[r.ID]; ok && second[r.ID] < suspicious*v.routes[at].m.Gbps {
			pairs = append(pairs, v.routes[at].Pair)
		}
	}
	return pairs
}

// algorithm1 runs the paper's algorithm over the routes: abnormal ones and, as normal ones, affinitive ones of RNICs
// judged by the baseline (section 4.3). Routes explained by a misconfiguration are excluded.
func (v *view) algorithm1() map[string]LinkFinding {
	var normal, abnormal []Path
	for i := range v.routes {
		switch r := &v.routes[i]; {
		case r.explained:
		case r.ratio() < 1-abnormalShare:
			abnormal = append(abnormal, r.Path)
		case r.near && !r.relative:
			normal = append(normal, r.Path)
		}
	}
	ids := make([]string, len(v.links))
	for i, l := range v.links {
		ids[i] = l.ID
	}
	return DetectAbnormalLinks(ids, normal, abnormal)
}

// device returns the RNICs and endpoints at the lower end of a link.
func (v *view) device(link int) (rnics, endpoints []string) {
	last := v.links[link].ID
	for _, p := range v.in.Graph.Paths {
		if p.Links[0] == last && !slices.Contains(rnics, p.RNIC) {
			rnics = append(rnics, p.RNIC)
		}
		if p.Links[len(p.Links)-1] == last && !slices.Contains(endpoints, p.Endpoint) {
			endpoints = append(endpoints, p.Endpoint)
		}
	}
	return rnics, endpoints
}

func ln(x float64) float64 { return math.Log(x) }
