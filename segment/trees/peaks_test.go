package trees_test

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/segmenttest"
	"github.com/giverny/giverny/topology"
)

// exchangeOfAGroup is an exchange among a group's four routers with two hosts each, whose links all stall alike.
func exchangeOfAGroup(percent float32) stalls.ByEnds {
	s := stalls.ByEnds{}
	for a := range 4 {
		router := fmt.Sprint("router0-", a)
		for b := range 4 {
			if a != b {
				s[[2]string{router, fmt.Sprint("router0-", b)}] = percent
			}
		}
		for host := 2 * a; host < 2*a+2; host++ {
			s[[2]string{router, fmt.Sprint("host", host)}] = percent
			s[[2]string{fmt.Sprint("host", host), router}] = percent
		}
	}
	return s
}

// A port that stalls far more than all others of an exchange is the root of a tree, although its router has only one
// other port and its host also sends; one within the usual variation is not.
func TestPortAboveItsExchangeIsARoot(t *testing.T) {
	g := stalls.Fabric(t, "dragonfly:groups=9,routers=4,hosts=2")
	for _, c := range []struct {
		port    float32
		regions int
	}{{90, 2}, {38, 1}} {
		s := exchangeOfAGroup(32)
		s[[2]string{"router0-0", "host0"}] = c.port
		if c.port > 50 {
			for b := 1; b < 4; b++ {
				s[[2]string{fmt.Sprint("router0-", b), "router0-0"}] = 72
			}
			s = s.With(treeFromOtherGroups(g, 60, 48, 40))
		}
		got := segmenttest.New(t, g, segmenttest.Overlapping()).Step(stalls.Snapshot(map[schema.Metric][]float32{schema.XmitWait: s.On(t, g).Noisy(.5, 1)}))
		roots := 0
		for _, r := range got {
			if r.Root != nil && r.Root.Link == stalls.LinkNamed(t, g, "router0-0", "host0") {
				roots++
			}
		}
		if len(got) != c.regions || roots != c.regions-1 {
			t.Errorf("port at %v%%: %s, of which %d begin at it, want %d and %d", c.port, segmenttest.Sizes(got), roots, c.regions, c.regions-1)
		}
	}
}

// treeFromOtherGroups has the global links into group 0 from groups above 5, and the local and host links that lead to
// them.
func treeFromOtherGroups(g *topology.Graph, global, local, host float32) stalls.ByEnds {
	s, enters := stalls.ByEnds{}, map[string]bool{}
	for l := range g.NumLinks() {
		from, to := g.Device(g.Link(schema.LinkID(l)).From), g.Device(g.Link(schema.LinkID(l)).To)
		if from.Kind == topology.Switch && to.Kind == topology.Switch && to.Group == 0 && from.Group > 5 {
			s[[2]string{from.Name, to.Name}] = global
			enters[from.Name] = true
		}
	}
	for l := range g.NumLinks() {
		from, to := g.Device(g.Link(schema.LinkID(l)).From), g.Device(g.Link(schema.LinkID(l)).To)
		switch {
		case !enters[to.Name]:
		case from.Kind == topology.Host:
			s[[2]string{from.Name, to.Name}] = host
		case from.Group == to.Group:
			s[[2]string{from.Name, to.Name}] = local
		}
	}
	return s
}
