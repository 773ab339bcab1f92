package topology

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/internal/dbcsv"
	"github.com/giverny/giverny/internal/plural"
)

// ReadIBDiagnet reads the file ibdiagnet2.db_csv of ibdiagnet(1) as the same fabric that ReadIBNetDiscover reads from
// ibnetdiscover's output: devices from the section NODES, cables from LINKS, rates of links from PORTS; the others are not
// read. The sections may be in any order. Without PORTS the rates are unknown; a file that is cut off in one of the three
// is rejected. Graph numbers are as in ReadIBNetDiscover; prev may be nil.
func ReadIBDiagnet(r io.Reader, name, fabric string, prev *Graph) (*Graph, []string, error) {
	rows := dbcsv.NewReader(r, sectionNodes, sectionPorts, sectionLinks)
	p := ibdiagnet{cables: newCableList(fabric, prev), rates: map[ibPort]float64{}}
	if err := p.read(rows); err != nil {
		return nil, nil, fmt.Errorf("%s:%w", name, err)
	}
	if err := p.checkSections(rows.Sections()); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	p.connect()
	err := p.cables.checkListed()
	var g *Graph
	if err == nil {
		g, err = p.cables.build()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return g, append(p.warnings, p.cables.warnings...), nil
}

// The sections that are read, and the columns that each must have.
const (
	sectionNodes = "NODES"
	sectionPorts = "PORTS"
	sectionLinks = "LINKS"
)

var ibdiagnetColumns = map[string][]string{
	sectionNodes: {"NodeDesc", "NodeType", "NodeGUID"},
	sectionPorts: {"NodeGuid", "PortNum", "LinkWidthActv", "LinkSpeedActv"},
	sectionLinks: {"NodeGuid1", "PortNum1", "NodeGuid2", "PortNum2"},
}

// Codes of PORTS (IBA vol. 1, 14.2.5.6, PortInfo; speeds as in ibdiagnet's own IBLinkSpeed: the second byte is LinkSpeedExt,
// the third the vendor's, the fourth LinkSpeedExt2).
var (
	ibWidthCodes = map[uint64]string{1: "1x", 2: "4x", 4: "8x", 8: "12x", 16: "2x"}
	ibSpeedCodes = map[uint64]string{1: "SDR", 2: "DDR", 4: "QDR", 1 << 8: "FDR", 2 << 8: "EDR", 4 << 8: "HDR", 8 << 8: "NDR", 1 << 16: "FDR10", 1 << 24: "XDR"}
)

// nodeTypeSwitch is NodeType of a switch (IBA vol. 1, 14.2.5.3, NodeInfo).
const nodeTypeSwitch = 2

type ibdiagnet struct {
	cables   *cableList
	rates    map[ibPort]float64 // of ports that are up; 0: the codes are unknown
	links    []ibdiagnetLink
	checked  string // section whose columns were checked
	bad      int    // rows without a GUID or port number
	firstBad int    // line
	warnings []string
}

// ibPort names a port before its device is known: NODES may come last.
type ibPort struct{ guid, port string }

// ibdiagnetLink is a row of LINKS.
type ibdiagnetLink struct {
	ends [2]ibPort
	line int
}

func (p *ibdiagnet) read(rows *dbcsv.Reader) error {
	for {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if row.Section != p.checked {
			p.checked = row.Section
			for _, column := range ibdiagnetColumns[row.Section] {
				if !row.Has(column) {
					return fmt.Errorf("%d: section %s has no column %s; it has %s", row.Line, row.Section, column, clip(strings.Join(row.Columns(), ", ")))
				}
			}
		}
		if !p.row(row) {
			if p.bad++; p.bad == 1 {
				p.firstBad = row.Line
			}
		}
	}
}

// row takes a row, and reports whether it has what identifies it.
func (p *ibdiagnet) row(row *dbcsv.Row) bool {
	switch row.Section {
	case sectionNodes:
		guid, ok := row.GUID("NodeGUID")
		kind, typed := row.Number("NodeType")
		if !ok || !typed {
			return false
		}
		n := p.cables.node(guid, kind == nodeTypeSwitch)
		n.label, n.listed = strings.Clone(row.Text("NodeDesc")), true
	case sectionPorts:
		guid, ok := row.GUID("NodeGuid")
		port, numbered := row.Number("PortNum")
		speed, _ := row.Number("LinkSpeedActv")
		if width, _ := row.Number("LinkWidthActv"); ok && numbered && port > 0 && width > 0 && speed > 0 {
			p.rates[ibPort{guid, strconv.FormatUint(port, 10)}] = ibCapacity(ibWidthCodes[width], ibSpeedCodes[speed])
		}
		return ok && numbered
	case sectionLinks:
		l := ibdiagnetLink{line: row.Line}
		for i, side := range []string{"1", "2"} {
			guid, ok := row.GUID("NodeGuid" + side)
			port, numbered := row.Number("PortNum" + side)
			if !ok || !numbered {
				return false
			}
			l.ends[i] = ibPort{guid, strconv.FormatUint(port, 10)}
		}
		p.links = append(p.links, l)
	}
	return true
}

// checkSections rejects a file that is cut off or lacks a section without which there is no fabric.
func (p *ibdiagnet) checkSections(found []dbcsv.Section) error {
	names, rows, skipped, first := make([]string, len(found)), 0, p.bad, p.firstBad
	for i, s := range found {
		names[i] = s.Name
		if ibdiagnetColumns[s.Name] == nil {
			continue
		}
		if !s.Closed {
			return fmt.Errorf("section %s of line %d has no END_%[1]s; the file is truncated: run ibdiagnet again", s.Name, s.Line)
		}
		rows, skipped = rows+s.Rows+s.Skipped, skipped+s.Skipped
		if s.Skipped > 0 && (first == 0 || s.FirstSkipped < first) {
			first = s.FirstSkipped
		}
	}
	for _, name := range []string{sectionNodes, sectionLinks} {
		switch {
		case slices.Contains(names, name):
		case len(names) == 0:
			return fmt.Errorf("no section %s, nor any other; this is not ibdiagnet's db_csv", name)
		case !found[len(found)-1].Closed:
			return fmt.Errorf("no section %s, and the last one, %s, has no end; the file is truncated: run ibdiagnet again", name, names[len(names)-1])
		default:
			return fmt.Errorf("no section %s; it has %s: run ibdiagnet again without --skip, or import ibdiagnet2.ibnetdiscover beside it", name, clip(strings.Join(names, ", ")))
		}
	}
	if !slices.Contains(names, sectionPorts) {
		p.warnings = append(p.warnings, "no section PORTS: the rates of links are unknown; giverny topology import --gbps gives them one")
	}
	switch {
	case skipped > 1 && skipped > rows/10:
		return fmt.Errorf("%d of %d rows of NODES, PORTS and LINKS cannot be read, the first in line %d; run ibdiagnet again", skipped, rows, first)
	case skipped > 0:
		p.warnings = append(p.warnings, fmt.Sprintf("left out: %s of NODES, PORTS and LINKS without a GUID or number, or with another number of fields than the header, the first in line %d",
			plural.Count(skipped, "row", "rows"), first))
	}
	return nil
}

// connect adds the cables, each with the rate of the port that it leaves, else of its peer.
func (p *ibdiagnet) connect() {
	unlisted, unrated := map[string]bool{}, 0
	for _, l := range p.links {
		var ends [2]cableEnd
		for i := range ends {
			n := p.cables.node(l.ends[i].guid, false)
			if ends[i] = (cableEnd{n, l.ends[i].port}); !n.listed {
				unlisted[n.guid] = true
			}
		}
		rate, up := p.rates[l.ends[0]]
		if !up {
			rate, up = p.rates[l.ends[1]]
		}
		if up && rate == 0 {
			unrated++
		}
		p.cables.end(ends[0], ends[1], rate, l.line)
	}
	if len(unlisted) > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf("LINKS has %s that NODES has not, such as %s: counted as hosts", plural.Count(len(unlisted), "device", "devices"), leastOf(unlisted)))
	}
	if unrated > 0 {
		p.warnings = append(p.warnings, fmt.Sprintf("%s with a code of width or speed that is not known: their rates are unknown", plural.Count(unrated, "row of LINKS", "rows of LINKS")))
	}
}

func leastOf(set map[string]bool) string {
	least := ""
	for s := range set {
		if least == "" || s < least {
			least = s
		}
	}
	return least
}
