package hostping

// Kind is the kind of a link or an endpoint.
type Kind string

// Kinds of endpoints and of links.
const (
	GPU    Kind = "gpu"
	Memory Kind = "memory" // a NUMA node, and the link to it: its memory channels

	PCIe        Kind = "pcie"
	RootPort    Kind = "root_port"    // between a socket and what is plugged into its root port
	InterSocket Kind = "inter_socket" // such as UPI, QPI, xGMI
)

// Graph is a host as seen by loopback probes: a tree of PCIe links below each root port, sockets with their memory
// nodes, and the buses between sockets. Its JSON is that of `giverny hostping graph --json`.
type Graph struct {
	Endpoints  []Endpoint          `json:"endpoints"`
	RNICs      []RNIC              `json:"rnics"`
	Links      []Link              `json:"links"`
	Paths      []Path              `json:"paths"`      // from each RNIC to each endpoint
	Affinitive map[string][]string `json:"affinitive"` // by RNIC: GPUs below its root port, and memory at line rate
	Assumed    []string            `json:"assumed"`    // missing in the file and assumed
	Model      string              `json:"model"`      // equal for hosts of the same product and structure
}

// Endpoint is where a probe's memory is located: gpuN or numaN.
type Endpoint struct {
	ID   string `json:"id"`
	Kind Kind   `json:"kind"` // GPU or Memory
}

// RNIC is an RDMA device, by name such as mlx5_0.
type RNIC struct {
	ID string `json:"id"`
}

// Link joins two vertices. Its id depends only on its lower end, so it stays the same when other devices vanish.
type Link struct {
	ID   string `json:"id"`
	A    string `json:"a"` // the end nearer to the socket
	B    string `json:"b"`
	Kind Kind   `json:"kind"`
}

// Path is the links from an RNIC to an endpoint, in order.
type Path struct {
	Pair
	Links []string `json:"links"`
}
