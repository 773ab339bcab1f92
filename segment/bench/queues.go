package bench

import (
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/fluid"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// queues draws causes of congestion, runs their traffic through the fluid simulator and reads which links
// each cause stalls: how stall decreases along a tree results from the queues alone.
type queues struct {
	causes whole
	kinds  []causeKind
}

// causeKind is a kind of congesting traffic.
type causeKind uint8

const (
	incast       causeKind = iota // many hosts send to one
	slowReceiver                  // one host accepts less than is sent to it
	allToAll                      // nearby hosts exchange data with each other
)

var allKinds = []causeKind{incast, slowReceiver, allToAll}

const (
	minTreeLinks  = 12 // minimum links of a cause
	maxSharedPart = .6 // Jaccard index from which two causes count as one region
	subflows      = 4  // per pair of hosts: a NIC's queue pairs are hashed to several paths
)

// crowd is the fabric as used by the draws.
type crowd struct {
	channels *routing.Channels
	router   *routing.Router
	leafOf   []topology.DeviceID // by host device
	leaves   []topology.DeviceID // that have hosts
	hostsAt  map[topology.DeviceID][]topology.DeviceID
}

// cause is one cause of a sample being drawn.
type cause struct {
	kind  causeKind
	flows *fluid.Flows
	slow  fluid.Resource // NoResource: none
	share float64
	root  schema.LinkID // NoLink: many
}

func (q queues) draw(c *canvas) {
	w := newCrowd(c.g)
	cfg := fluid.DefaultConfig()
	capacity := c.g.Capacity(c.hostLink(w))
	cfg.SendBytesPerSecond, cfg.ReceiveBytesPerSecond = capacity, capacity
	cfg.VictimRatio = c.uniform(1, 4) // from one queue for all traffic to many
	model, err := fluid.New(w.channels, cfg)
	if err != nil {
		panic(err) // cannot happen with our own graphs
	}
	var causes []*cause
	for len(causes) < c.count(q.causes) {
		causes = append(causes, c.drawCause(w, model, q.kinds[c.rng.Intn(len(q.kinds))], capacity, len(causes)))
	}
	state, links := settle(model, causes)
	if !slices.ContainsFunc(links, func(l []schema.LinkID) bool { return len(l) > 0 }) {
		q.draw(c)
		return
	}
	l := &c.layers[0]
	for i := range l.value {
		l.value[i] = 100 * state.CreditStall[i]
		c.layers[1].value[i] = min(100, 100*state.LoadBytesPerSecond[i]/c.g.Capacity(schema.LinkID(i)))
	}
	for i, k := range causes {
		if len(links[i]) > 0 {
			l.regions, l.roots = append(l.regions, links[i]), append(l.roots, k.root)
		}
	}
	c.disturb(l)
}

func newCrowd(g *topology.Graph) *crowd {
	w := &crowd{channels: routing.NewChannels(g), leafOf: make([]topology.DeviceID, g.NumDevices()), hostsAt: map[topology.DeviceID][]topology.DeviceID{}}
	router, err := routing.New(w.channels, routing.Default)
	if err != nil {
		panic(err)
	}
	w.router = router
	for _, h := range g.Hosts() {
		leaf := g.Link(w.channels.Link(w.channels.Out(h)[0])).To
		w.leafOf[h] = leaf
		if len(w.hostsAt[leaf]) == 0 {
			w.leaves = append(w.leaves, leaf)
		}
		w.hostsAt[leaf] = append(w.hostsAt[leaf], h)
	}
	slices.Sort(w.leaves)
	return w
}

func (c *canvas) hostLink(w *crowd) schema.LinkID {
	return w.channels.Link(w.channels.Out(c.g.Hosts()[0])[0])
}

// neighbourhood lists the hosts at the n leaves nearest to a leaf, such as those of a pod or group.
func (c *canvas) neighbourhood(w *crowd, leaf topology.DeviceID, n int) (hosts []topology.DeviceID) {
	seen := map[topology.DeviceID]bool{leaf: true}
	queue := []topology.DeviceID{leaf}
	for i := 0; i < len(queue) && n > 0; i++ {
		if at := w.hostsAt[queue[i]]; len(at) > 0 {
			hosts, n = append(hosts, at...), n-1
		}
		out := slices.Clone(w.channels.Out(queue[i])) // random among equally near leaves
		shuffle(c.rng, out)
		slices.SortStableFunc(out, func(a, b routing.Channel) int { return isGlobal(c.g, w, a) - isGlobal(c.g, w, b) })
		for _, ch := range out {
			if _, to := w.channels.Ends(ch); c.g.IsSwitch(to) && !seen[to] {
				seen[to] = true
				queue = append(queue, to)
			}
		}
	}
	return hosts
}

// isGlobal is 1 for a channel that leaves its group; neighbourhoods avoid these if possible.
func isGlobal(g *topology.Graph, w *crowd, ch routing.Channel) int {
	if g.Link(w.channels.Link(ch)).Class == topology.ClassGlobal {
		return 1
	}
	return 0
}

func (c *canvas) drawCause(w *crowd, model *fluid.Model, kind causeKind, capacity float64, owner int) *cause {
	k := &cause{kind: kind, flows: &fluid.Flows{Owner: owner, Scale: 1}, slow: fluid.NoResource, root: schema.NoLink}
	leaf := w.leaves[c.rng.Intn(len(w.leaves))]
	reach := [...]int{1, 4, 8, len(w.leaves)}[c.rng.Intn(4)]
	if kind == allToAll {
		c.exchange(w, model, k.flows, c.neighbourhood(w, leaf, c.between(2, 8)), capacity)
		return k
	}
	hosts := slices.Clone(c.neighbourhood(w, leaf, reach))
	shuffle(c.rng, hosts)
	victim := w.hostsAt[leaf][c.rng.Intn(len(w.hostsAt[leaf]))]
	hosts = slices.DeleteFunc(hosts, func(h topology.DeviceID) bool { return h == victim })
	senders := hosts[:min(len(hosts), c.between(8, 64))]
	down, _ := c.route(w, senders[0], victim, 0)
	k.root = w.channels.Link(down[len(down)-1])
	offered := capacity * c.uniform(1.3, 6)
	if kind == slowReceiver {
		k.slow, k.share = model.Receive(victim), c.uniform(.05, .5)
		offered = capacity * k.share * c.uniform(1.5, 6)
	}
	for _, s := range senders {
		c.send(w, model, k.flows, s, victim, min(capacity, offered/float64(len(senders))*c.uniform(.7, 1.3)))
	}
	return k
}

// exchange makes every host send to every fourth other one in bursts, more than the switches can carry.
func (c *canvas) exchange(w *crowd, model *fluid.Model, f *fluid.Flows, hosts []topology.DeviceID, capacity float64) {
	hosts = hosts[:min(len(hosts), 72)]
	for i, h := range hosts {
		for j, to := range hosts {
			if i != j && c.rng.Intn(4) == 0 {
				c.send(w, model, f, h, to, capacity*min(.5, c.uniform(4, 8)/float64(len(hosts))))
			}
		}
	}
}

func (c *canvas) route(w *crowd, from, to topology.DeviceID, flow uint64) ([]routing.Channel, bool) {
	return w.router.Append(nil, from, to, flow)
}

func (c *canvas) send(w *crowd, model *fluid.Model, f *fluid.Flows, from, to topology.DeviceID, demand float64) {
	for range subflows {
		if path, ok := c.route(w, from, to, c.rng.Uint64()); ok {
			f.Add(model, demand/subflows, from, to, path, false)
		}
	}
}

// settle solves the fabric and returns the links stalled by each cause, nil for one that stalls too few
// or the same as another: that one's traffic is removed, and the rest solved again.
func settle(model *fluid.Model, causes []*cause) (*fluid.State, [][]schema.LinkID) {
	state := new(fluid.State)
	for {
		var groups []*fluid.Flows
		for _, k := range causes {
			if k.slow != fluid.NoResource {
				model.SetShare(k.slow, map[bool]float64{true: k.share, false: 1}[k.flows.Scale > 0])
			}
			groups = append(groups, k.flows)
		}
		model.Solve(groups, state)
		links := stalledBy(model, state, len(causes))
		drop := -1
		for i, k := range causes {
			if k.flows.Scale == 0 {
				links[i] = nil
				continue
			}
			if len(links[i]) < minTreeLinks {
				drop = i
			}
			for j := range i {
				if n := common(links[i], links[j]); float64(n) > maxSharedPart*float64(len(links[i])+len(links[j])-n) {
					drop = i
				}
			}
		}
		if drop < 0 {
			return state, links
		}
		causes[drop].flows.Scale = 0
	}
}

// stalledBy lists for each cause the links that it stalls for at least 5% of the time: traffic held up by
// a full resource is attributed to the cause whose traffic fills it.
func stalledBy(model *fluid.Model, state *fluid.State, causes int) [][]schema.LinkID {
	byRoot := map[fluid.Resource]int{}
	links := make([][]schema.LinkID, causes)
	weight := make([]float64, causes)
	for i, stall := range state.CreditStall {
		if 100*stall < schema.LowPercent {
			continue
		}
		clear(weight)
		total := 0.
		model.EachBlocked(routing.Channel(i), func(b fluid.Blame) {
			if b.Root == fluid.Resource(i) { // waits inside the switch, not on the link
				return
			}
			at, known := byRoot[b.Root]
			if !known {
				at = ownerOf(model, b.Root, causes)
				byRoot[b.Root] = at
			}
			weight[at] += b.HeldBackPerSecond
			total += b.HeldBackPerSecond
		})
		for at, x := range weight {
			if 100*stall*x/max(total, 1) >= schema.LowPercent {
				links[at] = append(links[at], schema.LinkID(i))
			}
		}
	}
	return links
}

func ownerOf(model *fluid.Model, root fluid.Resource, causes int) int {
	offers := make([]float64, causes)
	best := 0
	model.EachUse(root, func(u fluid.Use) { offers[u.Owner] += u.OfferedPerSecond })
	for i, x := range offers {
		if x > offers[best] {
			best = i
		}
	}
	return best
}

// disturb turns stalls into readings: a floor, noise that grows with the stall, isolated hot links,
// false zeros, lost links and, in half of the samples, a lost switch.
func (c *canvas) disturb(l *layer) {
	base, slope := c.uniform(.2, .5), c.uniform(.02, .06)
	for i, v := range l.value {
		l.value[i] = v + math.Abs(.5*base*c.rng.NormFloat64()) + (base+slope*v)*c.rng.NormFloat64()
	}
	for range 8 {
		l.value[c.rng.Intn(len(l.value))] = c.uniform(5, 60)
	}
	for range len(l.value) / 100 {
		l.missing.Set(c.rng.Intn(len(l.value)))
		l.value[c.rng.Intn(len(l.value))] = 0
	}
	l.clip()
	if c.rng.Intn(2) == 0 {
		for d := topology.DeviceID(c.rng.Intn(c.g.NumDevices())); ; d = topology.DeviceID(c.rng.Intn(c.g.NumDevices())) {
			if c.g.IsSwitch(d) {
				for _, id := range c.g.LinksAt(d) {
					l.missing.Set(int(id))
				}
				break
			}
		}
	}
}
