package topology

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/giverny/giverny/schema"
)

// DescribeRegions names the regions of an interval, those of one metric each in its own way: where several would share
// a name, it also says one of their ports.
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
			g.tellApart(list)
		}
	}
}

// tellApart adds to the name that regions share the first port, by name, of the links that a region has alone; where
// it has none alone, the first that no other is named by.
func (g *Graph) tellApart(list []*schema.Region) {
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
			port := PlainName(key.Device) + " port " + key.Port
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

// DescribeRegion names a region in a few words: by its root and where its traffic comes from, "congestion tree at
// leaf7 port 9 (host56), from pods 0-2", or by its place (Describe) where it has no one root. The stall of links does
// not show why a tree grows; where a diagnosis has found the kind of its root, that is in the name: "incast at leaf7 port
// 9 (host56)". The same region has the same name, however links and devices are numbered.
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
	text := rootNames[r.Root.Kind] + PlainName(r.Root.Device)
	if r.Root.Port != "" {
		text += " port " + r.Root.Port
	}
	if r.Root.Peer != "" {
		text += " (" + PlainName(r.Root.Peer) + ")"
	}
	if from := g.describeSources(r); from != "" {
		text += ", from " + from
	}
	return text
}

// rootNames is how the names of regions with a root begin, by its kind.
var rootNames = map[string]string{
	"":                      "congestion tree at ",
	schema.RootIncast:       "incast at ",
	schema.RootSlowReceiver: "slow receiver at ",
	schema.RootLinkCapacity: "full link at ",
	schema.RootLinkDown:     "failed link at ",
	schema.RootDeadlock:     "possible deadlock at ",
}

// NamesRoot reports whether a name of DescribeRegion is that of a root, and so says itself what is there.
func NamesRoot(name string) bool {
	_, named := RootPlace(name)
	return named
}

// RootPlace is a name by a root without what is there, which may be another thing once a diagnosis has looked.
func RootPlace(name string) (place string, named bool) {
	for _, begin := range rootNames {
		if place, named = strings.CutPrefix(name, begin); named {
			return place, true
		}
	}
	return name, false
}

// RenameRoot is the name of a region after its root was found to be of a kind.
func RenameRoot(name, kind string) string {
	if rest, is := strings.CutPrefix(name, rootNames[""]); is && rootNames[kind] != "" {
		return rootNames[kind] + rest
	}
	return name
}

// managed is the name that a managed switch of NVIDIA gives each of its chips in an InfiniBand subnet: "MF0;leaf1:MQM8700/U1".
var managed = regexp.MustCompile(`^MF[0-9]+;([^:;]+):[^:/]+/(.+)$`)

// maker is what firmware puts into the descriptions of devices that nobody has named: "Infiniscale-IV Mellanox Technologies".
var maker = regexp.MustCompile(` *Mellanox Technologies *`)

// PlainName is a device's name as people call it: of a managed switch its own name, with the chip's where it has several;
// of "Voltaire 4036 # leaf1" what stands after the model; elsewhere without the maker.
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

// fewestHostPorts is how many ports to hosts of one switch are not one root: as many trees are rare.
const fewestHostPorts = 4

// describeHostPorts names links that mostly are ports to hosts of one switch: "leaf16, all host ports", "leaf16, 12 host
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
	if n == all {
		return g.devices[at].Name + ", all host ports"
	}
	return fmt.Sprintf("%s, %d host ports", g.devices[at].Name, n)
}

// describeSources names where the hosts are that send over a region's links: their pods or groups, or else their
// switches.
func (g *Graph) describeSources(r *schema.Region) string {
	var leaves []DeviceID
	for _, l := range r.Links {
		if g.class[l] == ClassHost && g.IsSwitch(g.to[l]) {
			leaves = append(leaves, g.to[l])
		}
	}
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

// describePods names the pods or groups that switches belong to; ok is false where one belongs to none.
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
