package topology

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
)

// groupKind is the word for a group of switches in this fabric.
func (g *Graph) groupKind() string {
	if slices.ContainsFunc(g.class, func(c LinkClass) bool { return c == ClassGlobal || c == ClassLocal }) {
		return "group"
	}
	return "pod"
}

// isPod reports whether a group has several switches; a group with one is called by the switch's name.
func (g *Graph) isPod(group int32) bool {
	return g.switchesIn[group] > 1
}

// Describe names the place of a set of links in a few words: on a torus or mesh the corner and size of its box,
// "(0,16,16) 4x4x9"; elsewhere the pod, group or switches of the links, and their direction if it is the same for
// all: "leaf3", "leaf3, all uplinks", "pod 2", "pod 3, all uplinks", "leaf4-9, spine0-3", "mlx5_3 of hosts of leaf4-9". The name
// does not depend on link numbering.
func (g *Graph) Describe(links []schema.LinkID) string {
	if len(links) == 0 {
		return "nowhere"
	}
	if g.grid != nil {
		return g.describeBox(g.BoundingBox(links))
	}
	switches := g.switchesOf(links)
	if len(switches) == 0 {
		return PlainName(g.devices[g.from[links[0]]].Name)
	}
	if own := g.describeOwn(links); own != "" {
		return own
	}
	if group := g.commonGroup(switches); len(switches) > 2 && g.isPod(group) {
		return g.groupKind() + " " + strconv.Itoa(int(group)) + g.describeWay(links, group)
	}
	if core := g.describeCore(links, switches); core != "" {
		return core
	}
	if groups, ok := g.describePods(switches); ok && !slices.ContainsFunc(links, func(l schema.LinkID) bool { return g.class[l] != ClassGlobal }) {
		return "global links of " + groups
	}
	if rail := g.railOf(links); rail != "" && !slices.ContainsFunc(links, func(l schema.LinkID) bool { return g.class[l] != ClassHost }) {
		return rail + " of hosts of " + g.describeRanges(switches)
	}
	return g.describeRanges(switches)
}

// fewestOwn is from how many links on that are half of a switch's links in one direction they are named by the switch alone.
const fewestOwn = 4

// describeOwn names links that all lead up, or all lead down, from one switch to others: "leaf3, all uplinks", "spine1, 12
// downlinks"; empty if they do not, or are few of its links, which the switches at their other ends tell better.
func (g *Graph) describeOwn(links []schema.LinkID) string {
	at, way := g.from[links[0]], g.wayOf(links[0])
	isOwn := func(l schema.LinkID) bool {
		return g.from[l] == at && g.wayOf(l) == way && g.devices[at].Level > 0 && g.devices[g.to[l]].Level > 0
	}
	if way == 0 || len(links) < 2 || slices.ContainsFunc(links, func(l schema.LinkID) bool { return !isOwn(l) }) {
		return ""
	}
	all := 0
	for _, l := range g.LinksAt(at) {
		if isOwn(l) {
			all++
		}
	}
	name := linksOf(way, nil)
	switch {
	case all == len(links):
		return PlainName(g.devices[at].Name) + ", all " + name
	case len(links) >= fewestOwn && 2*len(links) >= all:
		return fmt.Sprintf("%s, %d %s", PlainName(g.devices[at].Name), len(links), name)
	}
	return ""
}

// describeCore names links of several pods that all lead down from, or up to, switches outside pods: "core downlinks
// to pods 0-7", "uplinks of pods 0-7 to core0-3"; empty if they do not.
func (g *Graph) describeCore(links []schema.LinkID, switches []DeviceID) string {
	way := g.wayOf(links[0])
	for _, l := range links {
		low, high := g.from[l], g.to[l]
		if way < 0 {
			low, high = high, low
		}
		if g.wayOf(l) != way || way == 0 || g.devices[low].Group < 0 || g.devices[high].Group >= 0 {
			return ""
		}
	}
	isCore := func(d DeviceID) bool { return g.devices[d].Group < 0 }
	pods, ok := g.describePods(slices.DeleteFunc(slices.Clone(switches), isCore))
	if !ok {
		return ""
	}
	cores := slices.DeleteFunc(slices.Clone(switches), func(d DeviceID) bool { return !isCore(d) })
	all := 0
	for i := range g.devices {
		if d := &g.devices[i]; d.Kind == Switch && d.Group < 0 {
			all++
		}
	}
	core := wordOf(PlainName(g.devices[cores[0]].Name))
	if len(cores) < all || core == "" {
		core = g.describeRanges(cores)
	}
	if way > 0 {
		return "uplinks of " + pods + " to " + core
	}
	return core + " downlinks to " + pods
}

// describeWay describes the links of a pod that all lead up or all down, and whether they are all of these.
func (g *Graph) describeWay(links []schema.LinkID, group int32) string {
	way := g.wayOf(links[0])
	for _, l := range links {
		if g.wayOf(l) != way {
			return ""
		}
	}
	if way == 0 {
		return g.describeLocal(links, group)
	}
	// Compare with all links of the pod at the same levels.
	low := func(l schema.LinkID) int8 { return min(g.devices[g.from[l]].Level, g.devices[g.to[l]].Level) }
	levels := map[int8]bool{}
	for _, l := range links {
		levels[low(l)] = true
	}
	all := 0
	for l := range schema.LinkID(len(g.from)) {
		lower := g.from[l]
		if way < 0 {
			lower = g.to[l]
		}
		if g.wayOf(l) == way && levels[low(l)] && g.devices[lower].Group == group {
			all++
		}
	}
	name := linksOf(way, slices.Collect(maps.Keys(levels)))
	if all == len(links) {
		name = "all " + name
	}
	return ", " + name
}

// describeLocal describes the links between the routers of a dragonfly's group, and whether they are all of these.
func (g *Graph) describeLocal(links []schema.LinkID, group int32) string {
	isLocal := func(l schema.LinkID) bool { return g.class[l] == ClassLocal && g.devices[g.from[l]].Group == group }
	if slices.ContainsFunc(links, func(l schema.LinkID) bool { return !isLocal(l) }) {
		return ""
	}
	all := 0
	for l := range schema.LinkID(len(g.from)) {
		if isLocal(l) {
			all++
		}
	}
	if all == len(links) {
		return ", all local links"
	}
	return ", local links"
}

// linksOf is the term for links of a pod in one direction, by the levels of their lower ends.
func linksOf(way int, levels []int8) string {
	of, to := "", ""
	if len(levels) == 1 {
		of = [...]string{"host ", "leaf ", "aggregation "}[min(2, max(0, levels[0]))]
		to = [...]string{" to hosts", " to leaf switches", " to aggregation switches"}[min(2, max(0, levels[0]))]
	}
	if way > 0 {
		return of + "uplinks"
	}
	return "downlinks" + to
}

// wayOf is 1 for a link that leads up, -1 for one that leads down, 0 between devices of the same level.
func (g *Graph) wayOf(l schema.LinkID) int {
	return cmp.Compare(g.devices[g.to[l]].Level, g.devices[g.from[l]].Level)
}

func (g *Graph) describeBox(box *schema.Box) string {
	size := make([]string, len(box.Min))
	for i, d := range g.grid.Dims {
		size[i] = strconv.Itoa((box.Max[i]-box.Min[i]+d)%d + 1)
	}
	return "(" + coordName(box.Min) + ") " + strings.Join(size, "x")
}

// switchesOf lists the switches of links, ascending.
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

// commonGroup is the group of all the switches that have one; -1 if they differ.
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

// maxRanges is the maximum number of name ranges in a description.
const maxRanges = 3

// describeRanges combines names that differ only in one number to ranges; if there are too many, it combines the
// switches of each kind.
func (g *Graph) describeRanges(switches []DeviceID) string {
	kinds := map[string][]DeviceID{} // by name without digits
	for _, d := range switches {
		kind := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, PlainName(g.devices[d].Name))
		kinds[kind] = append(kinds[kind], d)
	}
	var whole, short []string
	others := len(switches) // that the first maxRanges-1 of short do not name
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		names := make([]string, len(kinds[kind]))
		for i, d := range kinds[kind] {
			names[i] = PlainName(g.devices[d].Name)
		}
		r := rangesOf(names)
		whole = append(whole, r...)
		if len(r) > 1 && len(names) > 2 {
			r = []string{g.describeKind(kinds[kind], names)}
		}
		for _, name := range r { // one for all names, or one for each of two
			if len(short) < maxRanges-1 {
				others -= len(names) / len(r)
			}
			short = append(short, name)
		}
	}
	switch {
	case len(whole) <= maxRanges:
		return strings.Join(whole, ", ")
	case len(short) <= maxRanges:
		return strings.Join(short, ", ")
	}
	return fmt.Sprintf("%s and %s", strings.Join(short[:maxRanges-1], ", "), plural.Count(others, "more switch", "more switches"))
}

// describeKind combines switches of one kind: "agg switches of pods 0-2", "leaf3,7,12-14", "17 of leaf3-61".
func (g *Graph) describeKind(switches []DeviceID, names []string) string {
	if pods, ok := g.describePods(switches); ok {
		return kindOf(names[0]) + " switches of " + pods
	}
	shapes, numbers := splitNumbers(names)
	first := shapes[0]
	for i := range names {
		if shapes[i] != first || numbers[i] < 0 {
			return fmt.Sprintf("%d switches %s*", len(names), commonPrefix(names))
		}
	}
	slices.Sort(numbers)
	return first.list(numbers)
}

// kindOf is a name without its numbers: "leaf" of leaf3-1, "p*l*" of p3l1.
func kindOf(name string) string {
	kind := digits.ReplaceAllString(name, "*")
	if word := wordOf(name); strings.TrimRight(strings.ReplaceAll(kind, "*", ""), "-_.") == word {
		return word
	}
	return kind
}

var digits = regexp.MustCompile("[0-9]+")

// wordOf is a name up to its first number: "leaf" of leaf3-1.
func wordOf(name string) string {
	return strings.TrimRight(name[:strings.IndexAny(name+"0", "0123456789")], "-_.")
}

func commonPrefix(names []string) string {
	low, high := slices.Min(names), slices.Max(names)
	n := 0
	for n < len(low) && low[n] == high[n] {
		n++
	}
	return low[:n]
}
