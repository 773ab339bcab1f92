package topology

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/internal/csvfault"
	"github.com/giverny/giverny/schema"
)

// cableColumns are the columns of a list of cables; the first cablesRequired are required.
var cableColumns = []string{"device", "port", "peer", "peer_port", "gbps", "kind", "peer_kind"}

const cablesRequired = 4

// looksLikeCables reports whether a text begins with the header of a list of cables, after comments.
func looksLikeCables(head []byte) bool {
	for line := range bytes.Lines(head) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			line = bytes.ToLower(line)
			return bytes.Contains(line, []byte("peer_port")) && bytes.Contains(line, []byte(","))
		}
	}
	return false
}

// ReadCables reads a list of cables: CSV with a header, a row per cable or per end of a cable, as a table of LLDP
// neighbours or of the cabling plan. The columns kind and peer_kind are switch or host; without them a device that is in
// the column device is a switch, and one that is only a peer is a host. Without gbps the rates of links are unknown.
func ReadCables(r io.Reader, name, fabric string, prev *Graph) (*Graph, []string, error) {
	l := &cableRows{csv: csvfault.NewReader(r), cables: newCableList(fabric, prev), kinds: map[*cableNode]string{}}
	l.csv.TrimLeadingSpace, l.csv.Comment = true, '#'
	if err := l.read(); err != nil {
		return nil, nil, fmt.Errorf("%s%w", name, err)
	}
	g, err := l.cables.build()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return g, append(l.cables.warnings, l.doubtful(g)...), nil
}

// doubtful warns if a device that counts as a host, because it is only a peer, may be a switch: then two switches that
// are cabled to each other both have hosts. So it is with a core, or with spines where only leaves are in the column device.
func (l *cableRows) doubtful(g *Graph) []string {
	host := make([]string, g.NumDevices()) // by switch: a peer of it that counts as a host
	for _, n := range l.cables.nodes {
		if n.isSwitch || l.kinds[n] != "" {
			continue
		}
		for _, at := range g.LinksAt(n.id) {
			if _, to := g.Ends(at); to != n.id && host[to] == "" {
				host[to] = n.name()
			}
		}
	}
	for id := range g.NumLinks() {
		from, to := g.Ends(schema.LinkID(id))
		if g.IsSwitch(from) && g.IsSwitch(to) && host[from] != "" && host[to] != "" {
			return []string{fmt.Sprintf("switches %q and %q are cabled to each other and both have hosts, %q and %q: if one of these is a switch, add its rows or the column peer_kind; "+
				"a device that is not in the column device counts as a host", g.Device(from).Name, g.Device(to).Name, host[from], host[to])}
		}
	}
	return nil
}

// cableRows is the state of reading a list of cables.
type cableRows struct {
	csv    *csvfault.Reader
	cables *cableList
	at     []int // by cableColumns: the column, or -1
	kinds  map[*cableNode]string
}

func (l *cableRows) read() error {
	for {
		record, err := l.csv.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			line, fault := csvfault.Explain(err, l.csv, record)
			if line == 0 {
				return fmt.Errorf(": %w", fault)
			}
			return fmt.Errorf(":%d: %w", line, fault)
		}
		read := l.row
		if l.at == nil {
			read = l.header
		}
		if err := read(record); err != nil {
			line, _ := l.csv.FieldPos(0)
			return fmt.Errorf(":%d: %w", line, err)
		}
	}
}

func (l *cableRows) header(record []string) error {
	l.at = slices.Repeat([]int{-1}, len(cableColumns))
	for c, text := range record {
		if k := slices.Index(cableColumns, strings.ToLower(strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")))); k >= 0 {
			l.at[k] = c
		}
	}
	if missing := slices.Index(l.at[:cablesRequired], -1); missing >= 0 {
		return fmt.Errorf("no column %s; want %s, and if known %s; others are ignored", cableColumns[missing],
			strings.Join(cableColumns[:cablesRequired], ", "), strings.Join(cableColumns[cablesRequired:], ", "))
	}
	return nil
}

func (l *cableRows) row(record []string) error {
	field := func(k int) string {
		if l.at[k] < 0 {
			return ""
		}
		return strings.TrimSpace(record[l.at[k]])
	}
	for k := range cablesRequired {
		if field(k) == "" {
			return fmt.Errorf("column %s: it is empty", cableColumns[k])
		}
	}
	capacity := 0.0
	if text := field(4); text != "" {
		gbps, err := strconv.ParseFloat(text, 64)
		if err != nil || !(gbps > 0) || math.IsInf(gbps, 0) {
			return fmt.Errorf("column gbps: %q: want a number of gigabits per second, such as 400", text)
		}
		capacity = gbps * 1e9 / 8
	}
	from, to := l.cables.node(field(0), false), l.cables.node(field(2), false)
	if err := errors.Join(l.kind(from, field(5), true), l.kind(to, field(6), false)); err != nil {
		return err
	}
	line, _ := l.csv.FieldPos(0)
	l.cables.end(cableEnd{from, field(1)}, cableEnd{to, field(3)}, capacity, line)
	return nil
}

// kind notes what a device is: what a row says, else a switch if it is in the column device.
func (l *cableRows) kind(n *cableNode, text string, isDevice bool) error {
	text = strings.ToLower(text)
	switch was := l.kinds[n]; {
	case text == "":
		n.isSwitch = n.isSwitch || isDevice && was == ""
	case text != "switch" && text != "host":
		return fmt.Errorf("%q: kind %q: want switch or host", n.guid, text)
	case was != "" && was != text:
		return fmt.Errorf("%q: kind %s, but %s in an earlier row", n.guid, text, was)
	default:
		l.kinds[n], n.isSwitch = text, text == "switch"
	}
	return nil
}
