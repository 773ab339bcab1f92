package credits

import (
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// ports numbers where devices pass cells to the fabric and accept them: every port of a host does so at its own rate, a
// switch in one place for all of its channels. The first port of a device has the device's number.
type ports struct {
	device           []topology.DeviceID // by port
	sender, receiver []int32             // by channel: the port that it leaves and the one that it enters
}

func newPorts(c *routing.Channels) ports {
	g := c.Graph()
	p := ports{sender: make([]int32, c.Len()), receiver: make([]int32, c.Len())}
	for d := range topology.DeviceID(g.NumDevices()) {
		p.device = append(p.device, d)
	}
	for d := range topology.DeviceID(g.NumDevices()) {
		out, in := c.Out(d), c.In(d)
		for i := range max(len(out), len(in)) {
			port := int32(d)
			if i > 0 && !g.IsSwitch(d) {
				port = int32(len(p.device))
				p.device = append(p.device, d)
			}
			if i < len(out) {
				p.sender[out[i]] = port
			}
			if i < len(in) {
				p.receiver[in[i]] = port
			}
		}
	}
	return p
}
