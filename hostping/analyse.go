package hostping

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Input is the input of an analysis.
type Input struct {
	Graph       Graph
	Baseline    Baseline
	Measured    []Measured
	Curves      []Curve // of RNICs requested by Analysis.Curves
	Utilisation Utilisation
	Trigger     string   // the RNIC whose pauses or drops triggered the run; empty: none
	History     *History // of earlier runs; nil: none is kept
	TimeNanos   int64    // of this run
}

// Analysis is a report, and further measurements that would make it more certain.
type Analysis struct {
	Report  Report
	Run     PastRun // for the history
	Confirm []Pair  // verdicts rest on these alone: measure them again
	Curves  []Pair  // RNICs that are slow to all endpoints: measure their curves
}

// A verdict that rests on at most fewRoutes, or has a confidence below sureEnough, is confirmed first.
const (
	fewRoutes  = 3
	sureEnough = 0.93
)

// Analyse finds the bottlenecks of a run (section 4.3): first settings that send GPU traffic through the root complex,
// then the set of degraded links that explains the matrix best, then causes by utilisation, curves and history.
func Analyse(in Input) Analysis {
	v := newView(&in)
	a := Analysis{Report: Report{State: v.state, Verdicts: []Verdict{}, Matrix: []Cell{}, Unmeasured: []Unmeasured{}, Notes: []string{}, Model: in.Graph.Model}}
	v.matrix(&a.Report)
	found := v.misconfigurations()
	v.excuse(found)
	a.Confirm = slices.Concat(v.doubtful(), v.leaders())
	for _, m := range found {
		a.Report.Verdicts = append(a.Report.Verdicts, v.misconfigured(&m))
		if len(m.routes) <= fewRoutes {
			a.confirm(v, m.routes)
		}
	}
	f := newFitter(v)
	best := f.search(f.none(), -1)
	var failed []int
	accused := v.accuse(f, &best, &a)
	for i := range accused {
		c := &accused[i]
		if paced(accused, v, c) {
			continue
		}
		if len(c.routes) <= fewRoutes || c.verdict.Confidence < sureEnough {
			a.confirm(v, c.routes)
		}
		if isFailure(c.verdict.Bottleneck) {
			failed = append(failed, c.link)
		}
		a.Report.Verdicts = append(a.Report.Verdicts, c.verdict)
	}
	v.triggered(&a)
	algorithm := v.algorithm1()
	a.Report.Algorithm1 = algorithm
	a.Run = v.pastRun(f, &best, failed, algorithm)
	v.flapping(&a)
	slices.SortStableFunc(a.Report.Verdicts, func(x, y Verdict) int { return cmp.Compare(y.Confidence, x.Confidence) })
	a.Report.Notes = append(a.Report.Notes, v.notes...)
	return a
}

// accusation is a verdict on a link and its basis.
type accusation struct {
	verdict Verdict
	link    int
	routes  []int
}

// left is the median share of their baselines that the routes still carry.
func (c *accusation) left(v *view) float64 {
	var ratios []float64
	for _, i := range c.routes {
		ratios = append(ratios, v.routes[i].ratio())
	}
	return Median(ratios)
}

// accuse makes the verdicts on the links of a hypothesis, and requests the curves that they need.
func (v *view) accuse(f *fitter, best *hypothesis, a *Analysis) (accused []accusation) {
	for _, d := range best.links {
		routes, rate, share := f.narrowed(best, d)
		if len(routes) == 0 || share >= 1-abnormalShare {
			continue
		}
		verdict, ask, ok := v.verdict(f, best, d, routes, rate, share)
		if !ok {
			continue
		}
		if ask != nil {
			a.Curves = append(a.Curves, *ask)
			a.Confirm = append(a.Confirm, *ask) // the curve is compared with its rate
		}
		accused = append(accused, accusation{verdict, d.link, routes})
	}
	return accused
}

// paced reports whether slow start or the Tx window of an RNIC explains an accusation: either slows every route of
// its RNIC by about the same factor, while a narrow link does not affect routes that are slower anyway.
func paced(accused []accusation, v *view, c *accusation) bool {
	return slices.ContainsFunc(accused, func(o accusation) bool {
		return o.link != c.link && (o.verdict.Bottleneck == RNICSlowStart || o.verdict.Bottleneck == TxWindowTooSmall) && c.left(v) >= o.left(v)*(1-abnormalShare) &&
			!slices.ContainsFunc(c.routes, func(i int) bool { return v.routes[i].RNIC != o.verdict.RNIC })
	})
}

// confirm requests the pairs that a verdict rests on.
func (a *Analysis) confirm(v *view, routes []int) {
	for _, i := range routes {
		a.Confirm = append(a.Confirm, v.routes[i].Pair)
	}
}

// matrix fills in the report's cells and the unmeasured pairs.
func (v *view) matrix(r *Report) {
	base := map[Pair]*PairBaseline{}
	for i := range v.in.Baseline.Pairs {
		base[v.in.Baseline.Pairs[i].Pair] = &v.in.Baseline.Pairs[i]
	}
	missing, tried := map[string]int{}, map[string]int{}
	for i := range v.in.Measured {
		m := &v.in.Measured[i]
		tried[m.Endpoint]++
		if !m.OK() {
			missing[m.Endpoint]++
			r.Unmeasured = append(r.Unmeasured, Unmeasured{Pair: m.Pair, Reason: m.Reason})
			continue
		}
		cell := Cell{Pair: m.Pair, LatencyMicros: m.LatencyMicros, Gbps: m.Gbps}
		if b := base[m.Pair]; b != nil {
			cell.BaselineLatencyMicros, cell.BaselineGbps = b.Typical()
		}
		r.Matrix = append(r.Matrix, cell)
	}
	for _, e := range v.in.Graph.Endpoints {
		if missing[e.ID] > 0 && missing[e.ID] == tried[e.ID] {
			v.notes = append(v.notes, fmt.Sprintf("%s cannot be reached by any RNIC: it may have disappeared from the host", e.ID))
		}
	}
	v.absent()
}

// absent notes the devices in the baseline that this host lacks.
func (v *view) absent() {
	here := map[string]bool{}
	for _, p := range v.in.Graph.Paths {
		here[p.RNIC], here[p.Endpoint] = true, true
	}
	noted := map[string]bool{}
	for _, p := range v.in.Baseline.Pairs {
		for _, id := range []string{p.RNIC, p.Endpoint} {
			if !here[id] && !noted[id] {
				noted[id] = true
				v.notes = append(v.notes, fmt.Sprintf("%s of the baseline's hosts is missing in this host", id))
			}
		}
	}
}

// misconfigured makes the verdict for ACS or ATS.
func (v *view) misconfigured(m *misconfiguration) Verdict {
	verdict := Verdict{Bottleneck: m.bottleneck, RNIC: m.rnic, OverloadedBy: []Consumer{}, Evidence: Evidence{Abnormal: [][2]string{}, Cleared: map[string][2]string{}}}
	var latency, rate []float64
	for _, i := range m.routes {
		r := &v.routes[i]
		latency = append(latency, r.m.LatencyMicros/r.latency)
		rate = append(rate, r.ratio())
		verdict.Evidence.Abnormal = append(verdict.Evidence.Abnormal, [2]string{r.RNIC, r.Endpoint})
		v.clear(&verdict.Evidence, r, -1)
	}
	verdict.Confidence = confidence(routeCost / 2 * float64(len(m.routes)))
	what := fmt.Sprintf("ACS seems to be enabled %s", m.where)
	if m.bottleneck == ATSDisabled {
		what = fmt.Sprintf("ATS seems to be disabled on %s", m.rnic)
	}
	verdict.Text = fmt.Sprintf("%s: GPU traffic goes through the root complex, latency %.1f times its baseline, bandwidth at %.0f%%", what, Median(latency), 100*Median(rate))
	return verdict
}

// clear names, for each link of a route except the accused one, a pair that shows the link to be sound.
func (v *view) clear(e *Evidence, r *route, accused int) {
	for _, l := range r.at {
		id := v.links[l].ID
		if _, ok := e.Cleared[id]; ok {
			continue
		}
		best := -1
		for i := range v.routes {
			o := &v.routes[i]
			if slices.Contains(o.at, l) && !slices.Contains(o.at, accused) && o.ratio() >= 1-abnormalShare && (best < 0 || o.m.Gbps > v.routes[best].m.Gbps) {
				best = i
			}
		}
		if best >= 0 {
			e.Cleared[id] = [2]string{v.routes[best].RNIC, v.routes[best].Endpoint}
		}
	}
}

// verdict names the cause of a degraded link; ask is a pair whose curve would help. ok is false where the paper has no
// name: a PCIe link in full use is none of the twelve.
func (v *view) verdict(f *fitter, h *hypothesis, d degraded, routes []int, rate, share float64) (verdict Verdict, ask *Pair, ok bool) {
	link := v.links[d.link]
	used := v.in.Utilisation.Links[link.ID]
	verdict = Verdict{Link: link.ID, OverloadedBy: []Consumer{}, Evidence: Evidence{Abnormal: [][2]string{}, Cleared: map[string][2]string{}}}
	for _, i := range routes {
		verdict.Evidence.Abnormal = append(verdict.Evidence.Abnormal, [2]string{v.routes[i].RNIC, v.routes[i].Endpoint})
		v.clear(&verdict.Evidence, &v.routes[i], d.link)
	}
	rnics, endpoints := v.device(d.link)
	known := true
	switch {
	case link.Kind == Memory && used > overloadedShare:
		verdict.Bottleneck, verdict.Endpoint = MemoryChannelOverloaded, endpoints[0]
	case link.Kind == Memory:
		verdict.Bottleneck, verdict.Endpoint = MemoryChannelFailure, endpoints[0]
	case link.Kind == InterSocket && used > overloadedShare:
		verdict.Bottleneck = InterSocketOverloaded
	case link.Kind == InterSocket:
		verdict.Bottleneck = InterSocketFailure
	case used > overloadedShare:
		v.notes = append(v.notes, fmt.Sprintf("%s is overloaded, %.0f%% in use: its paths reach %.0f%% of their baseline", link.ID, 100*used, 100*share))
		return verdict, nil, false
	case len(rnics) > 0:
		verdict.Bottleneck, verdict.RNIC = RNICPCIeFailure, rnics[0]
		verdict.Bottleneck, ask, known = v.rnicCause(h, d.link, routes)
		if verdict.Bottleneck != RNICPCIeFailure {
			verdict.Link = ""
		}
	case len(endpoints) > 0:
		verdict.Bottleneck, verdict.Endpoint = GPUPCIeFailure, endpoints[0]
	default:
		verdict.Bottleneck = RootPortFailure
	}
	verdict.OverloadedBy = v.consumers(verdict.Bottleneck, link.ID)
	verdict.Confidence = confidence(f.gap(h, d.link)) * beyond(share, v.noise/math.Sqrt(float64(len(routes))))
	if !known {
		verdict.Confidence /= 2
	}
	verdict.Text = v.text(&verdict, link, rate, share, used)
	return verdict, ask, true
}

// rnicCause reads the RNIC's curve, or requests one on the route with the highest rate allowed by the other links of h.
func (v *view) rnicCause(h *hypothesis, link int, routes []int) (b Bottleneck, ask *Pair, known bool) {
	best, most := -1, 0.
	for _, i := range routes {
		r := &v.routes[i]
		could := r.limit
		for _, other := range h.links {
			if other.link != link && slices.Contains(r.at, other.link) {
				could = min(could, math.Exp(other.lnGbps))
			}
		}
		if r.at[0] == link && could > most {
			best, most = i, could
		}
	}
	if best < 0 {
		return RNICPCIeFailure, nil, true
	}
	for i := range v.in.Curves {
		for k := range v.routes {
			if r, c := &v.routes[k], &v.in.Curves[i]; r.Pair == c.Pair && r.RNIC == v.routes[best].RNIC {
				b, known = c.bottleneck(r.latency, r.m.Gbps, r.limit, v.in.Baseline.LargeBytes)
				return b, nil, known
			}
		}
	}
	return RNICPCIeFailure, &v.routes[best].Pair, false
}

// consumers lists the processes that use an overloaded link, heaviest first.
func (v *view) consumers(b Bottleneck, link string) []Consumer {
	found := []Consumer{}
	if b != MemoryChannelOverloaded && b != InterSocketOverloaded {
		return found
	}
	for _, p := range v.in.Utilisation.Processes {
		if p.Links[link] > 0 {
			found = append(found, Consumer{PID: p.PID, Name: p.Name, Share: p.Links[link]})
		}
	}
	slices.SortStableFunc(found, func(a, b Consumer) int { return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.PID, b.PID)) })
	return found
}

// text describes a verdict.
func (v *view) text(verdict *Verdict, link Link, rate, share, used float64) string {
	what := map[Bottleneck]string{
		RNICPCIeFailure: "PCIe link of " + verdict.RNIC, GPUPCIeFailure: "PCIe link of " + verdict.Endpoint,
		MemoryChannelFailure: "memory channel of " + verdict.Endpoint, MemoryChannelOverloaded: "memory channel of " + verdict.Endpoint,
		InterSocketFailure: "bus of " + link.A + " and " + link.B, InterSocketOverloaded: "bus of " + link.A + " and " + link.B,
		RootPortFailure: "root port of " + link.A + " to " + link.B,
		RNICSlowStart:   "slow start of " + verdict.RNIC, TxWindowTooSmall: "Tx window of " + verdict.RNIC,
	}[verdict.Bottleneck]
	text := fmt.Sprintf("%s at %.0f%% of baseline (%.0f Gb/s)", what, 100*share, rate)
	if used > overloadedShare {
		text += fmt.Sprintf(", %.0f%% in use", 100*used)
	}
	for i, c := range verdict.OverloadedBy {
		if i == 0 {
			text += fmt.Sprintf(", most by %s (process %d, %.0f%%)", c.Name, c.PID, 100*c.Share)
		}
	}
	if cleared := slices.Sorted(maps.Keys(verdict.Evidence.Cleared)); len(cleared) > 0 {
		text += "; cleared: " + strings.Join(cleared, ", ")
	}
	return text
}

// triggered handles an RNIC that pauses or drops while no link is abnormal: its own PCIe link is the bottleneck, due
// to its loopback traffic or a failure (section 4.3).
func (v *view) triggered(a *Analysis) {
	if v.in.Trigger == "" || len(a.Report.Verdicts) > 0 {
		return
	}
	for i := range v.routes {
		if r := &v.routes[i]; r.RNIC == v.in.Trigger {
			link := r.Links[0]
			if used := v.in.Utilisation.Links[link]; used > overloadedShare {
				v.notes = append(v.notes, fmt.Sprintf("%s is overloaded, %.0f%% in use, while %s pauses or drops: look for loopback traffic", link, 100*used, r.RNIC))
				return
			}
			a.Report.Verdicts = append(a.Report.Verdicts, Verdict{Bottleneck: RNICPCIeFailure, Link: link, RNIC: r.RNIC, Confidence: lastResort, OverloadedBy: []Consumer{},
				Evidence: Evidence{Abnormal: [][2]string{}, Cleared: map[string][2]string{}}, Text: fmt.Sprintf("%s pauses or drops and no other link is abnormal: its PCIe link", r.RNIC)})
			return
		}
	}
}

// lastResort is the confidence of the default verdict when nothing was found.
const lastResort = 0.3
