package dashboards

import (
	"context"
	"errors"
	"sync"

	"github.com/giverny/giverny/dashboards/operation"
	"github.com/giverny/giverny/internal/problem"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
	"github.com/giverny/giverny/topology"
)

// SetGraph puts a new version of a fabric's graph into force. Other versions are
// read from the store when they are needed.
func (d *Dashboards) SetGraph(g *topology.Graph) {
	if f := d.fabrics[g.Fabric()]; f != nil {
		f.graphs.put(g)
	}
}

// graphs are the versions of one fabric's graph.
type graphs struct {
	fabric string
	model  *read.Model

	mu      sync.Mutex // guards the fields below
	inForce *topology.Graph
	old     map[read.Version]*topology.Graph // other versions that were requested
}

// current returns the version in force.
func (v *graphs) current() *topology.Graph {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.inForce
}

// put puts a version into force.
func (v *graphs) put(g *topology.Graph) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.inForce = g
}

// replace puts a version into force unless old no longer is: then a newer one has come meanwhile.
func (v *graphs) replace(old, g *topology.Graph) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.inForce == old {
		v.inForce = g
	}
}

// maxOldGraphs is how many versions of a fabric are cached besides the one in force.
const maxOldGraphs = 4

// of returns a version.
func (v *graphs) of(ctx context.Context, version read.Version) (*topology.Graph, error) {
	if g := v.cached(version); g != nil {
		return g, nil
	}
	g, err := v.model.Graph(ctx, v.fabric, uint64(version))
	if errors.Is(err, read.ErrNotFound) {
		return nil, problem.NotFound("no version %v of the graph of fabric %q; graph_version of %s/fabrics/%s/snapshot is the newest", version, v.fabric, Prefix, v.fabric)
	}
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.old) >= maxOldGraphs {
		clear(v.old)
	}
	v.old[version] = g
	return g, nil
}

// cached returns a version without the store; nil: it must be read.
func (v *graphs) cached(version read.Version) *topology.Graph {
	v.mu.Lock()
	defer v.mu.Unlock()
	if read.Version(v.inForce.Version()) == version {
		return v.inForce
	}
	return v.old[version]
}

// summary describes a fabric by a version of its graph.
type summary struct {
	Name            string       `json:"name"`
	GraphVersion    read.Version `json:"graph_version"`
	Dims            []int        `json:"dims,omitempty"`
	Wrap            bool         `json:"wrap,omitempty"`
	Links           int          `json:"links"`
	Switches        int          `json:"switches"`
	Hosts           int          `json:"hosts"`    // a host with several adapters counts once
	Adapters        int          `json:"adapters"` // of hosts: the devices at which traffic starts and ends
	IntervalSeconds float64      `json:"interval_seconds"`
}

func summaryOf(f *fabric, g *topology.Graph) summary {
	s := summary{Name: f.name, GraphVersion: read.Version(g.Version()), Links: g.NumLinks(), IntervalSeconds: f.interval.Seconds()}
	if grid := g.Grid(); grid != nil {
		s.Dims, s.Wrap = grid.Dims, grid.Wrap
	}
	for id := range topology.DeviceID(g.NumDevices()) {
		if g.IsSwitch(id) {
			s.Switches++
		}
	}
	if adapters := g.Hosts(); !g.IsSwitch(adapters[0]) {
		s.Adapters = len(adapters)
		names := make([]string, len(adapters))
		for i, a := range adapters {
			names[i] = g.Device(a).Name
		}
		s.Hosts = topology.CountHosts(names)
	}
	return s
}

// nothing is the parameter struct of operations without parameters.
type nothing struct{}

func (d *Dashboards) listFabrics(context.Context, *nothing) ([]summary, error) {
	list := make([]summary, len(d.order))
	for i, f := range d.order {
		list[i] = summaryOf(f, f.graphs.current())
	}
	return list, nil
}

func (d *Dashboards) oneFabric(_ context.Context, p *ofFabric) (*summary, error) {
	f, err := d.fabricOf(p.Fabric)
	if err != nil {
		return nil, err
	}
	s := summaryOf(f, f.graphs.current())
	return &s, nil
}

// device of a graph. Its index in the list is its number.
type device struct {
	Name  string `json:"name"`
	Label string `json:"label,omitempty"` // what the fabric's own tools call it
	Kind  string `json:"kind"`            // switch or host
	Level int8   `json:"level"`           // tier of a tree, 0 at the bottom; -1 if it has none
	Group int32  `json:"group"`           // pod, group or cabinet; -1 if it has none
	Coord []int  `json:"coord,omitempty"` // on a grid
}

// graph in columns: element i of each list of links is link i.
type graph struct {
	Fabric   summary             `json:"fabric"`
	Devices  []device            `json:"devices"`
	Duplex   bool                `json:"duplex"` // a link stands for both directions
	From     []topology.DeviceID `json:"from"`   // number of the device
	To       []topology.DeviceID `json:"to"`     // number of the device
	FromPort []string            `json:"from_port"`
	ToPort   []string            `json:"to_port"`
	Class    []string            `json:"class"` // kind of link
	Dim      []int8              `json:"dim"`   // axis of a grid; -1 if it has none
	Up       []bool              `json:"up"`    // false: missing in this version

	immutable bool // it was requested by its version
}

// ETag is derived from the version.
func (g *graph) ETag() string { return graphTag(g.Fabric.GraphVersion) }

// Immutable is true if the response is for a given version.
func (g *graph) Immutable() bool { return g.immutable }

func graphTag(v read.Version) string { return `W/"graph-` + v.String() + `"` }

type graphParameters struct {
	ofFabric
	inVersion
	operation.Conditional
}

// graphVersion returns a version of a graph.
func (d *Dashboards) graphVersion(ctx context.Context, p *graphParameters) (*graph, error) {
	f, err := d.fabricOf(p.Fabric)
	if err != nil {
		return nil, err
	}
	version, err := d.versionOf(ctx, f, p.inVersion)
	if err != nil {
		return nil, err
	}
	if tag := graphTag(version); p.Has(tag) {
		return nil, operation.NotModified(tag)
	}
	g, err := f.graphs.of(ctx, version)
	if err != nil {
		return nil, err
	}
	j := graph{Fabric: summaryOf(f, g), Duplex: g.Duplex(), Devices: make([]device, g.NumDevices()), immutable: p.Version != nil}
	for i := range j.Devices {
		dev := g.Device(topology.DeviceID(i))
		j.Devices[i] = device{dev.Name, dev.Label, dev.Kind.String(), dev.Level, dev.Group, dev.Coord}
	}
	for id := range schema.LinkID(g.NumLinks()) {
		l := g.Link(id)
		j.From, j.To = append(j.From, l.From), append(j.To, l.To)
		j.FromPort, j.ToPort = append(j.FromPort, l.FromPort), append(j.ToPort, l.ToPort)
		j.Class, j.Dim, j.Up = append(j.Class, l.Class.String()), append(j.Dim, l.Dim), append(j.Up, l.Up)
	}
	return &j, nil
}
