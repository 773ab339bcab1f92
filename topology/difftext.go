package topology

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/giverny/giverny/schema"
)

// Lines lists the changes, one per line: what was added, removed, renamed or recabled, and of what changed the old and the new
// value. was and now are the graphs that were compared.
func (d *Difference) Lines(was, now *Graph) (lines []string) {
	add := func(format string, args ...any) { lines = append(lines, schema.OneLine(fmt.Sprintf(format, args...))) }
	renamed := d.renamed(was, now)
	for _, name := range d.DevicesRemoved {
		if to, ok := renamed[name]; ok {
			add("renamed: device %s to %s", name, to)
			continue
		}
		add("- device %s", name)
	}
	for _, name := range d.DevicesAdded {
		if _, ok := renamed[was.nameOf(now.devices[now.byName[name]].GUID)]; !ok {
			add("+ device %s", name)
		}
	}
	for _, name := range d.DevicesChanged {
		for _, what := range deviceChanges(&was.devices[was.byName[name]], &now.devices[now.byName[name]]) {
			add("changed: device %s: %s", name, what)
		}
	}
	unplugged, plugged := map[schema.LinkID]bool{}, map[schema.LinkID]bool{} // listed as recabled
	for _, r := range d.Recabled {
		unplugged[r.Was], plugged[r.Now] = true, true
		before, after := was.Link(r.Was), now.Link(r.Now)
		add("recabled: %s port %s: from %s port %s to %s port %s", now.devices[after.From].Name, after.FromPort,
			was.devices[before.To].Name, before.ToPort, now.devices[after.To].Name, after.ToPort)
	}
	for _, id := range d.LinksRemoved {
		if !unplugged[id] {
			add("- link %s", was.LinkName(id))
		}
	}
	for _, id := range d.LinksAdded {
		if !plugged[id] {
			add("+ link %s", now.LinkName(id))
		}
	}
	for _, id := range d.WentDown {
		add("down: link %s", now.LinkName(id))
	}
	for _, id := range d.CameUp {
		add("up: link %s", now.LinkName(id))
	}
	before := Moved(now, was)
	for _, id := range d.Rerated {
		add("rerated: link %s: %s to %s", now.LinkName(id), rateName(was.capacity[before[id]]), rateName(now.capacity[id]))
	}
	if was.fabric != now.fabric {
		add("changed: fabric: name %q to %q", was.fabric, now.fabric)
	}
	return lines
}

// renamed maps the old names of devices to the new ones: those with the same GUID.
func (d *Difference) renamed(was, now *Graph) map[string]string {
	names := map[string]string{}
	for _, name := range d.DevicesRemoved {
		if to := now.nameOf(was.devices[was.byName[name]].GUID); to != "" {
			names[name] = to
		}
	}
	return names
}

// nameOf is the name of the device with a GUID, or empty.
func (g *Graph) nameOf(guid string) string {
	if id, ok := g.byGUID[guid]; ok && guid != "" {
		return g.devices[id].Name
	}
	return ""
}

// deviceChanges lists the properties of a device that changed: "level 1 to 3".
func deviceChanges(was, now *Device) (list []string) {
	for _, property := range []struct {
		name     string
		was, now any
	}{
		{"kind", was.Kind, now.Kind}, {"guid", was.GUID, now.GUID}, {"label", was.Label, now.Label},
		{"level", was.Level, now.Level}, {"group", was.Group, now.Group}, {"coord", coordName(was.Coord), coordName(now.Coord)},
	} {
		if property.was != property.now {
			list = append(list, fmt.Sprintf("%s %s to %s", property.name, cmp.Or(fmt.Sprint(property.was), "none"), cmp.Or(fmt.Sprint(property.now), "none")))
		}
	}
	return list
}

// rateName is a link's rate in words.
func rateName(bytesPerSecond float64) string {
	if bytesPerSecond == 0 {
		return "unknown rate"
	}
	return fmt.Sprintf("%g Gb/s", bytesPerSecond*8/1e9)
}

// WithRate returns the graph with a rate for the links of unknown rate, and the number of these.
func (g *Graph) WithRate(bytesPerSecond float64) (*Graph, int) {
	rated, n := *g, 0
	rated.capacity = slices.Clone(g.capacity)
	for id, c := range rated.capacity {
		if c == 0 {
			rated.capacity[id] = bytesPerSecond
			n++
		}
	}
	rated.version = rated.hash()
	return &rated, n
}
