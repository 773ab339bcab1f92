package trees_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/giverny/giverny/internal/test/stalls"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/segmenttest"
)

// hostsOf stalls the first hosts of leaves of eight hosts, unevenly around a mean.
func hostsOf(mean float32, hosts int, leaves ...int) stalls.ByEnds {
	s := stalls.ByEnds{}
	for _, leaf := range leaves {
		for k := range hosts {
			s[[2]string{fmt.Sprint("host", 8*leaf+k), fmt.Sprint("leaf", leaf)}] = mean * (.6 + .1*float32((3*k+leaf)%9))
		}
	}
	return s
}

// Hosts of several leaves whose uplinks are full but not stalled exchange: they are one region without a root if they
// wait alike and their leaves have the same switches above.
func TestLeavesThatSendAlikeAreOneExchange(t *testing.T) {
	g := stalls.Fabric(t, stalls.SixteenLeaves)
	for _, c := range []struct {
		name string
		want []stalls.ByEnds
	}{
		{"hosts alone", []stalls.ByEnds{hostsOf(30, 8, 1, 4, 7, 12)}},
		{"one leaf of which half of the hosts take part, and all ways up stall", []stalls.ByEnds{hostsOf(30, 8, 1, 4).With(waysUp(30, 9)).With(hostsOf(30, 4, 9))}},
		{"one leaf with a hot port to a host that sends, too", []stalls.ByEnds{hostsOf(30, 8, 1, 4, 7).With(stalls.ByEnds{{"leaf4", "host34"}: 25})}},
		{"two levels", []stalls.ByEnds{hostsOf(20, 8, 1, 4, 7), hostsOf(60, 8, 2, 9)}},
		{"beside hosts of which some do not wait: a tree in their leaf", []stalls.ByEnds{hostsOf(30, 8, 1, 4, 7), hostsOf(30, 5, 10)}},
	} {
		all := stalls.ByEnds{}
		for _, s := range c.want {
			all = all.With(s)
		}
		got := segmenttest.Find(t, g, segmenttest.Overlapping(), all.On(t, g).Noisy(.4, 1))
		segmenttest.WantRegions(t, c.name, g, got, c.want...)
		if k := slices.IndexFunc(got, func(r schema.Region) bool { return len(r.Links) >= 16 && r.Root != nil }); k >= 0 {
			t.Errorf("%s: %q has a root", c.name, got[k].Name)
		}
	}
}

// Leaves of different pods share no switches above, and are two exchanges.
func TestLeavesOfTwoPodsAreTwoExchanges(t *testing.T) {
	g := stalls.Fabric(t, "fattree:k=16")
	var pods []stalls.ByEnds
	for pod := range 2 {
		s := stalls.ByEnds{}
		for host := 64 * pod; host < 64*pod+24; host++ {
			s[[2]string{fmt.Sprint("host", host), fmt.Sprintf("leaf%d-%d", pod, host%64/8)}] = 24 + float32(host*5%13)
		}
		pods = append(pods, s)
	}
	segmenttest.WantRegions(t, "pods", g, segmenttest.Find(t, g, segmenttest.Overlapping(), pods[0].With(pods[1]).On(t, g).Noisy(.4, 1)), pods...)
}

// waysUp stalls all uplinks of leaves.
func waysUp(percent float32, leaves ...int) stalls.ByEnds {
	s := stalls.ByEnds{}
	for _, leaf := range leaves {
		for spine := range 8 {
			s[[2]string{fmt.Sprint("leaf", leaf), fmt.Sprint("spine", spine)}] = percent
		}
	}
	return s
}

// In an exchange in rounds, leaves stand at different levels. A leaf of which all hosts wait, some of them too little to
// count, is part of the exchange nearest in level, however few hosts count; hosts that pass no more than one port would
// are a tree's in their leaf, as are those beside hosts that do not wait; another level is another exchange.
func TestLeafOfWhichAllHostsWaitIsPartOfAnExchange(t *testing.T) {
	g := stalls.Fabric(t, stalls.SixteenLeaves)
	exchange := hostsOf(30, 8, 1, 4, 7)
	for _, c := range []struct {
		name    string
		leaf    stalls.ByEnds
		regions int
	}{
		{"all count", hostsOf(18, 8, 10), 1},
		{"some count", hostsOf(20, 6, 10).With(stalls.ByEnds{{"host86", "leaf10"}: 3, {"host87", "leaf10"}: 3}), 1},
		{"two hosts do not wait", hostsOf(20, 6, 10), 2},
		{"no more than one port passes", hostsOf(90, 6, 10).With(stalls.ByEnds{{"host86", "leaf10"}: 3, {"host87", "leaf10"}: 3}), 2},
		{"another level", hostsOf(75, 8, 10), 2},
	} {
		if got := segmenttest.Find(t, g, segmenttest.Overlapping(), exchange.With(c.leaf).On(t, g).Noisy(.4, 1)); len(got) != c.regions {
			t.Errorf("%s: %s, want %d regions", c.name, segmenttest.Sizes(got), c.regions)
		}
	}
}

// Leaves with a root of a tree that also send into another tree are no exchange: a port that stalls alone at its leaf, and more
// than its host waits to send, is a receiver.
func TestReceiversThatAlsoSendAreNoExchange(t *testing.T) {
	g := stalls.Fabric(t, stalls.SixteenLeaves)
	one, other := stalls.TreeOverAll(0, 3, 8, 60, 1, 2, 4), stalls.TreeOverAll(1, 12, 8, 60, 0, 3, 5)
	segmenttest.WantRegions(t, "two trees", g, segmenttest.Find(t, g, segmenttest.Overlapping(), one.Plus(other).On(t, g).Noisy(.4, 1)), one, other)
}
