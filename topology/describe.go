package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/schema"
)

// Describe names the place of a set of links in a few words: on a torus or mesh
// the corner and size of its box, "(0,16,16) 4x4x9"; elsewhere the switches
// that the links touch, "leaf3", "pod 2", "leaf4-9, spine0-3". The same links
// have the same name.
func (g *Graph) Describe(links []schema.LinkID) string {
	if len(links) == 0 {
		return "nowhere"
	}
	if g.grid != nil {
		return g.describeBox(g.BoundingBox(links))
	}
	switches := g.switchesOf(links)
	if len(switches) == 0 {
		return g.devices[g.from[links[0]]].Name
	}
	if len(switches) <= 2 {
		return joinNames(g, switches)
	}
	if group := g.commonGroup(switches); group >= 0 {
		kind := "pod"
		if slices.ContainsFunc(links, func(l schema.LinkID) bool { return g.class[l] == ClassGlobal || g.class[l] == ClassLocal }) {
			kind = "group"
		}
		return kind + " " + strconv.Itoa(int(group))
	}
	return g.describeRanges(switches)
}

func (g *Graph) describeBox(box *schema.Box) string {
	size := make([]string, len(box.Min))
	for i, d := range g.grid.Dims {
		size[i] = strconv.Itoa((box.Max[i]-box.Min[i]+d)%d + 1)
	}
	return "(" + coordName(box.Min) + ") " + strings.Join(size, "x")
}

// switchesOf lists the switches that links touch, ascending.
func (g *Graph) switchesOf(links []schema.LinkID) []DeviceID {
	var list []DeviceID
	for _, l := range links {
		for _, d := range [2]DeviceID{g.from[l], g.to[l]} {
			if g.IsSwitch(d) {
				list = append(list, d)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func joinNames(g *Graph, devices []DeviceID) string {
	names := make([]string, len(devices))
	for i, d := range devices {
		names[i] = g.devices[d].Name
	}
	return strings.Join(names, ", ")
}

// commonGroup is the group of all the switches that have one, -1 if they differ.
func (g *Graph) commonGroup(switches []DeviceID) int32 {
	group := int32(-1)
	for _, d := range switches {
		switch own := g.devices[d].Group; {
		case own < 0: // a core or spine belongs to all groups
		case group < 0:
			group = own
		case own != group:
			return -1
		}
	}
	return group
}

// maxRanges is how many ranges of names a description holds.
const maxRanges = 3

// describeRanges writes names that differ only in their last number as ranges.
func (g *Graph) describeRanges(switches []DeviceID) string {
	numbers := map[string][]int{}
	var stems []string
	for _, d := range switches {
		stem, number := splitNumber(g.devices[d].Name)
		if _, known := numbers[stem]; !known {
			stems = append(stems, stem)
		}
		numbers[stem] = append(numbers[stem], number)
	}
	slices.Sort(stems)
	var ranges []string
	for _, stem := range stems {
		ns := numbers[stem]
		slices.Sort(ns)
		for len(ns) > 0 {
			n := 1
			for n < len(ns) && ns[n] == ns[n-1]+1 {
				n++
			}
			text := stem
			if ns[0] >= 0 {
				text += strconv.Itoa(ns[0])
			}
			if n > 1 {
				text += "-" + strconv.Itoa(ns[n-1])
			}
			ranges, ns = append(ranges, text), ns[n:]
		}
	}
	if len(ranges) > maxRanges {
		return fmt.Sprintf("%s and %d more places, %d switches", strings.Join(ranges[:maxRanges-1], ", "), len(ranges)-maxRanges+1, len(switches))
	}
	return strings.Join(ranges, ", ")
}

// splitNumber splits "leaf12" into "leaf" and 12; -1 if there is no number.
func splitNumber(name string) (string, int) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	n, err := strconv.Atoi(name[i:])
	if err != nil || i < len(name)-1 && name[i] == '0' { // keep leading zeros
		return name, -1
	}
	return name[:i], n
}
