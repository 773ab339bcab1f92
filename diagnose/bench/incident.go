package bench

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/simulate/telemetry"
	"github.com/giverny/giverny/topology"
)

// Set is a family of incidents.
type Set struct {
	Name   string
	fabric []string // topology specifications to draw from
	style  style
}

// style is how the sites of a set differ from those of another, apart from the fabric.
type style struct {
	floorPercent  [2]float64 // range: mean stall of a calm link
	spreadPercent [2]float64 // range: standard deviation of a reading
	lossPercent   float64    // at most: lost readings of a device
	wavePercent   [2]float64 // range: waves of steady traffic
	countNoise    float64    // standard deviation of the logarithm of a job's measured traffic
	lostCells     float64    // at most: share of empty cells in the traffic table
	noTraffic     float64    // share of incidents without a traffic table
	victimRatio   [2]float64
	faint         bool // regions begin as small as regions can be, and incidents outlast the memory of a diagnosis
	steps         bool // most loads begin in a step; otherwise all rise over minutes
	decoys        float64
}

var plain = style{floorPercent: [2]float64{.4, 1.4}, spreadPercent: [2]float64{.2, .6}, lossPercent: .5, wavePercent: [2]float64{3, 15},
	countNoise: .03, lostCells: .1, noTraffic: .15, victimRatio: [2]float64{1.3, 3}, steps: true, decoys: .5}

var otherStyle = style{floorPercent: [2]float64{.8, 2.2}, spreadPercent: [2]float64{.5, 1.2}, lossPercent: 3, wavePercent: [2]float64{15, 40},
	countNoise: .15, lostCells: .3, noTraffic: .25, victimRatio: [2]float64{1, 6}, decoys: .8}

// Sets returns the families: three kinds of fabric, and all of them with more noise, other shapes of traffic and more decoys.
func Sets() []Set {
	tori := []string{"torus:8x8x8", "torus:12x12x12"}
	trees := []string{"fattree:k=8", "fattree:leaves=8,hosts=8,spines=4"}
	dragonflies := []string{"dragonfly:groups=9,routers=4,hosts=2"}
	return []Set{
		{"torus", tori, plain},
		{"tree", trees, plain},
		{"dragonfly", dragonflies, plain},
		{"other", append(append(tori[:1:1], trees...), dragonflies...), otherStyle},
	}
}

// Faint is a family at the detection limit of regions over more than an hour, which shows how steadily regions are tracked.
func Faint() Set {
	style := plain
	style.faint = true
	return Set{"faint", []string{"torus:8x8x8", "fattree:k=8", "fattree:leaves=8,hosts=8,spines=4", "dragonfly:groups=9,routers=8,hosts=4"}, style}
}

// Kind is what an incident is staged as. Verdicts are scored against the truth of each region, which comes from the
// simulator's flows: a kind may show several classes, or leave the fabric calm.
type Kind string

// Kinds of incidents.
const (
	Incast      Kind = "incast"       // many nodes of a job send to one
	FileSystem  Kind = "file_system"  // a job reads or writes more than the routes to the file system carry
	Contention  Kind = "contention"   // two jobs compete for the same links
	Crossing    Kind = "crossing"     // a scattered job's all-to-all crosses others
	OwnPattern  Kind = "own_pattern"  // a job congests itself, on links that no other job uses
	LinkFails   Kind = "link_fails"   // a loaded link fails
	SwitchFails Kind = "switch_fails" // a switch fails
	Flaps       Kind = "flaps"        // a link fails again and again
	SlowHost    Kind = "slow_host"    // a host receives more slowly than traffic arrives
	SlowLink    Kind = "slow_link"    // a link has lost part of its rate, and no log says so
	Missing     Kind = "missing"      // the culprit is not in the job table
	Coincidence Kind = "coincidence"  // a failure and a job's load begin together
)

// TwoIncasts is two jobs with adjacent receivers. It is not among Kinds, because either job may be blamed.
const TwoIncasts Kind = "two_incasts"

// Kinds returns the kinds on which a verdict is right or wrong.
func Kinds() []Kind {
	return []Kind{Incast, FileSystem, Contention, Crossing, OwnPattern, LinkFails, SwitchFails, Flaps, SlowHost, SlowLink, Missing, Coincidence}
}

// Incident is a scenario with known causes, and what the judge is not shown of it.
type Incident struct {
	Set      string
	Kind     Kind
	Seed     int64
	Topology string
	Script   *scenario.Script
	Onset    time.Duration // from the start

	graph     *topology.Graph
	style     style
	hidden    map[string]bool // jobs missing from the job table
	noTraffic bool            // no traffic table
	lostCells float64
	decoys    []schema.Failure // logged failures that affect no flow
}

const interval = time.Minute

// Incident makes the incident of a kind and a seed, deterministically. It is redrawn with more load while the fabric stays
// calm, with less while it is congested before the onset, and from another random seed if that does not help.
func (s Set) Incident(kind Kind, seed int64) (*Incident, error) {
	var early *Incident
	for attempt := range int64(attempts) {
		in, before, err := s.drawCongested(kind, seed+attempt<<40)
		if err != nil {
			return nil, err
		}
		if in != nil && !before {
			return in, nil
		}
		early = cmp.Or(early, in)
	}
	if early == nil {
		return nil, fmt.Errorf("incident %s/%s seed %d: no region with a cause in %d attempts", s.Name, kind, seed, attempts)
	}
	return early, nil
}

// attempts limits the random seeds that are tried until the load makes a region: small jobs often stay below the minimum size
// of one. One draw in three succeeds, so that all fail once in a million seeds.
const attempts = 40

// drawCongested makes an incident with regions after its onset, and reports whether there are some before; nil if the fabric stays
// calm.
func (s Set) drawCongested(kind Kind, seed int64) (in *Incident, before bool, err error) {
	boost := 1.
	if s.style.faint {
		boost = faintest
	}
	var early *Incident
	for range 5 {
		if in, err = s.draw(kind, seed, boost); err != nil {
			return nil, false, err
		}
		before, after, err := in.congestion()
		switch {
		case err != nil:
			return nil, false, err
		case after && !before:
			return in, false, nil
		case after:
			early = in
		}
		if boost *= 1.45; before {
			boost /= 1.45 * 1.3
		}
	}
	return early, true, nil
}

// Incidents with faint regions begin with the share faintest of the usual load, which rises to about all of it, and take
// longer.
const faintest, longer = .25, 40 * interval

// draw makes the incident, its own load multiplied by boost.
func (s Set) draw(kind Kind, seed int64, boost float64) (*Incident, error) {
	rng := rand.New(rand.NewPCG(uint64(seed), uint64(len(s.Name))<<8|uint64(kind[0])<<16|uint64(len(kind))))
	spec := s.fabric[rng.IntN(len(s.fabric))]
	at, err := newSite(rng, spec)
	if err != nil {
		return nil, err
	}
	d := &draft{site: at, style: s.style, boost: boost, onset: time.Duration(at.between(10, 22)) * interval, length: time.Duration(at.between(34, 48)) * interval}
	if s.style.faint {
		d.length += longer
	}
	d.end = d.length
	if at.chance(.4) { // ends before the scenario
		d.end = min(d.length, d.onset+time.Duration(at.between(8, 18))*interval)
		if s.style.faint {
			d.end += longer
		}
	}
	in := &Incident{Set: s.Name, Kind: kind, Seed: seed, Topology: spec, Script: at.script, Onset: d.onset, graph: at.graph, style: s.style,
		hidden: map[string]bool{}, noTraffic: at.chance(s.style.noTraffic), lostCells: s.style.lostCells * rng.Float64()}
	d.fabric()
	d.stage(kind)
	d.background()
	d.addDecoys(in)
	if kind == Missing {
		for _, id := range d.culprits {
			in.hidden[id] = true
		}
	} else if at.chance(.1) { // an innocent job missing from the job table
		in.hidden[at.script.Jobs[len(at.script.Jobs)-1].ID] = true
	}
	for i := range at.script.Jobs {
		at.script.Jobs[i].End = d.length
	}
	if err := at.script.Validate(); err != nil {
		return nil, fmt.Errorf("incident %s/%s seed %d: %w", s.Name, kind, seed, err)
	}
	return in, nil
}

// congestion plays the incident until some time after its onset, and reports whether there are regions with a known cause
// before it and after.
func (in *Incident) congestion() (before, after bool, err error) {
	short := *in
	script := *in.Script
	script.Duration = in.Onset + 6*interval
	short.Script = &script
	verdicts, err := short.Play(noVerdicts{})
	for _, v := range verdicts {
		if v.Truth.Scored {
			early := v.Interval.StartNanos < StartNanos+int64(in.Onset)
			before, after = before || early, after || !early
		}
	}
	return before, after, err
}

// noVerdicts is a judge without verdicts.
type noVerdicts struct{}

func (noVerdicts) Step(*schema.IntervalResult) {}

// draft is an incident under construction.
type draft struct {
	*site
	style              style
	boost              float64
	onset, end, length time.Duration
	culprits           []string
	hole               int // an idle host inside the busy job, on a torus
}

// fabric draws the hardware of the site and the quality of its telemetry.
func (d *draft) fabric() {
	f := &d.script.Fabric
	f.VictimRatio = d.uniform(d.style.victimRatio[0], d.style.victimRatio[1])
	f.SendGigabytesPerSecond, f.ReceiveGigabytesPerSecond = 10, 10
	f.Kind = telemetry.Gemini
	if d.dims == nil {
		f.SendGigabytesPerSecond, f.ReceiveGigabytesPerSecond = 12.5, 12.5
		f.Kind = []telemetry.Kind{telemetry.InfiniBand, telemetry.RoCE}[d.rng.IntN(2)]
	}
	f.RerouteAfter = time.Duration(d.between(1, 4)) * interval / 2
	floor, spread := d.uniform(d.style.floorPercent[0], d.style.floorPercent[1]), d.uniform(d.style.spreadPercent[0], d.style.spreadPercent[1])
	if f.Kind == telemetry.RoCE {
		floor /= 5
	}
	d.script.Telemetry = scenario.Telemetry{FloorPercent: &floor, SpreadPercent: &spread, LossPercent: d.style.lossPercent * d.rng.Float64()}
	d.script.Interval, d.script.Step, d.script.Duration = interval, interval/2, d.length
}

// load is traffic that causes the incident: it begins at the onset, in a step or over minutes, and may end with it.
func (d *draft) load(p scenario.Pattern, gigabytesPerSecond float64) scenario.Traffic {
	t := scenario.Traffic{Pattern: p, GigabytesPerSecond: gigabytesPerSecond * d.boost, From: d.onset, To: d.end, WavePercent: d.uniform(0, d.style.wavePercent[0])}
	if !d.style.steps || d.chance(.4) {
		t.Ramp = time.Duration(d.between(1, 6)) * interval
	}
	if !d.style.steps && d.chance(.3) {
		t.Period, t.Active = 8*interval, time.Duration(d.between(4, 6))*interval
	}
	return t
}

// steady is traffic throughout the scenario.
func (d *draft) steady(p scenario.Pattern, gigabytesPerSecond float64) scenario.Traffic {
	return scenario.Traffic{Pattern: p, GigabytesPerSecond: gigabytesPerSecond, WavePercent: d.uniform(d.style.wavePercent[0], d.style.wavePercent[1])}
}
