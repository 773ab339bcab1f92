package perfquery

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/collectors"
)

// target is a node to be queried.
type target struct {
	guid     string // of the node, 16 hexadecimal digits
	name     string // its description; its GUID if several nodes share one
	isSwitch bool
	ports    []targetPort // those with a cable, in listing order
}

// targetPort is a port and the GUID it is queried by: a switch answers for all its
// ports, an adapter port only for itself.
type targetPort struct {
	number int
	guid   string
	down   bool // it had a cable, but the last discovery found no peer
}

func (t *target) equal(o *target) bool {
	return t.guid == o.guid && t.name == o.name && t.isSwitch == o.isSwitch && slices.Equal(t.ports, o.ports)
}

// keepLost keeps ports of the node that the new listing lacks: their cable is pulled,
// or the peer is gone.
func (t *target) keepLost(before []targetPort) {
	for _, p := range before {
		if !slices.ContainsFunc(t.ports, func(o targetPort) bool { return o.number == p.number }) {
			p.down = true
			t.ports = append(t.ports, p)
		}
	}
	slices.SortFunc(t.ports, func(a, b targetPort) int { return a.number - b.number })
}

// aggregationNode is the description of a switch's own SHARP engine, whose link carries
// no host traffic.
const aggregationNode = "Aggregation Node"

// parseInventory parses the plain output of ibnetdiscover(8): for each node the kind,
// GUID and description, and for each of its ports with a cable the number and, on an
// adapter, the GUID. The readers of package topology build the graph from the same text.
//
//	Switch	41 "S-1c34da0300728866"		# "MF0;leaf-2:MQM8700/U1" enhanced port 0 lid 1600 lmc 0
//	[39]	"S-1c34da030060a40c"[39]		# "MF0;spine-80:MQM8700/U1" lid 102 4xHDR
//
//	Ca	1 "H-1c34da0300608820"		# "node7 mlx5_0"
//	[1](1c34da0300608820) 	"S-1c34da0300728866"[1]		# lid 837 lmc 0 "MF0;leaf-2:MQM8700/U1" lid 1600 4xHDR
func parseInventory(text []byte) ([]target, error) {
	var targets []target
	number := 0
	for raw := range bytes.Lines(text) {
		number++
		line := strings.TrimRight(string(raw), " \t\r\n")
		var err error
		switch {
		case strings.HasPrefix(line, "Switch"), strings.HasPrefix(line, "Ca"), strings.HasPrefix(line, "Rt"):
			var t target
			if t, err = parseNode(line); err == nil {
				targets = append(targets, t)
			}
		case strings.HasPrefix(line, "["):
			if len(targets) == 0 {
				err = fmt.Errorf("port %q has no node before it", line)
				break
			}
			err = targets[len(targets)-1].parsePort(line)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w: %w", number, err, collectors.ErrMalformed)
		}
	}
	targets = slices.DeleteFunc(targets, func(t target) bool {
		return len(t.ports) == 0 || !t.isSwitch && strings.Contains(t.name, aggregationNode)
	})
	if len(targets) == 0 {
		return nil, fmt.Errorf("no node with a link: %w", collectors.ErrMalformed)
	}
	nameApart(targets)
	return targets, nil
}

func parseNode(line string) (target, error) {
	fields := strings.SplitN(line, `"`, 5)
	if len(fields) != 5 {
		return target{}, fmt.Errorf(`node %q: want KIND PORTS "ID" # "DESCRIPTION"`, line)
	}
	_, guid, ok := strings.Cut(fields[1], "-")
	if _, err := strconv.ParseUint(guid, 16, 64); !ok || err != nil {
		return target{}, fmt.Errorf("node %q: %q is not an S-GUID or H-GUID", line, fields[1])
	}
	return target{guid: guid, name: strings.TrimSpace(fields[3]), isSwitch: strings.HasPrefix(line, "Switch")}, nil
}

func (t *target) parsePort(line string) error {
	text, rest, ok := strings.Cut(line[1:], "]")
	n, err := strconv.ParseUint(text, 10, 8)
	if !ok || err != nil || n == 0 {
		return fmt.Errorf("port %q: want [NUMBER] of 1 to 255", line)
	}
	port := targetPort{number: int(n), guid: t.guid}
	if !t.isSwitch {
		guid, _, ok := strings.Cut(strings.TrimPrefix(rest, "("), ")")
		if _, err := strconv.ParseUint(guid, 16, 64); !ok || err != nil {
			return fmt.Errorf("port %q: want [NUMBER](GUID)", line)
		}
		port.guid = guid
	}
	t.ports = append(t.ports, port)
	return nil
}

// nameApart names nodes with a shared or empty description by their GUID, which the
// graph also accepts.
func nameApart(targets []target) {
	users := map[string]int{}
	for _, t := range targets {
		users[t.name]++
	}
	for i := range targets {
		if targets[i].name == "" || users[targets[i].name] > 1 {
			targets[i].name = targets[i].guid
		}
	}
}
