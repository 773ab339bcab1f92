package score

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Relation is the position of a host relative to a region.
type Relation string

// Relations, nearest first.
const (
	Accused Relation = "slow_host" // the diagnosis says that this host pauses the network
	AtRoot  Relation = "root"      // the back pressure begins at its port or the port facing it
	Own     Relation = "own_links" // some of its own links are in the region
	OnLeaf  Relation = "leaf"      // some of its leaf's links to other switches are in the region
	Nearby  Relation = "near"      // the region is a few switches away
)

// Node is the score of one host.
type Node struct {
	Node     string   `json:"node"`  // name of the device
	Score    float64  `json:"score"` // 0 (place here) to 100 (congested, and it will stay so)
	Relation Relation `json:"relation"`
	Region   uint64   `json:"region,string"` // the region with the highest score here
	Regions  int      `json:"regions"`       // number of regions that affect this host
	Reason   string   `json:"reason"`
}

// Set is the scores of a fabric, computed from one interval for the next ones.
type Set struct {
	Fabric  string          `json:"fabric"`
	Start   schema.Instant  `json:"start,omitzero"` // of the interval; omitted if none is stored
	End     schema.Instant  `json:"end,omitzero"`   // of the interval: the scores apply to the time after it
	Unknown *schema.Unknown `json:"unknown,omitempty"`
	Hosts   int             `json:"hosts"` // number of hosts of the fabric; those not in Nodes score 0
	Nodes   []Node          `json:"nodes"` // highest score first
}

// Of scores the hosts of a fabric. The result must be of this version of the graph. If
// the state of the network is unknown, Unknown says why, and the scores reflect only
// the few measurements there are.
func Of(g *topology.Graph, r *schema.IntervalResult, cfg Config) *Set {
	s := r.Snapshot
	set := &Set{Fabric: s.Fabric, Start: schema.Instant(s.Interval.StartNanos), End: schema.Instant(s.Interval.EndNanos()),
		Unknown: r.Network.Unknown, Hosts: len(g.Hosts()), Nodes: []Node{}}
	best := map[topology.DeviceID]*candidate{}
	p := &places{g: g, cfg: cfg, isHost: hostsOf(g), inRegion: make([]bool, g.NumLinks())}
	diagnoses := r.DiagnosesByRegion()
	for i := range r.Regions {
		region := &r.Regions[i]
		if region.Severity < schema.Low {
			continue
		}
		congestion := Expected(region)
		diagnosis := diagnoses[region.ID]
		for host, at := range p.near(region, diagnosis) {
			value := congestion * at.weight
			if at.relation == Accused { // regardless of the forecast
				value = math.Max(value, 100*diagnosis.Cause.Confidence)
			}
			keep(best, host, candidate{math.Round(value*10) / 10, 1, region, diagnosis, at})
		}
	}
	for host, c := range best {
		set.Nodes = append(set.Nodes, Node{Node: g.Device(host).Name, Score: c.score, Relation: c.at.relation,
			Region: c.region.ID, Regions: c.regions, Reason: reason(c.region, c.diagnosis, c.at)})
	}
	slices.SortFunc(set.Nodes, func(a, b Node) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Node, b.Node))
	})
	return set
}

// candidate is the score of a host for one region.
type candidate struct {
	score     float64
	regions   int
	region    *schema.Region
	diagnosis *schema.Diagnosis
	at        place
}

// keep stores a score if it is the host's highest; on a tie the region with the lower ID wins.
func keep(best map[topology.DeviceID]*candidate, host topology.DeviceID, c candidate) {
	had := best[host]
	if had == nil {
		best[host] = &c
		return
	}
	c.regions += had.regions
	if c.score > had.score || c.score == had.score && c.region.ID < had.region.ID {
		*had = c
		return
	}
	had.regions = c.regions
}

// curve maps the mean stall in percent to congestion, 0 to 100, by linear interpolation
// between these points; the severity bounds map to 30, 60 and 85.
var curve = [][2]float64{{0, 0}, {schema.LowPercent, 30}, {schema.MediumPercent, 60}, {schema.HighPercent, 85}, {50, 100}}

// ofMean evaluates the curve.
func ofMean(percent float64) float64 {
	for i := 1; i < len(curve); i++ {
		if low, high := curve[i-1], curve[i]; percent <= high[0] {
			return low[1] + (high[1]-low[1])*(math.Max(percent, 0)-low[0])/(high[0]-low[0])
		}
	}
	return 100
}

// middles are typical means of the severities, in percent: the middle of each band, and
// for High the same distance above its lower bound.
var middles = [...]float64{
	schema.Negligible: schema.LowPercent / 2.,
	schema.Low:        (schema.LowPercent + schema.MediumPercent) / 2.,
	schema.Medium:     (schema.MediumPercent + schema.HighPercent) / 2.,
	schema.High:       schema.HighPercent + 5,
}

// Expected is the expected congestion of a region, 0 to 100: the mean over its possible
// states in the next interval and in LaterIntervals, with equal weights. A region that
// has ended counts as 0. Without a forecast it is the current congestion.
func Expected(region *schema.Region) float64 {
	f := region.Forecast
	if f == nil {
		return ofMean(region.Mean)
	}
	return (expected(region, f.Next) + expected(region, f.Later)) / 2
}

func expected(region *schema.Region, odds schema.Odds) (sum float64) {
	for s, middle := range middles {
		if schema.Severity(s) == region.Severity { // for the current severity the mean is known
			middle = region.Mean
		}
		sum += odds[s] * ofMean(middle)
	}
	return sum
}

// reason explains the score in words.
func reason(region *schema.Region, d *schema.Diagnosis, at place) string {
	where := cmp.Or(region.Name, fmt.Sprintf("region %d", region.ID))
	now := fmt.Sprintf("%s, %s %.1f%% %s", where, region.Severity, region.Mean, region.Metric)
	if f := region.Forecast; f != nil {
		now += fmt.Sprintf(", %s likely Medium or worse in %d intervals", likely(f.Later[schema.Medium]+f.Later[schema.High]), schema.LaterIntervals)
	}
	if d != nil && d.Cause.Class != schema.CauseUnknown && d.Cause.Class != "" {
		now += fmt.Sprintf(", cause %s (%.0f%%)", d.Cause.Class, d.Cause.Percent())
	}
	switch at.relation {
	case Accused:
		return "this host pauses the network: " + now
	case AtRoot:
		return at.root + ": " + now
	case Own:
		return fmt.Sprintf("%d of its %s %s congested: %s", at.links, plural.Count(at.of, "link", "links"), isOrAre(at.links), now)
	case OnLeaf:
		return fmt.Sprintf("%d of %s of its switch %s %s congested: %s", at.links, plural.Count(at.of, "link", "links"), at.through, isOrAre(at.links), now)
	}
	if at.hops == 1 {
		return "1 switch from " + now
	}
	return fmt.Sprintf("%d switches from %s", at.hops, now)
}

// likely formats a probability of a forecast, which is never certain.
func likely(p float64) string {
	if p > .99 {
		return ">99%"
	}
	return fmt.Sprintf("%.0f%%", 100*p)
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
