package hostping

import (
	"fmt"
	"slices"
)

// misconfiguration is ACS or ATS: an RNIC is slow to nearby GPUs because the packets go through the root complex, so
// both latency and bandwidth suffer (#7, #8). A failed link does not change a small message's latency.
type misconfiguration struct {
	bottleneck Bottleneck
	rnic       string // for ATS
	where      string // for ACS, for display
	routes     []int
}

// detours are the routes to GPUs with latency above the baseline by Abnormal_th and bandwidth below it. Excess
// latency that the RNIC's memory endpoints see too is the RNIC's own load and does not count. Service traffic on an
// RNIC hides the bandwidth, so there latency alone decides; such soft detours count only together with hard ones.
func (v *view) detours() (hard, soft []int) {
	own := map[string]float64{} // by RNIC, the least excess of its memory endpoints
	for i := range v.routes {
		if r := &v.routes[i]; !r.gpu && r.near {
			excess := max(0, r.m.LatencyMicros-r.latency)
			if least, ok := own[r.RNIC]; !ok || excess < least {
				own[r.RNIC] = excess
			}
		}
	}
	for i := range v.routes {
		r := &v.routes[i]
		excess := r.m.LatencyMicros - r.latency - own[r.RNIC]
		switch {
		case !r.gpu || excess <= abnormalShare*r.latency || v.overloaded(r):
		case r.ratio() < 1-abnormalShare:
			hard = append(hard, i)
		case r.relative:
			soft = append(soft, i)
		}
	}
	return hard, soft
}

// overloaded reports whether a link of the route is overloaded: queues raise latency too.
func (v *view) overloaded(r *route) bool {
	return slices.ContainsFunc(r.Links, func(l string) bool { return v.in.Utilisation.Links[l] > overloadedShare })
}

// misconfigurations groups the detours: ACS if all RNICs of the host or of a root port have them, ATS if one RNIC
// among others does; the rest is ACS at the switch where the paths turn.
func (v *view) misconfigurations() []misconfiguration {
	slow := map[string][]int{}
	hard, soft := v.detours()
	for _, i := range slices.Concat(hard, soft) {
		if v.routes[i].near {
			slow[v.routes[i].RNIC] = append(slow[v.routes[i].RNIC], i)
		}
	}
	rnics, whole := v.nearGPUs(slow)
	var found []misconfiguration
	take := func(m misconfiguration, of ...string) {
		for _, r := range of {
			m.routes = append(m.routes, slow[r]...)
			delete(slow, r)
		}
		found = append(found, m)
	}
	if len(whole) == len(rnics) {
		take(misconfiguration{bottleneck: ACSEnabled, where: "on the whole host"}, whole...)
	}
	for _, r := range whole {
		if len(slow[r]) == 0 {
			continue
		}
		var siblings []string // RNICs at its root port
		for _, other := range rnics {
			if v.ports[other] == v.ports[r] {
				siblings = append(siblings, other)
			}
		}
		all := !slices.ContainsFunc(siblings, func(o string) bool { return !slices.Contains(whole, o) || len(slow[o]) == 0 })
		if len(siblings) > 1 && all {
			take(misconfiguration{bottleneck: ACSEnabled, where: "below " + v.ports[r]}, siblings...)
		} else {
			take(misconfiguration{bottleneck: ATSDisabled, rnic: r}, r)
		}
	}
	found = append(found, v.partial(rnics, slow)...)
	return slices.DeleteFunc(found, func(m misconfiguration) bool { // latency alone is not enough
		return !slices.ContainsFunc(m.routes, func(i int) bool { return slices.Contains(hard, i) })
	})
}

// nearGPUs lists the RNICs with nearby GPUs, and those of them that are slow to all of these.
func (v *view) nearGPUs(slow map[string][]int) (rnics, whole []string) {
	near := map[string]int{}
	for i := range v.routes {
		if r := &v.routes[i]; r.gpu && r.near {
			if near[r.RNIC]++; near[r.RNIC] == 1 {
				rnics = append(rnics, r.RNIC)
			}
		}
	}
	for _, r := range rnics {
		if len(slow[r]) == near[r] {
			whole = append(whole, r)
		}
	}
	return rnics, whole
}

// partial handles detours of RNICs that reach other nearby GPUs normally: ACS at the switch where these paths turn.
func (v *view) partial(rnics []string, slow map[string][]int) (found []misconfiguration) {
	turns := map[string]int{} // switch -> index in found
	for _, r := range rnics {
		for _, i := range slow[r] {
			turn := v.turn(&v.routes[i])
			at, ok := turns[turn]
			if !ok {
				at = len(found)
				turns[turn] = at
				found = append(found, misconfiguration{bottleneck: ACSEnabled, where: fmt.Sprintf("at %s", turn)})
			}
			found[at].routes = append(found[at].routes, i)
		}
	}
	return found
}

// turn returns the vertex of a route nearest to the root, where it turns from up to down.
func (v *view) turn(r *route) string {
	at := ""
	for k, l := range r.at {
		if link := v.links[l]; k == 0 || link.B == at {
			at = link.A
		}
	}
	return at
}

// excuse excludes routes from the search for degraded links: those of the misconfigurations, and all detours of their
// RNICs.
func (v *view) excuse(found []misconfiguration) {
	touched := map[string]bool{}
	for _, m := range found {
		for _, i := range m.routes {
			touched[v.routes[i].RNIC] = true
			v.routes[i].explained = true
		}
	}
	hard, _ := v.detours()
	for _, i := range hard {
		if touched[v.routes[i].RNIC] {
			v.routes[i].explained = true
		}
	}
}

// doubtful returns the pairs without a detour whose RNIC has one to another GPU or, if most RNICs have one, all pairs
// without: an outlier there makes ATS look like ACS at a switch, and ACS like several ATS.
func (v *view) doubtful() (pairs []Pair) {
	slow, all := map[string]bool{}, map[string]bool{}
	hard, soft := v.detours()
	detours := slices.Concat(hard, soft)
	for _, i := range detours {
		if v.routes[i].near {
			slow[v.routes[i].RNIC] = true
		}
	}
	for i := range v.routes {
		if r := &v.routes[i]; r.gpu && r.near {
			all[r.RNIC] = true
		}
	}
	most := 2*len(slow) > len(all)
	for i := range v.routes {
		if r := &v.routes[i]; r.gpu && r.near && (slow[r.RNIC] || most) && !slices.Contains(detours, i) {
			pairs = append(pairs, r.Pair)
		}
	}
	return pairs
}
