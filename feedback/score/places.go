package score

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// place is where a host stands relative to a region, and the weight of the region there, 0 to 1.
type place struct {
	relation  Relation
	weight    float64
	links, of int    // host's or leaf's links in the region, and in total
	through   string // name of the leaf
	hops      int
	root      string // port at which the back pressure begins, in words
}

// places finds the hosts near a region. It is for one graph and not safe for concurrent use.
type places struct {
	g        *topology.Graph
	cfg      Config
	isHost   []bool
	inRegion []bool // by link; all false between two regions
}

// hostsOf marks the devices that jobs are placed on: the hosts, or, on a fabric without
// any, the switches, each with its NIC.
func hostsOf(g *topology.Graph) []bool {
	is := make([]bool, g.NumDevices())
	for _, h := range g.Hosts() {
		is[h] = true
	}
	return is
}

// near returns every host that a region affects. If a host has several relations to it,
// the one with the highest weight counts; of equal ones, the first found, the nearest.
func (p *places) near(region *schema.Region, d *schema.Diagnosis) map[topology.DeviceID]place {
	at := map[topology.DeviceID]place{}
	p.accused(region, d, at)
	touched := p.touched(region)
	for _, dev := range touched {
		if p.isHost[dev] {
			links, of := p.count(dev, func(schema.LinkID) bool { return true })
			p.set(at, dev, place{relation: Own, weight: p.share(1, links, of), links: links, of: of})
		}
	}
	p.spread(touched, at)
	for _, l := range region.Links {
		p.inRegion[l] = false
	}
	return at
}

// accused sets the place of the host where the back pressure begins according to the
// diagnosis.
func (p *places) accused(region *schema.Region, d *schema.Diagnosis, at map[topology.DeviceID]place) {
	if d != nil && d.Root != nil && d.Root.Kind != "" { // a root without a kind is a guess, which marks no node
		for _, name := range []string{d.Root.Peer, d.Root.Device} {
			dev, ok := p.g.FindDevice(name)
			if !ok || !p.isHost[dev] {
				continue
			}
			if d.Cause.Class == schema.CauseSlowHost {
				p.set(at, dev, place{relation: Accused, weight: 1})
			} else {
				p.set(at, dev, place{relation: AtRoot, weight: 1, root: rootText(d.Root, name == d.Root.Device)})
			}
			return // if both ends are hosts, as on a torus, it is the peer
		}
	}
	if region.Root == nil {
		return
	}
	if links, ok := p.g.FindPort(region.Root.Device, region.Root.Port); ok && links.Egress != schema.NoLink {
		if _, to := p.g.Ends(links.Egress); p.isHost[to] {
			p.set(at, to, place{relation: AtRoot, weight: 1, root: rootText(region.Root, false)})
		}
	}
}

// rootText describes the port, of a host or facing it, at which the back pressure begins.
func rootText(r *schema.Root, own bool) string {
	what := "back pressure begins at "
	if r.Kind == schema.RootLinkDown {
		what = "back pressure begins at a link that is down, "
	}
	if own {
		return what + topology.PortName("this host", r.Port)
	}
	return what + topology.PortName(r.Device, r.Port) + ", which leads to this host"
}

// touched marks the region's links and returns the devices at their ends, in order, so that of two leaves of equal weight
// a host always has the same one.
func (p *places) touched(region *schema.Region) (devices []topology.DeviceID) {
	for _, l := range region.Links {
		p.inRegion[l] = true
		from, to := p.g.Ends(l)
		devices = append(devices, from, to)
	}
	slices.Sort(devices)
	return slices.Compact(devices)
}

// spread is a breadth-first search outwards from the region's switches. If hosts are
// separate from switches, a switch of the region is the leaf of its own hosts; the
// weight halves with each further switch. A switch whose only links in the region lead
// to hosts, such as an incast's leaf, is no starting point: those hosts are congested,
// the switch is not.
func (p *places) spread(touched []topology.DeviceID, at map[topology.DeviceID]place) {
	var level []topology.DeviceID
	seen := make(map[topology.DeviceID]bool, len(touched))
	for _, dev := range touched {
		seen[dev] = true
		links, of := p.count(dev, p.betweenSwitches)
		if links == 0 {
			continue
		}
		level = append(level, dev)
		p.eachHost(dev, func(host topology.DeviceID) {
			p.set(at, host, place{relation: OnLeaf, weight: p.share(p.cfg.Leaf, links, of), links: links, of: of, through: topology.PlainName(p.g.Device(dev).Name)})
		})
	}
	weight := p.cfg.Leaf
	for hops := 1; hops <= p.cfg.Hops; hops++ {
		weight /= 2
		var next []topology.DeviceID
		for _, dev := range level {
			p.eachSwitch(dev, func(other topology.DeviceID) {
				if seen[other] {
					return
				}
				seen[other] = true
				next = append(next, other)
				near := place{relation: Nearby, weight: weight * p.cfg.OwnLink, hops: hops}
				if p.isHost[other] {
					p.set(at, other, near)
				}
				p.eachHost(other, func(host topology.DeviceID) { p.set(at, host, near) })
			})
		}
		level = next
	}
}

// set stores a place unless the host already has one of at least the same weight.
// Nearer places are set first.
func (p *places) set(at map[topology.DeviceID]place, host topology.DeviceID, to place) {
	if had, ok := at[host]; !ok || to.weight > had.weight {
		at[host] = to
	}
}

// share is the weight of a place with links of its of links in the region: from OwnLink
// of the full weight for none to the full weight for all.
func (p *places) share(full float64, links, of int) float64 {
	return full * (p.cfg.OwnLink + (1-p.cfg.OwnLink)*float64(links)/float64(of))
}

// count counts the links of a device that satisfy kind: those in the region, and all.
func (p *places) count(dev topology.DeviceID, kind func(schema.LinkID) bool) (in, all int) {
	for _, l := range p.g.LinksAt(dev) {
		if kind(l) {
			if all++; p.inRegion[l] {
				in++
			}
		}
	}
	return in, all
}

func (p *places) betweenSwitches(l schema.LinkID) bool {
	from, to := p.g.Ends(l)
	return p.g.IsSwitch(from) && p.g.IsSwitch(to)
}

// eachHost visits the hosts attached to a switch.
func (p *places) eachHost(dev topology.DeviceID, visit func(topology.DeviceID)) {
	p.eachNeighbour(dev, func(other topology.DeviceID) {
		if !p.g.IsSwitch(other) && p.isHost[other] {
			visit(other)
		}
	})
}

func (p *places) eachSwitch(dev topology.DeviceID, visit func(topology.DeviceID)) {
	p.eachNeighbour(dev, func(other topology.DeviceID) {
		if p.g.IsSwitch(other) {
			visit(other)
		}
	})
}

func (p *places) eachNeighbour(dev topology.DeviceID, visit func(topology.DeviceID)) {
	for _, l := range p.g.LinksAt(dev) {
		from, to := p.g.Ends(l)
		if from == dev {
			from = to
		}
		visit(from)
	}
}
