package topology

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/giverny/giverny/internal/yamldoc"
	"github.com/giverny/giverny/schema"
)

// formatVersion is the version of the YAML format.
const formatVersion = 1

// Write writes a graph in Giverny's own format, which ReadYAML reads back with the same
// numbers and version:
//
//	giverny_topology: 1
//	fabric: ib0
//	duplex: false                        # true: a link stands for both directions
//	grid: {dims: [8, 8, 8], wrap: true}  # torus and mesh only
//	devices:                             # in order of number
//	- {name: "leaf0", kind: switch, guid: "0c42a10300100000", label: "L0", level: 1, group: 0, coord: [0, 0, 0]}
//	links:                               # in order of number: from, its port, to, its port, bytes/s, class
//	- ["leaf0", "1", "host0", "1", 2.5e+10, host]
//	- ["0,0,0", "X+", "1,0,0", "X-", 9.4e+09, torus, 0]  # class torus: and the dimension
//	- ["leaf0", "2", "host1", "1", 2.5e+10, host, down]  # known, but absent now
//
// guid, label, level, group and coord are optional. JSON is YAML, so the same content
// may be written as JSON.
func Write(w io.Writer, g *Graph) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "giverny_topology: %d\nfabric: %s\nduplex: %t\n", formatVersion, strconv.Quote(g.fabric), g.duplex)
	if g.grid != nil {
		dims, _ := json.Marshal(g.grid.Dims) // a list of numbers
		fmt.Fprintf(out, "grid: {dims: %s, wrap: %t}\n", dims, g.grid.Wrap)
	}
	fmt.Fprintln(out, "devices:")
	for i := range g.devices {
		writeDevice(out, &g.devices[i])
	}
	fmt.Fprintln(out, "links:")
	for id := range g.from {
		fmt.Fprintf(out, "- [%s, %s, %s, %s, %s, %s", strconv.Quote(g.devices[g.from[id]].Name), strconv.Quote(g.portName[g.fromPort[id]]),
			strconv.Quote(g.devices[g.to[id]].Name), strconv.Quote(g.portName[g.toPort[id]]),
			strconv.FormatFloat(g.capacity[id], 'g', -1, 64), g.class[id])
		if g.dim[id] >= 0 {
			fmt.Fprintf(out, ", %d", g.dim[id])
		}
		if !g.up[id] {
			out.WriteString(", down")
		}
		out.WriteString("]\n")
	}
	return out.Flush()
}

func writeDevice(out *bufio.Writer, d *Device) {
	fmt.Fprintf(out, "- {name: %s, kind: %s", strconv.Quote(d.Name), d.Kind)
	if d.GUID != "" {
		fmt.Fprintf(out, ", guid: %s", strconv.Quote(d.GUID))
	}
	if d.Label != "" {
		fmt.Fprintf(out, ", label: %s", strconv.Quote(d.Label))
	}
	fmt.Fprintf(out, ", level: %d, group: %d", d.Level, d.Group)
	if d.Coord != nil {
		coord, _ := json.Marshal(d.Coord)
		fmt.Fprintf(out, ", coord: %s", coord)
	}
	out.WriteString("}\n")
}

type yamlGraph struct {
	Version int    `yaml:"giverny_topology"`
	Fabric  string `yaml:"fabric"`
	Duplex  bool   `yaml:"duplex"`
	Grid    *struct {
		Dims []int `yaml:"dims"`
		Wrap bool  `yaml:"wrap"`
	} `yaml:"grid"`
	Devices []yamlDevice `yaml:"devices"`
	Links   []yaml.Node  `yaml:"links"`
}

type yamlDevice struct {
	Name  string `yaml:"name"`
	Kind  string `yaml:"kind"`
	GUID  string `yaml:"guid"`
	Label string `yaml:"label"`
	Level *int8  `yaml:"level"`
	Group *int32 `yaml:"group"`
	Coord []int  `yaml:"coord"`
}

// ReadYAML reads the output of Write. fabric, if not empty, overrides the name in the
// text; with prev, known devices and links keep their numbers.
func ReadYAML(r io.Reader, name, fabric string, prev *Graph) (*Graph, []string, error) {
	var y yamlGraph
	dec := yaml.NewDecoder(bufio.NewReader(r))
	dec.KnownFields(true)
	if err := dec.Decode(&y); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := yamldoc.End(dec, "give each fabric a file"); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if y.Version != formatVersion {
		return nil, nil, fmt.Errorf("%s: giverny_topology: %d: this program reads version %d", name, y.Version, formatVersion)
	}
	b := NewBuilder(cmp.Or(fabric, y.Fabric, DefaultFabric))
	if prev != nil {
		b = NewVersion(prev)
	}
	b.g.source, b.g.duplex = y.Fabric, y.Duplex
	if y.Grid != nil {
		b.SetGrid(Grid{y.Grid.Dims, y.Grid.Wrap})
	}
	for _, d := range y.Devices {
		if err := b.yamlDevice(d); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for i := range y.Links {
		if err := b.yamlLink(&y.Links[i]); err != nil {
			return nil, nil, fmt.Errorf("%s:%d: %w", name, y.Links[i].Line, err)
		}
	}
	if y.Grid == nil && !slices.ContainsFunc(y.Devices, yamlDevice.hasLevel) {
		b.setLevels()
	}
	g, err := b.Build()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return g, g.oneWay(), nil
}

// oneWay warns of links without a link in the opposite direction: a cable is two links.
func (g *Graph) oneWay() []string {
	if g.duplex {
		return nil
	}
	single, first := 0, Link{}
	for id := range schema.LinkID(g.NumLinks()) {
		l := g.Link(id)
		if back, _ := g.PortAt(l.To, l.ToPort); back.Egress != schema.NoLink {
			continue
		}
		if single++; single == 1 {
			first = l
		}
	}
	if single == 0 {
		return nil
	}
	from, to := g.devices[first.From].Name, g.devices[first.To].Name
	return []string{fmt.Sprintf("%d of %d links have none in the opposite direction, such as that from port %q of %q to port %q of %q; a cable is two links, so add "+
		"[%q, %q, %q, %q, ...], or set duplex: true where a link stands for both", single, g.NumLinks(), first.FromPort, from, first.ToPort, to, to, first.ToPort, from, first.FromPort)}
}

func (d yamlDevice) hasLevel() bool { return d.Level != nil && *d.Level >= 0 }

func (b *Builder) yamlDevice(d yamlDevice) error {
	dev := Device{Name: d.Name, GUID: d.GUID, Label: d.Label, Coord: d.Coord, Level: -1, Group: -1}
	switch d.Kind {
	case "switch":
		dev.Kind = Switch
	case "host":
		dev.Kind = Host
		if b.g.grid == nil && d.Level == nil {
			dev.Level = 0
		}
	default:
		return fmt.Errorf("device %q: kind %q: want switch or host", d.Name, d.Kind)
	}
	if d.Level != nil {
		dev.Level = *d.Level
	}
	if d.Group != nil {
		dev.Group = *d.Group
	}
	b.Device(dev)
	return nil
}

func (b *Builder) yamlLink(row *yaml.Node) error {
	if row.Kind != yaml.SequenceNode || len(row.Content) < 6 || len(row.Content) > 8 {
		return fmt.Errorf("a link is [from, port, to, port, bytes/s, class] and, where they apply, its dimension and the word down")
	}
	f := row.Content
	l := Link{FromPort: f[1].Value, ToPort: f[3].Value, Dim: -1, Up: true}
	for i, into := range map[int]*DeviceID{0: &l.From, 2: &l.To} {
		d, ok := b.g.byName[f[i].Value]
		if !ok {
			return fmt.Errorf("device %q is not listed under devices", f[i].Value)
		}
		*into = d
	}
	var err error
	if l.CapacityBytesPerSecond, err = strconv.ParseFloat(f[4].Value, 64); err != nil {
		return fmt.Errorf("capacity %q: want bytes per second", f[4].Value)
	}
	class := slices.Index(classNames[:], f[5].Value)
	if class < 0 {
		return fmt.Errorf("class %q: want one of %v", f[5].Value, classNames)
	}
	l.Class = LinkClass(class)
	for _, word := range f[6:] {
		if word.Value == "down" {
			l.Up = false
			continue
		}
		dim, err := strconv.ParseInt(word.Value, 10, 8)
		if err != nil || b.g.grid == nil || dim < 0 || int(dim) >= len(b.g.grid.Dims) {
			return fmt.Errorf("%q: want a dimension of the grid, or down", word.Value)
		}
		l.Dim = int8(dim)
	}
	if b.g.grid != nil && l.Dim < 0 {
		return fmt.Errorf("on a grid a link needs its dimension")
	}
	b.put(l)
	return nil
}
