package topology

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/giverny/giverny/schema"
)

// listedLink is a link in a list of links.
type listedLink struct {
	ID       schema.LinkID `json:"link"`
	From     listedPort    `json:"from"`
	To       listedPort    `json:"to"`
	Class    string        `json:"class"`
	Capacity float64       `json:"capacity_bytes_per_second"`
	Up       bool          `json:"up"`
}

type listedPort struct {
	Device string `json:"device"`
	Port   string `json:"port"`
	Level  int8   `json:"level"`
}

// eachLink calls yield with every link, in order of number.
func eachLink(g *Graph, yield func(listedLink) error) error {
	for id := range schema.LinkID(g.NumLinks()) {
		l := g.Link(id)
		from, to := g.Device(l.From), g.Device(l.To)
		if err := yield(listedLink{id, listedPort{from.Name, l.FromPort, from.Level}, listedPort{to.Name, l.ToPort, to.Level},
			l.Class.String(), l.CapacityBytesPerSecond, l.Up}); err != nil {
			return err
		}
	}
	return nil
}

// WriteLinksJSON writes each link as a line of JSON.
func WriteLinksJSON(w io.Writer, g *Graph) error {
	lines := json.NewEncoder(w)
	return eachLink(g, func(l listedLink) error { return lines.Encode(l) })
}

// WriteLinksCSV writes a row per link, below a header.
func WriteLinksCSV(w io.Writer, g *Graph) error {
	table := csv.NewWriter(w)
	if err := table.Write([]string{"link", "from_device", "from_port", "from_level", "to_device", "to_port", "to_level", "class", "capacity_bytes_per_second", "up"}); err != nil {
		return err
	}
	err := eachLink(g, func(l listedLink) error {
		return table.Write([]string{strconv.Itoa(int(l.ID)), l.From.Device, l.From.Port, strconv.Itoa(int(l.From.Level)),
			l.To.Device, l.To.Port, strconv.Itoa(int(l.To.Level)), l.Class, strconv.FormatFloat(l.Capacity, 'f', -1, 64), strconv.FormatBool(l.Up)})
	})
	if err != nil {
		return err
	}
	table.Flush()
	return table.Error()
}

// WriteLinks writes a line per link, for people.
func WriteLinks(w io.Writer, g *Graph) error {
	return eachLink(g, func(l listedLink) error {
		down := ""
		if !l.Up {
			down = " down"
		}
		_, err := fmt.Fprintf(w, "%d %s:%s (level %d) -> %s:%s (level %d) %s%s\n", l.ID, schema.OneLine(l.From.Device),
			schema.OneLine(l.From.Port), l.From.Level, schema.OneLine(l.To.Device), schema.OneLine(l.To.Port), l.To.Level, l.Class, down)
		return err
	})
}
