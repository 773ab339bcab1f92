package topology

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ReadSlurm reads a topology.conf of Slurm's tree plugin. It names switches and nodes
// but no rates (LinkSpeed has no unit according to its manual) and no ports: each
// switch's ports are numbered in the order in which its neighbours first appear.
// Switches= may list peers as well as children, and cycles are allowed, since files made
// from InfiniBand maps contain them.
func ReadSlurm(r io.Reader, name, fabric string, prev *Graph) (*Graph, []string, error) {
	c := newCableList(fabric, prev)
	joined := map[[2]*cableNode]bool{}
	ports := map[*cableNode]int{}
	port := func(n *cableNode) cableEnd {
		ports[n]++
		return cableEnd{n, strconv.Itoa(ports[n])}
	}
	pending := ""
	err := eachLine(r, name, func(number int, line string) error {
		line, _, _ = strings.Cut(pending+line, "#")
		line = strings.TrimSpace(line)
		if start, goesOn := strings.CutSuffix(line, `\`); goesOn {
			pending = start + " "
			return nil
		}
		pending = ""
		if line == "" {
			return nil
		}
		s, err := parseSlurmLine(line)
		if err != nil {
			return err
		}
		sw := c.slurmNode(s.name, true)
		sw.listed = true
		for i, peerName := range slices.Concat(s.switches, s.nodes) {
			isSwitch := i < len(s.switches)
			peer := c.slurmNode(peerName, isSwitch)
			peer.listed = peer.listed || !isSwitch // hosts have no lines of their own
			if joined[[2]*cableNode{sw, peer}] || sw == peer {
				continue
			}
			joined[[2]*cableNode{sw, peer}], joined[[2]*cableNode{peer, sw}] = true, true
			a, z := port(sw), port(peer)
			c.end(a, z, 0, number)
			c.end(z, a, 0, number)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	g, err := c.build()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	c.warnUnlisted()
	return g, c.warnings, nil
}

// slurmNode returns a device by name. Slurm has no GUIDs.
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
			s.switches, err = HostList(value)
		case "nodes":
			s.nodes, err = HostList(value)
		case "linkspeed":
		case "blockname", "blocksizes":
			return s, fmt.Errorf("%s belongs to Slurm's block plugin, which does not describe switches; use the tree plugin's topology.conf or ibnetdiscover", key)
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

// Limits of the expansion of one host list. A name is bounded like a DNS name.
const (
	maxHosts     = 1 << 17
	maxNameBytes = 253
)

// HostList expands Slurm's host lists: "a[1-3,07],b" is a1 a2 a3 a07 b. Several
// brackets in a name multiply: "r[1-2]-ib[0-1]".
func HostList(list string) (hosts []string, err error) {
	for list != "" {
		end, depth := len(list), 0
		for i, r := range list {
			if r == '[' {
				depth++
			} else if r == ']' {
				depth--
			} else if r == ',' && depth == 0 {
				end = i
				break
			}
		}
		expanded, err := expandHost(list[:end], maxHosts-len(hosts))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", clip(list[:end]), err)
		}
		hosts = append(hosts, expanded...)
		list = strings.TrimPrefix(list[end:], ",")
	}
	return hosts, nil
}

var errTooManyHosts = fmt.Errorf("more than %d hosts in one list; write shorter ranges", maxHosts)

// expandHost expands one name of a host list, "r[1-2]c[1-2]", to at most room hosts:
// each bracket multiplies the names so far.
func expandHost(item string, room int) ([]string, error) {
	hosts := []string{""}
	for {
		literal, rest, bracket := strings.Cut(item, "[")
		for i := range hosts {
			if hosts[i] += literal; len(hosts[i]) > maxNameBytes {
				return nil, fmt.Errorf("a name of more than %d bytes", maxNameBytes)
			}
		}
		if !bracket {
			if len(hosts) > room {
				return nil, errTooManyHosts
			}
			return hosts, nil
		}
		ranges, suffix, closed := strings.Cut(rest, "]")
		if !closed {
			return nil, fmt.Errorf("[ without ]")
		}
		numbers, err := expandRanges(ranges, room/len(hosts))
		if err != nil {
			return nil, err
		}
		product := make([]string, 0, len(hosts)*len(numbers))
		for _, host := range hosts {
			for _, number := range numbers {
				product = append(product, host+number)
			}
		}
		hosts, item = product, suffix
	}
}

// expandRanges expands "8-10,07" to 8 9 10 07, at most room numbers. Numbers are
// zero-padded to the width of the range's first.
func expandRanges(ranges string, room int) (numbers []string, err error) {
	for _, r := range strings.Split(ranges, ",") {
		first, last, ok := strings.Cut(r, "-")
		if !ok {
			last = first
		}
		a, errA := strconv.Atoi(first)
		z, errZ := strconv.Atoi(last)
		if errA != nil || errZ != nil || a < 0 || z < a || len(first) > maxNameBytes {
			return nil, fmt.Errorf("%q: want a range such as 1-5", clip(r))
		}
		if z-a >= room-len(numbers) { // before z-a+1, which may overflow
			return nil, errTooManyHosts
		}
		for i := range z - a + 1 { // not n <= z, which would never end for the largest integer
			numbers = append(numbers, fmt.Sprintf("%0*d", len(first), a+i))
		}
	}
	return numbers, nil
}
