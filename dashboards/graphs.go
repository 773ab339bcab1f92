package dashboards

import (
	"context"
	"errors"
	"net/http"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
	"github.com/giverny/giverny/topology"
)

// SetGraph brings a new version of a fabric's graph into force. Versions that are
// not brought this way are read from the store when they are needed.
func (d *Dashboards) SetGraph(g *topology.Graph) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.fabrics[g.Fabric()]; f != nil {
		f.graph = g
	}
}

func (d *Dashboards) graphInForce(f *fabric) *topology.Graph {
	d.mu.Lock()
	defer d.mu.Unlock()
	return f.graph
}

// maxOldGraphs is how many versions of a fabric are kept beside the one in force.
const maxOldGraphs = 4

// graph is a version of a fabric.
func (d *Dashboards) graph(ctx context.Context, f *fabric, version read.Version) (*topology.Graph, error) {
	d.mu.Lock()
	g := f.graph
	if old := f.old[version]; old != nil {
		g = old
	}
	d.mu.Unlock()
	if read.Version(g.Version()) == version {
		return g, nil
	}
	g, err := d.model.Graph(ctx, f.name, uint64(version))
	if errors.Is(err, read.ErrNotFound) {
		return nil, notFound("fabric %q has no graph of version %v in the store", f.name, version)
	}
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(f.old) >= maxOldGraphs {
		clear(f.old)
	}
	f.old[version] = g
	return g, nil
}

// parseVersion reads version; by default it is that of the newest interval, or of
// the graph in force where nothing is stored.
func (d *Dashboards) parseVersion(f *fabric, r *http.Request) (version read.Version, err error) {
	if text := r.FormValue("version"); text != "" {
		if err := version.UnmarshalText([]byte(text)); err != nil {
			return 0, badRequest("version: %v", err)
		}
		return version, nil
	}
	stored, err := d.model.LastStored(r.Context(), f.name)
	if errors.Is(err, read.ErrNotFound) {
		return read.Version(d.graphInForce(f).Version()), nil
	}
	return read.Version(stored.GraphVersion), err
}

// fabricOf is the fabric that a path names.
func (d *Dashboards) fabricOf(r *http.Request) (*fabric, error) {
	f := d.fabrics[r.PathValue("fabric")]
	if f == nil {
		return nil, notFound("unknown fabric; GET /api/v1/fabrics lists them")
	}
	return f, nil
}

// summary is a fabric by a version of its graph.
type summary struct {
	Name            string       `json:"name"`
	GraphVersion    read.Version `json:"graph_version"`
	Dims            []int        `json:"dims,omitempty"`
	Wrap            bool         `json:"wrap,omitempty"`
	Links           int          `json:"links"`
	Switches        int          `json:"switches"`
	Hosts           int          `json:"hosts"`
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
		} else {
			s.Hosts++
		}
	}
	return s
}

func (d *Dashboards) listFabrics(*http.Request) (any, error) {
	list := make([]summary, len(d.order))
	for i, f := range d.order {
		list[i] = summaryOf(f, d.graphInForce(f))
	}
	return list, nil
}

type deviceJSON struct {
	Name  string `json:"name"`
	Label string `json:"label,omitempty"`
	Kind  string `json:"kind"`
	Level int8   `json:"level"`
	Group int32  `json:"group"`
	Coord []int  `json:"coord,omitempty"`
}

// linksJSON is a graph by columns: element i of each is link i.
type linksJSON struct {
	Fabric   summary             `json:"fabric"`
	Devices  []deviceJSON        `json:"devices"`
	Duplex   bool                `json:"duplex"`
	From     []topology.DeviceID `json:"from"`
	To       []topology.DeviceID `json:"to"`
	FromPort []string            `json:"from_port"`
	ToPort   []string            `json:"to_port"`
	Class    []string            `json:"class"`
	Dim      []int8              `json:"dim"`
	Up       []bool              `json:"up"`
}

func (d *Dashboards) links(f *fabric, r *http.Request) (any, error) {
	version, err := d.parseVersion(f, r)
	if err != nil {
		return nil, err
	}
	g, err := d.graph(r.Context(), f, version)
	if err != nil {
		return nil, err
	}
	j := linksJSON{Fabric: summaryOf(f, g), Duplex: g.Duplex(), Devices: make([]deviceJSON, g.NumDevices())}
	for i := range j.Devices {
		dev := g.Device(topology.DeviceID(i))
		j.Devices[i] = deviceJSON{dev.Name, dev.Label, dev.Kind.String(), dev.Level, dev.Group, dev.Coord}
	}
	for id := range schema.LinkID(g.NumLinks()) {
		l := g.Link(id)
		j.From, j.To = append(j.From, l.From), append(j.To, l.To)
		j.FromPort, j.ToPort = append(j.FromPort, l.FromPort), append(j.ToPort, l.ToPort)
		j.Class, j.Dim, j.Up = append(j.Class, l.Class.String()), append(j.Dim, l.Dim), append(j.Up, l.Up)
	}
	return j, nil
}
