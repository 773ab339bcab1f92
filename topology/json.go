package topology

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/giverny/giverny/schema"
)

// Lines of WriteJSON; see docs/reference/topology-format.md.
type (
	fabricJSON struct {
		Type string `json:"type"`
		Summary
		Grid *gridJSON `json:"grid,omitempty"`
	}
	gridJSON struct {
		Dims []int `json:"dims"`
		Wrap bool  `json:"wrap"`
	}
	deviceJSON struct {
		Type  string   `json:"type"`
		ID    DeviceID `json:"id"`
		Name  string   `json:"name"`
		Kind  string   `json:"kind"`
		GUID  string   `json:"guid,omitempty"`
		Label string   `json:"label,omitempty"`
		Level *int8    `json:"level,omitempty"`
		Group *int32   `json:"group,omitempty"`
		Coord []int    `json:"coord,omitempty"`
	}
	linkJSON struct {
		Type     string        `json:"type"`
		ID       schema.LinkID `json:"id"`
		From     portJSON      `json:"from"`
		To       portJSON      `json:"to"`
		Class    string        `json:"class"`
		Capacity float64       `json:"capacity_bytes_per_second"`
		Up       bool          `json:"up"`
		Dim      *int8         `json:"dim,omitempty"`
		Coord    []int         `json:"coord,omitempty"`
	}
	portJSON struct {
		Device string `json:"device"`
		Port   string `json:"port"`
	}
)

// WriteJSON writes a graph as JSON lines: an object for the fabric, one for each device
// and one for each link, with their numbers, in order of number.
func WriteJSON(w io.Writer, g *Graph) error {
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	head := fabricJSON{Type: "fabric", Summary: Summarize(g)}
	if g.grid != nil {
		head.Grid = &gridJSON{g.grid.Dims, g.grid.Wrap}
	}
	if err := lines.Encode(head); err != nil {
		return err
	}
	for i := range g.devices {
		if err := lines.Encode(g.deviceJSON(DeviceID(i))); err != nil {
			return err
		}
	}
	for id := range schema.LinkID(g.NumLinks()) {
		if err := lines.Encode(g.linkJSON(id)); err != nil {
			return err
		}
	}
	return out.Flush()
}

func (g *Graph) deviceJSON(id DeviceID) deviceJSON {
	d := &g.devices[id]
	line := deviceJSON{Type: "device", ID: id, Name: d.Name, Kind: d.Kind.String(), GUID: d.GUID, Label: d.Label, Coord: d.Coord}
	if d.Level >= 0 {
		line.Level = &d.Level
	}
	if d.Group >= 0 {
		line.Group = &d.Group
	}
	return line
}

func (g *Graph) linkJSON(id schema.LinkID) linkJSON {
	l := g.Link(id)
	line := linkJSON{Type: "link", ID: id, From: portJSON{g.devices[l.From].Name, l.FromPort}, To: portJSON{g.devices[l.To].Name, l.ToPort},
		Class: l.Class.String(), Capacity: l.CapacityBytesPerSecond, Up: l.Up, Coord: g.devices[l.From].Coord}
	if l.Dim >= 0 {
		line.Dim = &l.Dim
	}
	return line
}
