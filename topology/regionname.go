package topology

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/giverny/giverny/schema"
)

// DescribeRegions names the regions of an interval, separately for each metric: if several would share a name, one of
// their ports is added.
func (g *Graph) DescribeRegions(regions []schema.Region) {
	type place struct {
		metric schema.Metric
		name   string
	}
	same := map[place][]*schema.Region{}
	for i := range regions {
		r := &regions[i]
		r.Name = g.DescribeRegion(r)
		at := place{r.Metric, r.Name}
		same[at] = append(same[at], r)
	}
	for _, list := range same {
		if len(list) > 1 {
			g.disambiguate(list)
		}
	}
}

// disambiguate adds to a shared name the first port, by name, of the links that only this region has; if there is none,
// the first port not used for another region.
func (g *Graph) disambiguate(list []*schema.Region) {
	regionsOf := map[schema.LinkID]int{}
	for _, r := range list {
		for _, l := range r.Links {
			regionsOf[l]++
		}
	}
	named := map[string]bool{}
	for _, r := range list {
		own, free := "", ""
		for _, l := range r.Links {
			key := g.PortKey(l)
			port := PortName(key.Device, key.Port)
			if regionsOf[l] == 1 && (own == "" || port < own) {
				own = port
			}
			if !named[port] && (free == "" || port < free) {
				free = port
			}
		}
		if port := cmp.Or(own, free); port != "" {
			named[port] = true
			r.Name += ", with " + port
		}
	}
}

// DescribeRegion names a region in a few words: by its root and the source of its traffic, "congestion tree at leaf7 port
// 9 (host56), from pods 0-2", or by its place (Describe) if it has no single root. Stalls do not show why a tree grows;
// if a diagnosis has found the kind of its root, the name has it: "incast at leaf7 port 9 (host56)". The name does not
// depend on the numbering of links and devices.
func (g *Graph) DescribeRegion(r *schema.Region) string {
	if g.grid != nil {
		return g.Describe(r.Links)
	}
	if ports := g.describeHostPorts(r.Links); ports != "" {
		return ports
	}
	if r.Root == nil {
		return g.Describe(r.Links)
	}
	text := rootNames[r.Root.Kind] + PortName(r.Root.Device, r.Root.Port)
	if r.Root.Peer != "" {
		text += " (" + PlainName(r.Root.Peer) + ")"
	}
	if from := g.describeSources(r); from != "" {
		text += ", from " + from
	}
	return text
}

// rootNames maps kinds of roots to the beginning of region names.
var rootNames = map[string]string{
	"":                      "congestion tree at ",
	schema.RootIncast:       "incast at ",
	schema.RootSlowReceiver: "slow receiver at ",
	schema.RootLinkCapacity: "full link at ",
	schema.RootLinkDown:     "failed link at ",
	schema.RootDeadlock:     "possible deadlock at ",
}

// NamesRoot reports whether a name from DescribeRegion names a root, and so says what is there.
func NamesRoot(name string) bool {
	_, named := RootPlace(name)
	return named
}

// RootPlace strips the kind of root, which a diagnosis may change, from a name, leaving the place.
func RootPlace(name string) (place string, named bool) {
	for _, begin := range rootNames {
		if place, named = strings.CutPrefix(name, begin); named {
			return place, true
		}
	}
	return name, false
}

// RenameRoot returns the name of a region for a newly found kind of root.
func RenameRoot(name, kind string) string {
	if rest, is := strings.CutPrefix(name, rootNames[""]); is && rootNames[kind] != "" {
		return rootNames[kind] + rest
	}
	return name
}

// managed matches the names that a managed NVIDIA switch gives its chips in an InfiniBand subnet: "MF0;leaf1:MQM8700/U1".
var managed = regexp.MustCompile(`^MF[0-9]+;([^:;]+):[^:/]+/(.+)$`)

// maker matches the vendor in firmware descriptions of unnamed devices: "Infiniscale-IV Mellanox Technologies".
var maker = regexp.MustCompile(` *Mellanox Technologies *`)

// PlainName is a device's display name: for a managed switch its own name, with the chip's if it has several; for
// "Voltaire 4036 # leaf1" the part after the model; otherwise the name without the vendor.
func PlainName(name string) string {
	if m := managed.FindStringSubmatch(name); m != nil {
		if m[2] == "U1" {
			return m[1]
		}
		return m[1] + "/" + m[2]
	}
	if _, own, has := strings.Cut(name, " # "); has && own != "" {
		return own
	}
	if short := strings.TrimSpace(maker.ReplaceAllString(name, " ")); short != "" {
		return short
	}
	return name
}

// PortName is a port's display name, "leaf7 port 9"; without a port, the device's.
func PortName(device, port string) string {
	name := PlainName(device)
	if port == "" {
		return name
	}
	return name + " port " + port
}

// fewestHostPorts is from how many host ports of one switch on they do not count as one root: so many trees are rare.
const fewestHostPorts = 4

// describeHostPorts names links that are mostly host ports of one switch: "leaf16, all host ports", "leaf16, 12 host
// ports"; empty if they are not.
func (g *Graph) describeHostPorts(links []schema.LinkID) string {
	at, n := DeviceID(0), 0
	for _, l := range links {
		if g.class[l] != ClassHost || g.IsSwitch(g.to[l]) {
			continue
		}
		if n > 0 && g.from[l] != at {
			return ""
		}
		at, n = g.from[l], n+1
	}
	if n < fewestHostPorts || 2*n <= len(links) {
		return ""
	}
	all := 0
	for _, l := range g.LinksAt(at) {
		if g.from[l] == at && g.class[l] == ClassHost {
			all++
		}
	}
	name := PlainName(g.devices[at].Name)
	if n == all {
		return name + ", all host ports"
	}
	return fmt.Sprintf("%s, %d host ports", name, n)
}

// describeSources names the pods or groups, or else the switches, of the hosts that send over a region's links, and their rail if they
// are all on one that the root does not name.
func (g *Graph) describeSources(r *schema.Region) string {
	var leaves []DeviceID
	var sending []schema.LinkID
	for _, l := range r.Links {
		if g.class[l] == ClassHost && g.IsSwitch(g.to[l]) {
			leaves, sending = append(leaves, g.to[l]), append(sending, l)
		}
	}
	from := g.describeLeaves(r, leaves)
	if rail := g.railOf(sending); rail != "" && rail != adapterOf(r.Root.Peer) {
		from += ", rail " + rail
	}
	return from
}

// describeLeaves names the switches of the hosts that send, or their pods or groups.
func (g *Graph) describeLeaves(r *schema.Region, leaves []DeviceID) string {
	slices.Sort(leaves)
	leaves = slices.Compact(leaves)
	switch pods, ok := g.describePods(leaves); {
	case len(leaves) == 0:
		return ""
	case len(leaves) == 1 && g.devices[leaves[0]].Name == r.Root.Device:
		return "hosts of the same switch"
	case len(leaves) > 1 && ok:
		return pods
	}
	return "hosts of " + g.describeRanges(leaves)
}

// describePods names the pods or groups of switches; ok is false if some switch has none.
func (g *Graph) describePods(switches []DeviceID) (text string, ok bool) {
	var groups []int
	for _, d := range switches {
		groups = append(groups, int(g.devices[d].Group))
	}
	slices.Sort(groups)
	groups = slices.Compact(groups)
	runs := ranges(numbered{}, groups)
	switch {
	case slices.ContainsFunc(groups, func(group int) bool { return !g.isPod(int32(group)) }):
		return "", false
	case len(groups) == 1:
		return g.groupKind() + " " + runs[0], true
	case len(runs) > maxRuns:
		return fmt.Sprintf("%d %ss", len(groups), g.groupKind()), true
	}
	return g.groupKind() + "s " + strings.Join(runs, ","), true
}
