package backpressure

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/trees/index"
	"github.com/giverny/giverny/topology"
)

// Rails are the leaves that connect the same hosts, which have an adapter on each: no switch that such leaves share need
// be congested when their hosts exchange, or when one of them takes nothing.
type Rails struct {
	Host  index.By[index.Device, index.Device] // the first device, by name, that is an adapter of the same host; nil if no host has several links
	Ports index.By[index.Device, int]          // by host: links that lead to it
	Unit  index.By[index.Device, index.Device] // the first of the leaves that connect the same hosts
}

// newRails finds the rails of a fabric.
func newRails(g *topology.Graph) (r Rails) {
	n, isAny := g.NumDevices(), false
	r.Unit, r.Ports = make([]index.Device, n), make([]int, n)
	for _, host := range topology.HostsOf(g) {
		r.Host = append(r.Host, index.Device(host))
	}
	var sets index.UnionFind[index.Device]
	sets.Reset(n)
	for id := range g.NumLinks() {
		from, to := g.Ends(schema.LinkID(id))
		if !g.IsSwitch(from) {
			sets.Union(r.Host[index.Device(from)], index.Device(to))
		}
		if !g.IsSwitch(to) {
			host := r.Host[index.Device(to)]
			r.Ports[host]++
			isAny = isAny || r.Ports[host] > 1
		}
	}
	if !isAny {
		return Rails{}
	}
	for d := range r.Unit.Len() {
		r.Unit[d] = sets.Find(d)
	}
	return r
}
