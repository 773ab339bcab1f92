// Package launch starts a search for a region: it determines at which host the back pressure
// begins, what subsystem that host is, and which hosts of the same NIC model are free. The
// input is diagnoses, the agents' reports on their hosts and Slurm's states; the output is
// signed commands of the kind "search". A policy can do so automatically, off by default and
// within limits. The package does not search itself: agents do.
package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
)

// Choice is the hosts chosen for a search.
type Choice struct {
	Agent   string `json:"agent"`
	Adapter string `json:"adapter"`
	// Subsystem of that adapter, which the search is for, down to the firmware.
	Subsystem schema.Subsystem `json:"subsystem"`
	Peers     []string         `json:"peers"`
	Passed    []Passed         `json:"passed"` // hosts that were not chosen, and why
}

// Passed is a host that was not chosen.
type Passed struct {
	Agent string `json:"agent"`
	Why   string `json:"why"`
}

// Choose picks the searching host and its peers: free hosts with the root's NIC model
// that are not already searching, preferring its firmware, then the root itself, then
// by name.
func Choose(root dispatch.Root, hosts []dispatch.Host, peers int, busy map[string]string) (c Choice, err error) {
	type candidate struct {
		host    *dispatch.Host
		adapter *schema.Adapter
	}
	var free []candidate
	for i := range hosts {
		h := &hosts[i]
		k := slices.IndexFunc(h.Hardware.Adapters, func(a schema.Adapter) bool { return a.Model == root.Subsystem.NICModel })
		switch {
		case k < 0:
			c.Passed = append(c.Passed, Passed{h.Agent, "has no " + root.Subsystem.NICModel})
		case h.Free == "":
			c.Passed = append(c.Passed, Passed{h.Agent, "is in use: neither in search.launch.allow_hosts nor drained"})
		case busy[h.Agent] != "":
			c.Passed = append(c.Passed, Passed{h.Agent, "is in search " + busy[h.Agent] + ", which runs"})
		case !slices.Contains(h.Kinds, schema.KindSearch):
			c.Passed = append(c.Passed, Passed{h.Agent, "accepts no searches: search.offer.engines of that agent is empty"})
		default:
			free = append(free, candidate{h, &h.Hardware.Adapters[k]})
		}
	}
	rank := func(x candidate) int {
		r := 0
		if x.adapter.Firmware != root.Subsystem.Firmware || x.adapter.Board != root.Subsystem.Board {
			r += 2
		}
		if x.host.Agent != root.Agent {
			r++
		}
		return r
	}
	slices.SortStableFunc(free, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.host.Agent, b.host.Agent))
	})
	if len(free) < 1+peers {
		return c, fmt.Errorf("%d hosts with a %s are free, %d are needed: %s", len(free), root.Subsystem.NICModel, 1+peers, describePassed(c.Passed))
	}
	c.Agent, c.Adapter, c.Subsystem = free[0].host.Agent, free[0].adapter.Name, free[0].host.Hardware.Subsystem(free[0].adapter)
	for _, p := range free[1 : 1+peers] {
		c.Peers = append(c.Peers, p.host.Agent)
	}
	return c, nil
}

func describePassed(passed []Passed) string {
	var parts []string
	for _, p := range passed {
		parts = append(parts, p.Agent+" "+p.Why)
	}
	return cmp.Or(plural.First(parts, 8, "; "), "no agent answered")
}
