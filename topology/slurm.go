package topology

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// slurmCapacity stands for every link of a Slurm topology, whose LinkSpeed is
// by its manual not in any unit: 100 Gb/s.
const slurmCapacity = 100e9 / 8

// ReadSlurm reads a topology.conf of Slurm's tree plugin. It names switches and
// nodes but no ports: each switch's ports are numbered in the order in which
// its neighbours are first named. Switches= may name peers as well as children,
// and cycles are allowed, since files made from InfiniBand maps hold them.
func ReadSlurm(r io.Reader, name, fabric string, prev *Graph) (*Graph, []string, error) {
	c := newCableList(fabric, prev)
	joined := map[[2]*cableNode]bool{}
	ports := map[*cableNode]int{}
	port := func(n *cableNode) cableEnd {
		ports[n]++
		return cableEnd{n, strconv.Itoa(ports[n])}
	}
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 0, 64<<10), 1<<20)
	number, pending := 0, ""
	for scan.Scan() {
		number++
		line, _, _ := strings.Cut(pending+scan.Text(), "#")
		line = strings.TrimSpace(line)
		if strings.HasSuffix(line, `\`) {
			pending = strings.TrimSuffix(line, `\`) + " "
			continue
		}
		pending = ""
		if line == "" {
			continue
		}
		s, err := parseSlurmLine(line)
		if err != nil {
			return nil, nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
		sw := c.slurmNode(s.name, true)
		for i, list := range [2][]string{s.switches, s.nodes} {
			for _, peerName := range list {
				peer := c.slurmNode(peerName, i == 0)
				if joined[[2]*cableNode{sw, peer}] || sw == peer {
					continue
				}
				joined[[2]*cableNode{sw, peer}], joined[[2]*cableNode{peer, sw}] = true, true
				a, z := port(sw), port(peer)
				c.end(a, z, slurmCapacity, number)
				c.end(z, a, slurmCapacity, number)
			}
		}
	}
	if err := scan.Err(); err != nil {
		return nil, nil, fmt.Errorf("%s:%d: %w", name, number+1, err)
	}
	g, err := c.build()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	return g, c.warnings, nil
}

// slurmNode finds a device by name. Slurm names, so there are no GUIDs.
func (c *cableList) slurmNode(name string, isSwitch bool) *cableNode {
	n := c.node(name, isSwitch)
	n.label, n.isSwitch = name, n.isSwitch || isSwitch
	return n
}

type slurmSwitch struct {
	name            string
	switches, nodes []string
}

func parseSlurmLine(line string) (s slurmSwitch, err error) {
	for _, word := range strings.Fields(line) {
		key, value, ok := strings.Cut(word, "=")
		if !ok {
			return s, fmt.Errorf("%q: want KEY=VALUE", clip(word))
		}
		switch strings.ToLower(key) {
		case "switchname":
			s.name = value
		case "switches":
			s.switches, err = hostlist(value)
		case "nodes":
			s.nodes, err = hostlist(value)
		case "linkspeed":
		case "blockname", "blocksizes":
			return s, fmt.Errorf("%s belongs to Slurm's block plugin, which says nothing of switches; use the tree plugin's topology.conf or ibnetdiscover", key)
		default:
			return s, fmt.Errorf("unknown key %q; want SwitchName, Switches, Nodes or LinkSpeed", key)
		}
		if err != nil {
			return s, fmt.Errorf("%s: %w", key, err)
		}
	}
	if s.name == "" {
		return s, fmt.Errorf("%q: SwitchName= is missing", clip(line))
	}
	return s, nil
}

// maxHosts bounds what one hostlist may expand to.
const maxHosts = 1 << 17

// hostlist expands Slurm's host lists: "a[1-3,07],b" is a1 a2 a3 a07 b.
func hostlist(list string) (hosts []string, err error) {
	for list != "" {
		item, depth := len(list), 0
		for i, r := range list {
			if r == '[' {
				depth++
			} else if r == ']' {
				depth--
			} else if r == ',' && depth == 0 {
				item = i
				break
			}
		}
		expanded, err := expandHost(list[:item], maxHosts-len(hosts))
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, expanded...)
		list = strings.TrimPrefix(list[item:], ",")
	}
	return hosts, nil
}

func expandHost(item string, room int) ([]string, error) {
	prefix, rest, ok := strings.Cut(item, "[")
	if !ok {
		return []string{item}, nil
	}
	ranges, suffix, ok := strings.Cut(rest, "]")
	if !ok {
		return nil, fmt.Errorf("%q: [ without ]", clip(item))
	}
	tails, err := expandHost(suffix, room)
	if err != nil {
		return nil, err
	}
	var hosts []string
	for _, r := range strings.Split(ranges, ",") {
		lo, hi, ok := strings.Cut(r, "-")
		if !ok {
			hi = lo
		}
		a, errA := strconv.Atoi(lo)
		z, errZ := strconv.Atoi(hi)
		if errA != nil || errZ != nil || a < 0 || z < a {
			return nil, fmt.Errorf("%q: want a range such as 1-5", clip(r))
		}
		if (z-a+1)*len(tails) > room-len(hosts) {
			return nil, fmt.Errorf("%q: more than %d hosts", clip(item), maxHosts)
		}
		for n := a; n <= z; n++ {
			for _, tail := range tails {
				hosts = append(hosts, fmt.Sprintf("%s%0*d%s", prefix, len(lo), n, tail))
			}
		}
	}
	return hosts, nil
}
