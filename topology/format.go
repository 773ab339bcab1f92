package topology

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/giverny/giverny/internal/dbcsv"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
)

// Reader reads a fabric from text. name identifies the input in errors; fabric, if not
// empty, overrides the fabric name in the text; prev, an earlier version or nil, lets
// known links keep their numbers. The strings are warnings: what was left out and why.
type Reader func(r io.Reader, name, fabric string, prev *Graph) (*Graph, []string, error)

// DefaultFabric is the name of a fabric whose source does not name it.
const DefaultFabric = "fabric0"

// Format is a topology file format.
type Format struct {
	Name string
	Read Reader
	Help string
	sign func(head []byte) bool
}

// Formats lists the supported formats.
var Formats = []Format{
	{"yaml", ReadYAML, "Giverny's own format", func(h []byte) bool { return bytes.Contains(h, []byte("giverny_topology")) }},
	{"ibnetdiscover", ReadIBNetDiscover, "output of ibnetdiscover, plain or with -p", func(h []byte) bool {
		return bytes.Contains(h, []byte("switchguid=")) || bytes.Contains(h, []byte("caguid=")) || bytes.Contains(h, []byte("Initiated from node")) ||
			bytes.HasPrefix(h, []byte("CA ")) || bytes.HasPrefix(h, []byte("SW "))
	}},
	{"ibdiagnet", ReadIBDiagnet, "ibdiagnet's file ibdiagnet2.db_csv", dbcsv.Looks},
	{"slurm", ReadSlurm, "Slurm's topology.conf, tree plugin", func(h []byte) bool {
		return bytes.Contains(bytes.ToLower(h), []byte("switchname="))
	}},
	{"cables", ReadCables, "CSV with the columns device, port, peer, peer_port and if known gbps, kind, peer_kind", looksLikeCables},
	{"netq", ReadNetQ, "topology graph of NVIDIA NetQ's API, JSON", func(h []byte) bool { return bytes.Contains(h, []byte("compounded_links")) }},
}

// DetectSize is how many bytes of an input DetectFormat needs.
const DetectSize = 4 << 10

// DetectFormat detects the format from the beginning of a text.
func DetectFormat(head []byte) (Format, error) {
	for _, f := range Formats {
		if f.sign(head) {
			return f, nil
		}
	}
	if len(bytes.TrimSpace(head)) == 0 {
		return Format{}, errors.New("it is empty; want a fabric as " + formatHelp())
	}
	if bytes.Contains(head, []byte("devices:")) {
		return Format{}, errors.New("format not recognised; a topology file in Giverny's own format needs the line giverny_topology: 1")
	}
	return Format{}, fmt.Errorf("format not recognised; want one of %s; giverny topology import --format sets it", formatHelp())
}

// FindFormat finds a format by name.
func FindFormat(name string) (Format, error) {
	for _, f := range Formats {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("unknown topology format %q; want %s", name, formatNames())
}

// formatHelp lists the formats with their descriptions.
func formatHelp() string {
	texts := make([]string, len(Formats))
	for i, f := range Formats {
		texts[i] = f.Name + " (" + f.Help + ")"
	}
	return strings.Join(texts, ", ")
}

func formatNames() string {
	names := make([]string, len(Formats))
	for i, f := range Formats {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

// Summary has counts of a graph's content.
type Summary struct {
	Fabric           string         `json:"fabric"`
	Version          string         `json:"version"`
	Switches         int            `json:"switches"`
	ChannelAdapters  int            `json:"channel_adapters"` // hosts' adapters and aggregation nodes
	AggregationNodes int            `json:"aggregation_nodes"`
	Ports            int            `json:"ports"` // connected ports
	Links            int            `json:"links"`
	LinksDown        int            `json:"links_down"`
	Duplex           bool           `json:"duplex"`
	Dims             []int          `json:"dims,omitempty"`
	LinksByClass     map[string]int `json:"links_by_class"`
	LinksByGbps      map[string]int `json:"links_by_gbps"` // data rate of a link, Gb/s
	SwitchesByLevel  map[string]int `json:"switches_by_level"`
}

// Summarize counts the content of g.
func Summarize(g *Graph) Summary {
	s := Summary{Fabric: g.fabric, Version: fmt.Sprintf("%016x", g.version), Ports: g.NumPorts(), Links: g.NumLinks(), Duplex: g.duplex,
		LinksByClass: map[string]int{}, LinksByGbps: map[string]int{}, SwitchesByLevel: map[string]int{}}
	if g.grid != nil {
		s.Dims = g.grid.Dims
	}
	for i := range g.devices {
		switch d := &g.devices[i]; {
		case d.Kind == Switch:
			s.Switches++
			s.SwitchesByLevel[fmt.Sprint(d.Level)]++
		default:
			s.ChannelAdapters++
			if d.IsAggregationNode() {
				s.AggregationNodes++
			}
		}
	}
	for id := range schema.LinkID(g.NumLinks()) {
		s.LinksByClass[g.class[id].String()]++
		s.LinksByGbps[fmt.Sprintf("%g", g.capacity[id]*8/1e9)]++
		if !g.up[id] {
			s.LinksDown++
		}
	}
	return s
}

// String is the summary in one line: "ib0: 40 switches (31 leaf, 9 spine), 542 host adapters, 40 aggregation nodes, 2228
// ports, 2228 links (1164 host, 1064 switch; 2228 at 400 Gb/s; 0 down), version 52d7c758f64ab312".
func (s Summary) String() string {
	parts := []string{plural.Count(s.Switches, "switch", "switches")}
	if levels := counts(s.SwitchesByLevel, func(level string) string { return levelNames[level] }); s.SwitchesByLevel["-1"] < s.Switches {
		parts[0] += " (" + levels + ")"
	}
	if hosts := s.ChannelAdapters - s.AggregationNodes; hosts > 0 {
		parts = append(parts, plural.Count(hosts, "host adapter", "host adapters"))
	}
	if s.AggregationNodes > 0 {
		parts = append(parts, plural.Count(s.AggregationNodes, "aggregation node", "aggregation nodes"))
	}
	links := counts(s.LinksByClass, func(class string) string { return class })
	rates := counts(s.LinksByGbps, func(gbps string) string {
		if gbps == "0" {
			return "of unknown rate"
		}
		return "at " + gbps + " Gb/s"
	})
	parts = append(parts, plural.Count(s.Ports, "port", "ports"), plural.Count(s.Links, "link", "links")+fmt.Sprintf(" (%s; %s; %d down)", links, rates, s.LinksDown), "version "+s.Version)
	return s.Fabric + ": " + strings.Join(parts, ", ")
}

// levelNames are the words for the switch levels of Summary.
var levelNames = map[string]string{"-1": "of unknown level", "1": "leaf", "2": "spine", "3": "core"}

// counts lists counts with their names, "31 leaf, 9 spine", in key order.
func counts(of map[string]int, name func(key string) string) string {
	keys := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	for i, key := range keys {
		keys[i] = fmt.Sprintf("%d %s", of[key], cmp.Or(name(key), "of level "+key))
	}
	return strings.Join(keys, ", ")
}
