package bench

import (
	"slices"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/packet"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// packets draws one or two causes of congestion and simulates their traffic packet by packet, with credits
// (InfiniBand) or PFC (Ethernet): values are the share of time in which a link had something to send but was
// not allowed to. The links stalled by a cause are found by simulating its traffic alone.
type packets struct{ causes whole }

const (
	// The minimum time for queues to settle, and the time that is then counted.
	settleMicros, countMicros = 60, 120
	packetGBs                 = 4     // of every link: simulation cost depends on packets, not bytes
	packetBuffer              = 32768 // per input
	endless                   = 1 << 24
	minPacketLinks            = 4 // minimum links of a cause
)

// packetCause is the traffic of a cause.
type packetCause struct {
	transfers []packet.Request
	slow      schema.LinkID // a link at reduced speed; NoLink: none
	share     float64
	root      schema.LinkID
}

func (p packets) draw(c *canvas) {
	w := newCrowd(c.g)
	cfg := packet.DefaultConfig()
	cfg.LinkSpeed, cfg.DMASpeed, cfg.DMAChannels, cfg.ActivePuts = packetGBs, 2*packetGBs, 4, 8
	cfg.BufferBytes, cfg.XoffBytes, cfg.XonBytes = packetBuffer, packetBuffer/2, packetBuffer/4
	cfg.FlowControl = [...]packet.FlowControl{packet.Credits, packet.PFC}[c.rng.Intn(2)]
	cfg.Seed = c.rng.Int63()
	var causes []packetCause
	for range c.count(p.causes) {
		causes = append(causes, c.packetCause(w))
	}
	l := &c.layers[0]
	l.value, c.layers[1].value = carry(c.g, cfg, causes)
	var regions [][]schema.LinkID
	for i := range causes {
		var links []schema.LinkID
		alone, _ := carry(c.g, cfg, causes[i:i+1])
		for id, v := range alone {
			if v >= schema.LowPercent && l.value[id] >= schema.LowPercent {
				links = append(links, schema.LinkID(id))
			}
		}
		for _, other := range regions {
			if n := common(links, other); float64(n) > maxSharedPart*float64(len(links)+len(other)-n) {
				links = nil
			}
		}
		regions = append(regions, links)
		if len(links) >= minPacketLinks {
			l.regions, l.roots = append(l.regions, links), append(l.roots, causes[i].root)
		}
		if links == nil { // the cause is removed: redraw the others without it
			l.regions, l.roots = nil, nil
			break
		}
	}
	if len(l.regions) == 0 {
		p.draw(c)
		return
	}
	c.disturb(l)
}

// packetCause draws an incast, a slow receiver or an exchange.
func (c *canvas) packetCause(w *crowd) packetCause {
	leaf := w.leaves[c.rng.Intn(len(w.leaves))]
	k := packetCause{slow: schema.NoLink, root: schema.NoLink}
	if c.rng.Intn(3) == 0 {
		hosts := c.neighbourhood(w, leaf, c.between(3, 6))
		for _, from := range hosts {
			for range 4 {
				if to := hosts[c.rng.Intn(len(hosts))]; w.leafOf[to] != w.leafOf[from] {
					k.transfers = append(k.transfers, packet.Request{From: from, To: to, Bytes: endless})
				}
			}
		}
		return k
	}
	hosts := slices.Clone(c.neighbourhood(w, leaf, [...]int{1, 4, 8}[c.rng.Intn(3)]))
	shuffle(c.rng, hosts)
	victim := w.hostsAt[leaf][c.rng.Intn(len(w.hostsAt[leaf]))]
	hosts = slices.DeleteFunc(hosts, func(h topology.DeviceID) bool { return h == victim })
	hosts = hosts[:min(len(hosts), c.between(6, 40))]
	path, _ := c.route(w, hosts[0], victim, 0)
	k.root = w.channels.Link(path[len(path)-1])
	if c.rng.Intn(2) == 0 {
		k.slow, k.share = k.root, c.uniform(.1, .5)
	}
	for _, from := range hosts {
		k.transfers = append(k.transfers, packet.Request{From: from, To: victim, Bytes: endless})
	}
	return k
}

// carry simulates the traffic of causes, and returns the percentage of time in which each link stalls, and in which it sends
// at full speed.
func carry(g *topology.Graph, cfg packet.Config, causes []packetCause) (stall, load []float64) {
	s, err := packet.New(g, cfg)
	must(err)
	for _, k := range causes {
		if k.slow != schema.NoLink {
			must(s.Inject(packet.Fault{Link: k.slow, Share: k.share}))
		}
		for _, r := range k.transfers {
			_, err := s.Post(r)
			must(err)
		}
	}
	stall, load = make([]float64, g.NumLinks()), make([]float64, g.NumLinks())
	const nanos = 1000 * countMicros
	for _, end := range [2]float64{settleMicros, settleMicros + countMicros} {
		for limit := packet.Nanos(1000 * end); s.Now() < limit; {
			if _, ok := s.Next(limit); !ok {
				break
			}
		}
		for ch := range s.Channels().Len() { // the difference of the two readings
			n := s.Counters(routing.Channel(ch))
			id := s.Channels().Link(routing.Channel(ch))
			stall[id] = 100*(n.CreditStallNanos+n.PauseStallNanos)/nanos - stall[id]
			load[id] = 100*float64(n.Bytes)/(packetGBs*nanos) - load[id]
		}
	}
	return stall, load
}

func must(err error) {
	if err != nil {
		panic(err) // cannot happen with our own graphs and traffic
	}
}
