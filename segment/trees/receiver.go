package trees

import "github.com/giverny/giverny/schema"

// receiverOf is the root of a region in which back pressure shows none: its only port to a host that does not itself
// wait to send, if at least three and half of the region's links into switches enter that port's. Such a region is a
// patch, a receiver with its senders, or an exchange joined with a tree: the hosts of an exchange send.
func (m *Method) receiverOf(region []schema.LinkID) root {
	none, port := root{device: noDevice, link: schema.NoLink}, schema.NoLink
	for _, l := range region {
		to := m.waits.to[l]
		if m.waits.isSwitch[to] || m.waitsToSend(to) {
			continue
		}
		if port != schema.NoLink {
			return none
		}
		port = l
	}
	if port == schema.NoLink {
		return none
	}
	device, entering, all := m.waits.from[port], 0, 0
	for _, l := range region {
		switch to := m.waits.to[l]; {
		case to == device:
			entering, all = entering+1, all+1
		case m.waits.isSwitch[to]:
			all++
		}
	}
	if entering < minFeeders || 2*entering < all {
		return none
	}
	return root{device: device, link: port}
}
