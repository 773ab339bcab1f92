package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/giverny/giverny/topology"
)

// hostList parses a script's list of hosts: numbers, "0-3,9", or names in Slurm's format, "n[01-16],n20 HCA-1". A
// host with several rails stands for all its adapters.
func hostList(g *topology.Graph, list string) ([]topology.DeviceID, error) {
	find := hostsByNumber
	if strings.Trim(list, "0123456789-, ") != "" {
		find = hostsByName
	}
	nodes, err := find(g, list)
	if err != nil {
		return nil, fmt.Errorf("hosts %q: %w", list, err)
	}
	listed := map[topology.DeviceID]bool{}
	for _, d := range nodes {
		if listed[d] {
			return nil, fmt.Errorf("hosts %q: %q is duplicated", list, g.Device(d).Name)
		}
		listed[d] = true
	}
	return nodes, nil
}

func hostsByNumber(g *topology.Graph, list string) (nodes []topology.DeviceID, err error) {
	hosts := seatsOf(g).hosts
	for _, part := range strings.Split(list, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		a, errA := strconv.Atoi(first)
		b, errB := strconv.Atoi(last)
		if errA != nil || errB != nil || a < 0 || b < a || b >= len(hosts) {
			return nil, fmt.Errorf("want numbers and ranges within 0-%d, or names of hosts", len(hosts)-1)
		}
		nodes = append(nodes, hosts[a:b+1]...)
	}
	return nodes, nil
}

func hostsByName(g *topology.Graph, list string) (nodes []topology.DeviceID, err error) {
	names, err := topology.HostList(list)
	if err != nil {
		return nil, err
	}
	called := map[string][]topology.DeviceID{}
	for _, d := range g.Hosts() {
		name := g.Device(d).Name
		called[name] = append(called[name], d)
		if host := topology.HostOf(name); host != name {
			called[host] = append(called[host], d)
		}
	}
	for _, name := range names {
		found := called[strings.TrimSpace(name)]
		if found == nil {
			return nil, fmt.Errorf("the fabric has no host %q; %s", name, g.Hint(name))
		}
		nodes = append(nodes, found...)
	}
	return nodes, nil
}
