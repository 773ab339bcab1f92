package envelope

import (
	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
)

// A batch numbers its ports; in the payload, device and port are separate dictionaries, since the six
// ports of a switch share its name and every switch has the same six port names.

// portEncoder converts port numbers to pairs of dictionary indices.
type portEncoder struct {
	device, port []uint32 // by row
	seen         []pair   // by port number
	devices      map[string]uint32
	names        map[string]uint32
}

type pair struct {
	device, port uint32
	known        bool
}

func (e *portEncoder) encode(b *schema.CounterBatch, devices, names *textBuilder) {
	if e.devices == nil {
		e.devices, e.names = make(map[string]uint32), make(map[string]uint32)
	}
	clear(e.devices)
	clear(e.names)
	e.seen = scratch.Slice(e.seen, len(b.Ports))
	clear(e.seen)
	e.device, e.port = scratch.Slice(e.device, b.Rows()), scratch.Slice(e.port, b.Rows())
	for row, number := range b.PortIndex {
		p := &e.seen[number]
		if !p.known {
			name := &b.Ports[number]
			*p = pair{indexOf(e.devices, devices, name.Device), indexOf(e.names, names, name.Port), true}
		}
		e.device[row], e.port[row] = p.device, p.port
	}
}

func indexOf(index map[string]uint32, column *textBuilder, name string) uint32 {
	i, ok := index[name]
	if !ok {
		i = uint32(len(index))
		index[name] = i
		column.add(name)
	}
	return i
}

// portDecoder converts pairs of dictionary indices to port numbers.
type portDecoder struct {
	devices, names []string // the dictionaries

	start  []uint32 // by device: start of its rows in order
	order  []uint32 // rows, grouped by device
	number []uint32 // by port name: the number of that port of the current device
	owner  []uint32 // by port name: device + 1 for which number is valid
}

// decode fills Ports and PortIndex. It groups rows by device with a counting sort, so that a table of
// port names suffices and no input makes it slow. Ports are ordered by device, then by first
// appearance.
func (d *portDecoder) decode(device, port []uint32, into *schema.CounterBatch) {
	d.group(device, len(d.devices))
	d.number, d.owner = scratch.Slice(d.number, len(d.names)), scratch.Slice(d.owner, len(d.names))
	clear(d.owner)
	into.Ports, into.PortIndex = into.Ports[:0], scratch.Slice(into.PortIndex, len(device))
	for _, row := range d.order {
		dev, name := device[row], port[row]
		if d.owner[name] != dev+1 {
			d.owner[name], d.number[name] = dev+1, uint32(len(into.Ports))
			into.Ports = append(into.Ports, schema.PortName{Device: d.devices[dev], Port: d.names[name]})
		}
		into.PortIndex[row] = d.number[name]
	}
}

func (d *portDecoder) group(device []uint32, devices int) {
	d.start = scratch.Slice(d.start, devices+1)
	clear(d.start)
	for _, dev := range device {
		d.start[dev+1]++
	}
	for i := range devices {
		d.start[i+1] += d.start[i]
	}
	d.order = scratch.Slice(d.order, len(device))
	for row, dev := range device {
		d.order[d.start[dev]] = uint32(row)
		d.start[dev]++
	}
}
