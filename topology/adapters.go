package topology

import (
	"strings"

	"github.com/giverny/giverny/schema"
)

// HostOf returns the host of a channel adapter's name ("n1" of "n1 HCA-1"), otherwise the device itself: a host with
// several rails has a device for each.
func HostOf(device string) string {
	if host, adapter, ok := strings.Cut(device, " "); ok && isAdapter(adapter) {
		return host
	}
	return device
}

// isAdapter reports whether the second word of a node description is an adapter's name as written by drivers (HCA-1,
// mlx5_0, hfi1_0).
func isAdapter(word string) bool {
	for _, prefix := range []string{"HCA-", "mlx4_", "mlx5_", "hfi1_", "ibp"} {
		if rest, ok := strings.CutPrefix(word, prefix); ok && rest != "" && !strings.ContainsAny(rest, " \t,[]=") {
			return true
		}
	}
	return false
}

// HostsOf returns, by device, the first device by name that is an adapter of the same host; any other device is its own.
func HostsOf(g *Graph) []DeviceID {
	first, hosts := make(map[string]DeviceID), make([]DeviceID, g.NumDevices())
	for d := range DeviceID(g.NumDevices()) {
		hosts[d] = d
		if name := g.Device(d).Name; !g.IsSwitch(d) {
			if other, ok := first[HostOf(name)]; !ok || name < g.Device(other).Name {
				first[HostOf(name)] = d
			}
		}
	}
	for d := range hosts {
		if d := DeviceID(d); !g.IsSwitch(d) {
			hosts[d] = first[HostOf(g.Device(d).Name)]
		}
	}
	return hosts
}

// CountHosts counts the distinct hosts of some devices.
func CountHosts(devices []string) int {
	hosts := make(map[string]bool, len(devices))
	for _, d := range devices {
		hosts[HostOf(d)] = true
	}
	return len(hosts)
}

// adapterOf is the adapter in a channel adapter's name ("mlx5_0" of "n1 mlx5_0"); empty if there is none.
func adapterOf(device string) string {
	if _, adapter, ok := strings.Cut(device, " "); ok && isAdapter(adapter) {
		return adapter
	}
	return ""
}

// railOf is the adapter that all hosts at links have in common, as the name of their rail, where hosts have several; empty if the
// links are at fewer than two hosts or at several adapters.
func (g *Graph) railOf(links []schema.LinkID) (rail string) {
	if !g.hasRails {
		return ""
	}
	hosts := 0
	for _, l := range links {
		if g.class[l] != ClassHost {
			continue
		}
		d := g.from[l]
		if g.IsSwitch(d) {
			d = g.to[l]
		}
		own := adapterOf(g.devices[d].Name)
		if hosts++; hosts > 1 && own != rail {
			return ""
		}
		rail = own
	}
	if hosts < 2 {
		return ""
	}
	return rail
}
