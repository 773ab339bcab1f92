package telemetry

import (
	"errors"
	"math"
	"strconv"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// dayPorts are the directions of a Gemini in the column order of a Blue Waters day
// file.
var dayPorts = [...]string{"Z-", "Z+", "Y-", "Y+", "X-", "X+"}

// dayTable maps each switch to its channels in the order of dayPorts.
type dayTable struct {
	egress [][len(dayPorts)]routing.Channel
}

// AppendDay appends to buf the rows of the last Read for a day file of the Blue Waters
// release (DOI 10.13012/B2IDB-2921318_V1): Unix seconds; credit stall, inq stall and
// used bandwidth of Z-, Z+, Y-, Y+, X-, X+, each percent x 1e6; Z, Y, X. Each switch
// has two rows, one for each of its nodes, of which the larger values count.
func (s *Source) AppendDay(buf []byte, i schema.Interval) ([]byte, error) {
	grid := s.channels.Graph().Grid()
	if s.cfg.Kind != Gemini || grid == nil || len(grid.Dims) != 3 {
		return buf, errors.New("telemetry: day files are of a Gemini torus of three dimensions")
	}
	if s.day.egress == nil {
		s.day = newDayTable(s.channels)
	}
	for d := range s.day.egress {
		if m := &s.devices[d]; m.delivery != arrives {
			continue
		}
		buf = s.appendDayRow(buf, topology.DeviceID(d), i, 1)
		buf = s.appendDayRow(buf, topology.DeviceID(d), i, .9+.1*s.rng.Float64())
	}
	return buf, nil
}

func newDayTable(channels *routing.Channels) dayTable {
	t := dayTable{egress: make([][len(dayPorts)]routing.Channel, channels.Graph().NumDevices())}
	for d := range t.egress {
		for p, port := range dayPorts {
			t.egress[d][p], _ = channels.Ports(topology.DeviceID(d), port)
		}
	}
	return t
}

func (s *Source) appendDayRow(buf []byte, d topology.DeviceID, i schema.Interval, factor float64) []byte {
	buf = strconv.AppendInt(buf, i.EndNanos()/1e9, 10)
	for _, of := range [...]quantity{creditNanos, inqNanos, trafficBytes} {
		for _, ch := range s.day.egress[d] {
			percent := 0.
			if ch != routing.NoChannel {
				full := 1e9
				if of == trafficBytes {
					full = s.channels.Graph().Link(s.channels.Link(ch)).CapacityBytesPerSecond
				}
				percent = 100 * s.rates[of][ch] / full * factor
			}
			buf = append(buf, ',')
			buf = strconv.AppendInt(buf, int64(math.Round(math.Min(100, percent)*1e6)), 10)
		}
	}
	c := s.channels.Graph().Device(d).Coord
	for _, x := range [...]int{c[2], c[1], c[0]} {
		buf = append(buf, ',')
		buf = strconv.AppendInt(buf, int64(x), 10)
	}
	return append(buf, '\n')
}
