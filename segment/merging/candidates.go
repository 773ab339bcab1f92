package merging

import (
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
)

// candidates are the links that may be in a region: the hot links that remain after hysteresis
// thresholding, and the holes between them. All other measured links are background. Later steps
// cost by the number of candidates, not by the fabric's size.
//
// A missing link merges its two switches: the links at both are neighbours, so that a dead cable or
// blade does not divide a region. A merged switch is identified by one of its switches.
type candidates struct {
	adj *linkset.Adjacency

	hot            int     // number of hot links without those that are barely hot in a calm context
	links          []int32 // the candidates, ascending
	mergedSwitches []int32 // those with candidates, ascending

	mergedInto      []int32 // by switch: the merged switch that it belongs to
	off             []int32 // by merged switch + 1: see at
	members         []int32 // see at
	backgroundLinks []int32 // by merged switch: measured links that are not candidates

	holes         []int32
	unmeasured    []int32           // missing links
	unmeasuredAt  []int32           // by switch: missing links
	hotAt         []int32           // by switch: hot links
	hotAtMerged   []int32           // by merged switch: hot links
	switchContext []linkContext     // by switch
	merges        linkset.UnionFind // of switches
	mergingLinks  []int32           // by root of merges: the missing links between its switches
}

// linkContext classifies the mean at a switch.
type linkContext uint8

const (
	contextUnknown linkContext = iota
	contextHot
	contextCalm
)

const (
	// minHotLinks is how many hot links a switch needs to count as mostly hot.
	minHotLinks = 3
	// maxMergingLinks bounds the missing links that merge many switches into one: two
	// blades of a Gemini torus may be down, but not a quarter of the machine.
	maxMergingLinks = 32
)

func newCandidates(adj *linkset.Adjacency) candidates {
	n := adj.NumSwitches()
	return candidates{
		adj: adj, mergedInto: make([]int32, n), off: make([]int32, n+2), backgroundLinks: make([]int32, n),
		unmeasuredAt: make([]int32, n), hotAt: make([]int32, n), hotAtMerged: make([]int32, n),
		switchContext: make([]linkContext, n), mergingLinks: make([]int32, n),
	}
}

// find finds the candidates of a snapshot. If a region needs more than one link,
// isolated ones and those in a calm context are dropped.
func (c *candidates) find(values []float32, t thresholds, together bool) {
	c.links, c.unmeasured = c.links[:0], c.unmeasured[:0]
	for l, v := range values {
		if v >= t.hot {
			c.links = append(c.links, int32(l))
		} else if v == linkset.Missing {
			c.unmeasured = append(c.unmeasured, int32(l))
		}
	}
	if len(c.links) == 0 {
		return
	}
	if together {
		c.dropUncertain(values, t)
	}
	c.hot = len(c.links)
	c.mergeSwitches()
	c.findHoles(values, t.hot)
	if together {
		c.dropIsolated()
	}
	c.addHoles()
	c.groupBySwitch(values)
}

// dropUncertain drops links that are barely hot in a calm context: the halo of a
// region, every other link of which is raised by noise, would make it ragged.
func (c *candidates) dropUncertain(values []float32, t thresholds) {
	clear(c.switchContext)
	c.links = slices.DeleteFunc(c.links, func(l int32) bool {
		if values[l] >= t.certain {
			return false
		}
		for _, s := range c.adj.Ends[l] {
			if s == linkset.NoSwitch {
				continue
			}
			if c.switchContext[s] == contextUnknown {
				c.switchContext[s] = c.contextOf(s, values, t)
			}
			if c.switchContext[s] == contextHot {
				return false
			}
		}
		return true
	})
}

// contextOf compares the mean at a switch with the threshold; values are clipped at
// certain. It sums integers, so the order does not matter.
func (c *candidates) contextOf(s int32, values []float32, t thresholds) linkContext {
	sum, measured := 0, 0
	for _, l := range c.adj.Links(s) {
		if v := values[l]; v != linkset.Missing {
			sum += int(min(v, t.certain) * binsPerPoint)
			measured++
		}
	}
	if sum >= int(t.context*binsPerPoint)*measured {
		return contextHot
	}
	return contextCalm
}

// mergeSwitches merges the switches at both ends of missing links, unless there are too
// many of these.
func (c *candidates) mergeSwitches() {
	clear(c.unmeasuredAt)
	clear(c.mergingLinks)
	c.merges.Reset(c.adj.NumSwitches())
	for _, l := range c.unmeasured {
		a, b := c.adj.Ends[l][0], c.adj.Ends[l][1]
		if a != linkset.NoSwitch {
			c.unmeasuredAt[a]++
		}
		if b != linkset.NoSwitch {
			c.unmeasuredAt[b]++
			c.merges.Union(a, b)
		}
	}
	for _, l := range c.unmeasured {
		if a, b := c.adj.Ends[l][0], c.adj.Ends[l][1]; b != linkset.NoSwitch {
			c.mergingLinks[c.merges.Find(a)]++
		}
	}
	for s := range c.mergedInto {
		c.mergedInto[s] = int32(s)
	}
	for _, l := range c.unmeasured {
		for _, s := range c.adj.Ends[l] {
			if s == linkset.NoSwitch {
				continue
			}
			if root := c.merges.Find(s); c.mergingLinks[root] <= maxMergingLinks {
				c.mergedInto[s] = root
			}
		}
	}
}

// findHoles finds links that are not hot between mostly hot switches: a morphological
// closing by one step.
func (c *candidates) findHoles(values []float32, hot float32) {
	clear(c.hotAt)
	for _, l := range c.links {
		for _, s := range c.adj.Ends[l] {
			if s != linkset.NoSwitch {
				c.hotAt[s]++
			}
		}
	}
	c.holes = c.holes[:0]
	for s := range int32(len(c.hotAt)) {
		if !c.mostlyHot(s) {
			continue
		}
		for _, l := range c.adj.Links(s) {
			far := c.adj.Far(l, s)
			if v := values[l]; v != linkset.Missing && v < hot && (far == linkset.NoSwitch || far > s && c.mostlyHot(far)) {
				c.holes = append(c.holes, l)
			}
		}
	}
	slices.Sort(c.holes)
}

func (c *candidates) mostlyHot(s int32) bool {
	return c.hotAt[s] >= minHotLinks && 2*c.hotAt[s] > int32(len(c.adj.Links(s)))-c.unmeasuredAt[s]
}

// dropIsolated drops hot links that share no merged switch with another.
func (c *candidates) dropIsolated() {
	clear(c.hotAtMerged)
	for _, l := range c.links {
		a, b := c.mergedSwitchesOf(l)
		for _, s := range [2]int32{a, b} {
			if s != linkset.NoSwitch {
				c.hotAtMerged[s]++
			}
		}
	}
	c.links = slices.DeleteFunc(c.links, func(l int32) bool {
		a, b := c.mergedSwitchesOf(l)
		return (a == linkset.NoSwitch || c.hotAtMerged[a] < 2) && (b == linkset.NoSwitch || c.hotAtMerged[b] < 2)
	})
}

// addHoles merges the sorted holes into the sorted links.
func (c *candidates) addHoles() {
	i, j := len(c.links)-1, len(c.holes)-1
	c.links = append(c.links, c.holes...)
	for k := len(c.links) - 1; j >= 0; k-- {
		if i >= 0 && c.links[i] > c.holes[j] {
			c.links[k] = c.links[i]
			i--
		} else {
			c.links[k] = c.holes[j]
			j--
		}
	}
}

// groupBySwitch lists the candidates by merged switch, and counts the background links
// there.
func (c *candidates) groupBySwitch(values []float32) {
	clear(c.off)
	for _, l := range c.links {
		a, b := c.mergedSwitchesOf(l)
		for _, s := range [2]int32{a, b} {
			if s != linkset.NoSwitch {
				c.off[s+2]++
			}
		}
	}
	c.countBackground(values)
	c.mergedSwitches = c.mergedSwitches[:0]
	for s := range c.mergedInto {
		if c.off[s+2] > 0 {
			c.mergedSwitches = append(c.mergedSwitches, int32(s))
		}
		c.off[s+2] += c.off[s+1]
	}
	c.members = scratch.Slice(c.members, int(c.off[len(c.off)-1]))
	for i, l := range c.links {
		a, b := c.mergedSwitchesOf(l)
		for _, s := range [2]int32{a, b} {
			if s != linkset.NoSwitch {
				c.members[c.off[s+1]] = int32(i)
				c.off[s+1]++
			}
		}
	}
}

// countBackground counts the measured links at merged switches with candidates, minus these. At this
// point off[s+2] is the number of candidates at s.
func (c *candidates) countBackground(values []float32) {
	clear(c.backgroundLinks)
	for s, merged := range c.mergedInto {
		if c.off[merged+2] == 0 {
			continue
		}
		c.backgroundLinks[merged] += int32(len(c.adj.Links(int32(s)))) - c.unmeasuredAt[s]
		if c.unmeasuredAt[s] > 0 {
			c.backgroundLinks[merged] -= c.internalLinks(int32(s), values)
		}
	}
	for s := range c.backgroundLinks {
		c.backgroundLinks[s] -= c.off[s+2]
	}
}

// internalLinks counts the measured links from a switch to later ones of its merged
// switch, so that they count once.
func (c *candidates) internalLinks(s int32, values []float32) (n int32) {
	for _, l := range c.adj.Links(s) {
		if far := c.adj.Far(l, s); far > s && c.mergedInto[far] == c.mergedInto[s] && values[l] != linkset.Missing {
			n++
		}
	}
	return n
}

// mergedSwitchesOf returns the merged switches at the ends of a link, or linkset.NoSwitch.
func (c *candidates) mergedSwitchesOf(l int32) (a, b int32) {
	e := c.adj.Ends[l]
	if e[0] == linkset.NoSwitch {
		return linkset.NoSwitch, linkset.NoSwitch
	}
	a = c.mergedInto[e[0]]
	if e[1] == linkset.NoSwitch || c.mergedInto[e[1]] == a {
		return a, linkset.NoSwitch
	}
	return a, c.mergedInto[e[1]]
}

// at lists the candidates at a merged switch, by index in links.
func (c *candidates) at(s int32) []int32 { return c.members[c.off[s]:c.off[s+1]] }
