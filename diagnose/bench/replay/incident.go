package replay

import (
	"fmt"
	"math/rand/v2"

	"github.com/giverny/giverny/diagnose/bench"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// Kinds of incidents. As in the first world, verdicts are scored against the truth of each region, whatever was staged.
const (
	Incast        bench.Kind = "incast"         // many nodes of a job send to a host outside of it
	Gather        bench.Kind = "gather"         // many nodes of a job send to one of its own
	Storage       bench.Kind = "storage"        // a job reads from or writes to few storage nodes
	Contention    bench.Kind = "contention"     // a job begins on nodes between those of another
	Crossing      bench.Kind = "crossing"       // a scattered job exchanges all to all across others
	OwnPattern    bench.Kind = "own_pattern"    // a compact job fills the links among its nodes
	LinkFails     bench.Kind = "link_fails"     // cables fail, and traffic is rerouted
	SwitchFails   bench.Kind = "switch_fails"   // a switch fails, and traffic is rerouted
	Flaps         bench.Kind = "flaps"          // cables fail again and again
	SlowLink      bench.Kind = "slow_link"      // a cable loses most of its rate, and no log says so
	SlowHost      bench.Kind = "slow_host"      // a host accepts less than arrives
	Missing       bench.Kind = "missing"        // one of the first five, with the culprit missing from the job table
	MissingShared bench.Kind = "missing_shared" // an incast of a job that is missing, on nodes that it shares with a listed one
	ReadsFirst    bench.Kind = "reads_first"    // a job reads a little for 15 to 20 minutes, then much (Monet, section 5, Enzo)
	Busy          bench.Kind = "busy"           // several jobs come and go, none staged as the culprit
)

// fabrics of each set.
var fabrics = map[string][]string{
	"tree":      {"fattree:k=8", "fattree:k=10"},
	"leafspine": {"fattree:leaves=16,hosts=8,spines=8", "fattree:leaves=16,hosts=12,spines=6", "fattree:leaves=12,hosts=16,spines=8"},
	"dragonfly": {"dragonfly:groups=9,routers=8,hosts=2", "dragonfly:groups=9,routers=4,hosts=4"},
	"torus":     {"torus:8x8x8", "torus:6x8x10"},
	"rails": {"fattree:leaves=4,hosts=16,spines=8,rails=4", "fattree:leaves=4,hosts=12,spines=6,planes=4", "fattree:leaves=4,hosts=10,spines=5,rails=8",
		"fattree:leaves=8,hosts=12,spines=6,planes=2", "fattree:leaves=8,hosts=12,spines=6,rails=2"},
}

// World draws incidents of this package.
func World() bench.World {
	return bench.World{Sets: []string{"tree", "leafspine", "dragonfly", "torus", "rails"},
		Kinds: []bench.Kind{Incast, Gather, Storage, Contention, Crossing, OwnPattern, LinkFails, SwitchFails, Flaps, SlowLink, SlowHost, Missing, MissingShared,
			ReadsFirst, Busy},
		Incident: func(set string, kind bench.Kind, seed int64) (bench.Played, error) { return New(set, kind, seed) }}
}

// Incident is a scene with what a site reports of it.
type Incident struct {
	Set      string
	Kind     bench.Kind
	Seed     int64
	Topology string
	Onset    int // half-minutes from the start

	scene     scene
	reports   reports
	noCable   []schema.Failure // logged failures of parts that nothing uses
	telemetry rand.PCG
}

// Graph is the incident's fabric.
func (in *Incident) Graph() *topology.Graph { return in.scene.graph }

func (in *Incident) String() string {
	return fmt.Sprintf("%s %s seed %d %s onset half-minute %d", in.Set, in.Kind, in.Seed, in.Topology, in.Onset)
}

// Draws of an incident until its fabric is calm before the onset and congested after it.
const (
	attempts = 6 // random seeds
	changes  = 5 // of the loads, for each of them
)

// New makes the incident of a set, a kind and a seed. If no draw is calm before and congested after its onset, it returns the
// one with most congestion.
func New(set string, kind bench.Kind, seed int64) (best *Incident, err error) {
	most := -1.
	for attempt := range int64(attempts) {
		boost, quiet := 1., 1.
		for range changes {
			in, err := draw(set, kind, seed+attempt<<40, boost, quiet)
			if err != nil {
				return nil, fmt.Errorf("incident %s/%s seed %d: %w", set, kind, seed, err)
			}
			before, after, err := in.congestion()
			if err != nil {
				return nil, fmt.Errorf("incident %s/%s seed %d: %w", set, kind, seed, err)
			}
			if in.Seed = seed; before <= mostBefore && after >= leastAfter {
				return in, nil
			}
			if after-before > most {
				most, best = after-before, in
			}
			if before > mostBefore {
				quiet *= .6
			}
			if after < leastAfter {
				boost *= 1.5
			}
		}
	}
	return best, nil
}

// Shares of the links that wait for at least 8% of the time, before the onset at most and after it at least.
const (
	mostBefore, leastAfter = .008, .02
	waits                  = 8.
)

// congestion is the share of waiting links before the onset and when all loads have risen.
func (in *Incident) congestion() (before, after float64, err error) {
	share := func(half int) float64 {
		network, failed := in.scene.network(in.scene.at(half), noCause)
		if failed != nil {
			err = failed
			return 0
		}
		network.net.Run(warmSteps / 2)
		o, n := network.measure(halfSteps), 0
		for _, stall := range o.stall {
			if stall >= waits {
				n++
			}
		}
		return float64(n) / float64(len(o.stall))
	}
	switch { // what the causes add to is calm, also if they act from the start
	case in.Kind == Busy || in.Kind == ReadsFirst:
	case in.Onset >= calmHalves:
		before = share(in.Onset - calmHalves/2)
	default:
		before = share(-1)
	}
	for _, half := range []int{in.Onset + 1, in.Onset + 10} {
		if before <= mostBefore && after < leastAfter {
			after = share(half)
		}
	}
	return before, after, err
}

// calmHalves is how long a scene is calm at least if it is at all.
const calmHalves = 10

// draw makes an incident, the load of its culprits multiplied by boost and that of all others by quiet.
func draw(set string, kind bench.Kind, seed int64, boost, quiet float64) (*Incident, error) {
	rng := rand.New(rand.NewPCG(uint64(seed), uint64(len(set))<<32^hash(set+string(kind))))
	specs := fabrics[set]
	if len(specs) == 0 {
		return nil, fmt.Errorf("no set %q", set)
	}
	in := &Incident{Set: set, Kind: kind, Topology: specs[rng.IntN(len(specs))], telemetry: *rand.NewPCG(uint64(seed), 't')}
	at, err := newSite(rng, in.Topology)
	if err != nil {
		return nil, err
	}
	if len(at.ports.devices[0]) > 1 {
		in.Topology += ", adapters"
	}
	d := &draft{site: at, in: in, boost: boost, quiet: quiet, channels: routing.NewChannels(at.graph)}
	d.scene = &in.scene
	*d.scene = scene{graph: at.graph, seed: uint64(seed), send: 1, receive: 1, ports: at.ports, length: halves * d.between(34, 44), states: map[string]*state{}}
	if d.dims != nil {
		d.scene.send, d.scene.receive = d.uniform(.45, .65), d.uniform(.45, .65)
	} else if set != "dragonfly" && d.chance(.4) {
		d.scene.policy = routing.DModK
	}
	d.onset = halves*d.between(12, 20) + d.rng.IntN(halves)
	if kind != ReadsFirst && d.chance(.15) { // no calm interval at the start
		d.onset = d.rng.IntN(2 * halves)
	}
	if kind == ReadsFirst {
		d.onset = halves * d.between(18, 22)
	}
	if d.end = d.scene.length; d.chance(.4) {
		d.end = min(d.end, d.onset+halves*d.between(8, 18))
	}
	in.Onset = d.onset
	in.reports = d.drawReports()
	d.stage(kind)
	if !isMissing(kind) && kind != Busy && d.chance(.2) && d.free() >= roomForCause*d.larger() { // a second cause at about the same time
		d.onset += d.between(0, 3)
		d.stage([]bench.Kind{Gather, Storage, Crossing, SlowHost, Incast}[d.rng.IntN(5)])
	}
	d.background()
	d.decoys()
	return in, nil
}

// roomForCause is how many free hosts a second cause needs; on a torus twice as many.
const roomForCause = 32

func isMissing(k bench.Kind) bool { return k == Missing || k == MissingShared }

// hash is FNV-1a.
func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range []byte(s) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
