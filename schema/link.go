package schema

// LinkID numbers the links of one version of one fabric's graph, densely from
// zero. It is an index into per-link slices and is only valid with the graph's
// version; PortKey is stable across versions.
type LinkID uint32

// NoLink marks the absence of a link.
const NoLink = LinkID(^uint32(0))

// PortKey names one port of one device for as long as the hardware keeps its
// name. It is stable across versions of a graph.
type PortKey struct {
	Fabric string // plane or rail, as configured
	Device string // host adapter or switch: node description, GUID or host name
	Port   string // "1", "X+", "swp17s0"
}

func (k PortKey) String() string { return k.Fabric + "/" + k.Device + "/" + k.Port }
