package nodes

import (
	"cmp"
	"strings"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Place is a port of a device, by its name in the fabric's graph, or without a port the whole device.
type Place struct{ Device, Port string }

// FailedAt finds what failed or recovered among a node's devices in each fabric (as returned by Device): one port for a
// link, else all the devices. A fabric has no place if it is not concerned, or if the port is ambiguous.
func (r *Resolver) FailedAt(devices [][]string, f schema.Failure) [][]Place {
	if f.Port != "" && (f.Kind == schema.LinkFailed || f.Kind == schema.LinkRestored) {
		return r.port(devices, f.Port)
	}
	places := make([][]Place, len(devices))
	for i, own := range devices {
		for _, d := range own {
			places[i] = append(places[i], Place{Device: d})
		}
	}
	return places
}

// port finds the port that a log names among a node's devices:
//
//   - at the adapter that the name begins with, "mlx5_3/1" at "node1 mlx5_3", never at another one of the same driver;
//   - else under the name as is, if exactly one device of the fabric has such a port;
//   - else, if only one device in all fabrics can be meant, at its port with the number after the last slash, or at
//     its only port: "0000:3b:00.0/1", "ib0".
//
// Else there is none: a host has other interfaces too, and "ib3" does not tell which of several adapters it is.
func (r *Resolver) port(devices [][]string, port string) [][]Place {
	interfaceName, number := port, port
	if i := strings.LastIndexByte(port, '/'); i >= 0 {
		interfaceName, number = port[:i], port[i+1:]
	}
	numbered := func(fabric int, device string) string {
		return cmp.Or(r.named(fabric, device, number), r.onlyPort(fabric, device))
	}
	atAdapter, asItStands, likely := make([][]Place, len(devices)), make([][]Place, len(devices)), make([][]Place, len(devices))
	atAny, standsAny, candidates := false, false, 0
	for i, own := range devices {
		for _, d := range own {
			adapter := r.adapter(i, d)
			if adapter != "" && adapter == interfaceName {
				atAdapter[i] = append(atAdapter[i], Place{d, numbered(i, d)})
				atAny = true
			}
			if name := r.named(i, d, port); name != "" {
				asItStands[i] = append(asItStands[i], Place{d, name})
			}
			if !isAnother(adapter, interfaceName) {
				likely[i] = append(likely[i], Place{d, numbered(i, d)})
				candidates++
			}
		}
		standsAny = standsAny || len(asItStands[i]) == 1
	}
	switch {
	case atAny:
		return known(atAdapter)
	case standsAny:
		return known(asItStands)
	case candidates == 1:
		return known(likely)
	}
	return make([][]Place, len(devices))
}

// known keeps the place of each fabric that has exactly one, if its port is known.
func known(places [][]Place) [][]Place {
	for i, of := range places {
		if len(of) != 1 || of[0].Port == "" {
			places[i] = nil
		}
	}
	return places
}

// adapter is the adapter's name in a host's label, "mlx5_0" of "node1 mlx5_0"; empty if there is none.
func (r *Resolver) adapter(fabric int, device string) string {
	g := r.fabrics[fabric].graph
	id, ok := g.FindDevice(device)
	if !ok || g.IsSwitch(id) {
		return ""
	}
	words := strings.Fields(cmp.Or(g.Device(id).Label, device))
	if len(words) != 2 {
		return ""
	}
	return words[1]
}

// isAnother reports whether an interface name in a log cannot belong to an adapter: it is another adapter of the same
// driver, or an Ethernet interface (eth0, ens1f0), as only InfiniBand labels name adapters.
func isAnother(adapter, name string) bool {
	const digits = "0123456789"
	switch {
	case adapter == "" || adapter == name:
		return false
	case strings.HasPrefix(name, "eth") || strings.HasPrefix(name, "en"):
		return true
	}
	driver := strings.TrimRight(adapter, digits)
	return driver != adapter && driver == strings.TrimRight(name, digits)
}

// named returns the name if the device has a port of this name, else "".
func (r *Resolver) named(fabric int, device, name string) string {
	g := r.fabrics[fabric].graph
	if id, ok := g.FindDevice(device); ok && name != "" {
		if _, ok := g.PortAt(id, name); ok {
			return name
		}
	}
	return ""
}

// onlyPort is the port of a device that has exactly one, else "".
func (r *Resolver) onlyPort(fabric int, device string) string {
	g := r.fabrics[fabric].graph
	id, ok := g.FindDevice(device)
	if !ok {
		return ""
	}
	only := ""
	for _, l := range g.LinksAt(id) {
		for _, end := range []struct {
			device topology.DeviceID
			port   string
		}{{g.Link(l).From, g.Link(l).FromPort}, {g.Link(l).To, g.Link(l).ToPort}} {
			if end.device != id || end.port == only {
				continue
			}
			if only != "" {
				return ""
			}
			only = end.port
		}
	}
	return only
}
