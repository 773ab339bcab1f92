package trees

// down is the number of links from switches.
func (s *sink) down() int { return s.links - s.hostLinks }

// isTree reports whether the stall of a port to a host explains what waits there; many ports are not a root.
func (s *sink) isTree() bool { return s.links > 0 && s.port >= portShare*s.stall && !s.hasManyPorts() }

// beginsTree reports whether a tree begins at a sink, so that what waits there is no exchange's: a port to a host
// explains it, or a port stalls whose host does not itself wait to send. Where senders push, far more may wait than
// the port stalls.
func (s *sink) beginsTree() bool { return s.isTree() || s.isReceiver }

// showsRoot reports whether the links at a switch wait for a visibly stalled port to a host.
func (s *sink) showsRoot() bool {
	return s.links > 1 && s.port > 0 && !s.hasManyPorts()
}

// hasManyPorts reports whether more ports to hosts stall than a few trees have: at a small switch all or all but one,
// or several whose hosts all send.
func (s *sink) hasManyPorts() bool {
	ports := s.ports + s.others
	return ports > mostRoots || ports == mostRoots && s.hosts <= mostRoots+1 || s.sending > 1 && s.sending >= ports
}

// portMean is the mean stall of the links to hosts.
func (s *sink) portMean() float64 { return s.portSum / float64(max(1, s.ports)) }

// isWide reports whether enough waits at a sink to distinguish it from lone hot links.
func (s *sink) isWide() bool { return s.links >= minFeeders || s.hasManyPorts() }

// mostRoots is the highest number of trees with their roots at one switch.
const mostRoots = 3

// portShare is the least stall of a port, relative to what waits for it, that makes it the cause.
const portShare = .85
