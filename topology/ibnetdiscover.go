package topology

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// ReadIBNetDiscover reads the output of ibnetdiscover(8), plain or with -p (--ports),
// as one fabric of directed links, one per port line. name identifies the input in
// errors, which give the line. If only one end of a cable is listed, the other one is
// added; a cable with contradictory ends is omitted with a warning, and an input full
// of them is rejected.
//
// The plain output lacks ports that are down. With the graph of an earlier reading as
// prev, every known device (by GUID) and link keeps its number; prev may be nil.
func ReadIBNetDiscover(r io.Reader, name, fabric string, prev *Graph) (*Graph, []string, error) {
	p := ibParser{cables: newCableList(fabric, prev)}
	err := eachLine(r, name, func(number int, line string) error {
		p.line = number
		return p.parse(strings.TrimRight(line, " \t\r"))
	})
	if err != nil {
		return nil, nil, err
	}
	if err := p.cables.checkListed(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	g, err := p.cables.build()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	p.cables.warnUnlisted()
	return g, p.cables.warnings, nil
}

// laneBytesPerSecond is the data rate of one InfiniBand lane after line
// encoding (8b/10b up to QDR, 64b/66b from FDR).
var laneBytesPerSecond = map[string]float64{
	"SDR": 2e9 / 8, "DDR": 4e9 / 8, "QDR": 8e9 / 8, "FDR10": 10e9 / 8, "FDR": 13.64e9 / 8,
	"EDR": 25e9 / 8, "HDR": 50e9 / 8, "NDR": 100e9 / 8, "XDR": 200e9 / 8,
}

// ibCapacity is the rate of a link such as width "4", speed "HDR"; 0 if unknown.
func ibCapacity(width, speed string) float64 {
	lanes, err := strconv.Atoi(strings.TrimSuffix(width, "x"))
	if err != nil {
		return 0
	}
	return float64(lanes) * laneBytesPerSecond[speed]
}

type ibParser struct {
	line   int
	node   *cableNode // whose port lines follow, in the plain format
	cables *cableList
}

func (p *ibParser) parse(line string) error {
	switch {
	case line == "" || line[0] == '#':
		return nil
	case line[0] == '[':
		return p.portLine(line)
	case strings.HasPrefix(line, "CA ") || strings.HasPrefix(line, "SW ") || strings.HasPrefix(line, "RT "):
		return p.pairLine(line)
	case strings.HasPrefix(line, "Switch") || strings.HasPrefix(line, "Ca") || strings.HasPrefix(line, "Rt"):
		return p.nodeLine(line)
	}
	if key, _, ok := strings.Cut(line, "="); ok {
		switch key {
		case "vendid", "devid", "sysimgguid", "switchguid", "caguid", "rtguid", "chassisguid":
			p.node = nil
			return nil
		}
	}
	if strings.HasPrefix(line, "Chassis ") || strings.HasPrefix(line, "Spine ") || strings.HasPrefix(line, "Line ") {
		return nil // headings of ibnetdiscover -g
	}
	return fmt.Errorf("unexpected %q; want a node, a port line in [], or a key such as switchguid=", clip(line))
}

// nodeLine parses: Switch 41 "S-1c34da0300728866" # "name" enhanced port 0 lid 1600 lmc 0
func (p *ibParser) nodeLine(line string) error {
	kind, rest, _ := strings.Cut(line, "\t")
	if rest == "" {
		kind, rest, _ = strings.Cut(line, " ")
	}
	ports, rest, _ := strings.Cut(strings.TrimLeft(rest, " \t"), " ")
	id, rest, quotes := quoted(rest)
	guid, _, ok := guidIn(id)
	if _, err := strconv.Atoi(strings.TrimSpace(ports)); err != nil || !quotes || !ok {
		return fmt.Errorf(`node %q: want KIND PORTS "S-GUID" # "DESCRIPTION"`, clip(line))
	}
	label, _, _ := quoted(rest)
	p.node = p.cables.node(guid, kind == "Switch")
	p.node.label, p.node.listed = label, true
	return nil
}

// portLine parses, below a switch or an adapter:
//
//	[39] "S-1c34da030060a40c"[39]  # "name" lid 102 4xHDR
//	[1](1c34da0300608820)  "S-1c34da0300728866"[5]  # lid 2 lmc 0 "name" lid 1 4xHDR
func (p *ibParser) portLine(line string) error {
	if p.node == nil {
		return fmt.Errorf("port line %q has no node before it", clip(line))
	}
	port, rest, ok := bracketed(line)
	if !ok {
		return fmt.Errorf("port line %q: want [PORT]", clip(line))
	}
	id, rest, quotes := quoted(rest)
	guid, isSwitch, ok := guidIn(id)
	if !quotes || !ok {
		return fmt.Errorf(`port line %q: want the peer as "S-GUID" or "H-GUID"`, clip(line))
	}
	peerPort, rest, ok := bracketed(rest)
	if !ok {
		return fmt.Errorf("port line %q: want the peer's [PORT]", clip(line))
	}
	peer := p.cables.node(guid, isSwitch)
	var capacity float64
	if i := strings.LastIndexByte(rest, ' '); i >= 0 {
		if width, speed, ok := strings.Cut(rest[i+1:], "x"); ok {
			capacity = ibCapacity(width, speed)
		}
	}
	if i := strings.IndexByte(rest, '#'); i >= 0 && peer.label == "" {
		peer.label, _, _ = quoted(rest[i:])
	}
	p.cables.end(cableEnd{p.node, port}, cableEnd{peer, peerPort}, capacity, p.line)
	return nil
}

// pairLine parses a line of ibnetdiscover -p:
//
//	CA 134 1 0x7cfe9003003b4bde 4x EDR - SW 1719 10 0x7cfe9003009ce5b0 ( 'a HCA-1' - 'leaf' )
//	SW 2052 37 0x506b4b03005c2740 4x ???          'leaf'
func (p *ibParser) pairLine(line string) error {
	near, far, joined := strings.Cut(line, " - ")
	a := strings.Fields(near)
	if len(a) < 6 {
		return fmt.Errorf("port line %q: want TYPE LID PORT GUID WIDTH SPEED", clip(line))
	}
	if !joined || !strings.Contains(far, "0x") { // a port that is down
		n := p.cables.node(guidOf(a[3]), a[0] == "SW")
		n.listed = true
		if n.label == "" {
			n.label = strings.Trim(strings.Join(a[6:], " "), "' ")
		}
		return nil
	}
	ends, labels, _ := strings.Cut(far, "(")
	z := strings.Fields(ends)
	if len(z) < 4 {
		return fmt.Errorf("port line %q: want the peer as TYPE LID PORT GUID", clip(line))
	}
	from, to := p.cables.node(guidOf(a[3]), a[0] == "SW"), p.cables.node(guidOf(z[3]), z[0] == "SW")
	if la, lz, ok := strings.Cut(strings.TrimRight(labels, ") "), "' - '"); ok {
		from.label, to.label = strings.Trim(la, "' "), strings.Trim(lz, "' ")
	}
	from.listed, to.listed = true, true // a line is all that there is of a port
	p.cables.end(cableEnd{from, a[2]}, cableEnd{to, z[2]}, ibCapacity(a[4], a[5]), p.line)
	return nil
}

func guidOf(s string) string { return strings.TrimPrefix(s, "0x") }

// guidIn is the GUID of a node's ID such as S-1c34da0300728866, and whether it is a switch's.
func guidIn(id string) (guid string, isSwitch, ok bool) {
	kind, guid, _ := strings.Cut(id, "-")
	_, err := strconv.ParseUint(guid, 16, 64)
	return guid, kind == "S", err == nil
}

// quoted cuts the first "text" out of s.
func quoted(s string) (text, rest string, ok bool) {
	_, s, ok = strings.Cut(s, `"`)
	if !ok {
		return "", s, false
	}
	text, rest, ok = strings.Cut(s, `"`)
	return text, rest, ok
}

// bracketed cuts the first [text] out of s.
func bracketed(s string) (text, rest string, ok bool) {
	_, s, ok = strings.Cut(s, "[")
	if !ok {
		return "", s, false
	}
	text, rest, ok = strings.Cut(s, "]")
	return text, rest, ok && text != ""
}

// clip shortens a line for an error.
func clip(s string) string {
	if len(s) > 100 {
		return s[:100] + "..."
	}
	return s
}
