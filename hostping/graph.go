package hostping

// Kind is what a link or an endpoint is.
type Kind string

// Kinds of endpoints and of links.
const (
	GPU    Kind = "gpu"
	Memory Kind = "memory" // a NUMA node, and the link to it: its memory channels

	PCIe        Kind = "pcie"
	RootPort    Kind = "root_port"    // between a socket and what is plugged into its root port
	InterSocket Kind = "inter_socket" // UPI, QPI, xGMI
)

// Graph is a host as a loopback probe sees it: a tree of PCIe links below each root port, sockets with their memory
// nodes, and the buses between sockets. Its JSON is that of `giverny hostping graph --json`.
type Graph struct {
	Endpoints  []Endpoint          `json:"endpoints"`
	RNICs      []RNIC              `json:"rnics"`
	Links      []Link              `json:"links"`
	Paths      []Path              `json:"paths"`      // of each RNIC to each endpoint
	Affinitive map[string][]string `json:"affinitive"` // by RNIC: GPUs below its root port, and memory at line rate
	Assumed    []string            `json:"assumed"`    // what the file does not say and the graph has guessed
	Model      string              `json:"model"`      // equal for hosts of equal make and structure
}

// Endpoint is where a probe's memory lies: gpuN or numaN.
type Endpoint struct {
	ID   string `json:"id"`
	Kind Kind   `json:"kind"` // GPU or Memory
}

// RNIC is an RDMA device, by its name such as mlx5_0.
type RNIC struct {
	ID string `json:"id"`
}

// Link joins two vertices. Its id rests on its lower end alone, so that it stays when other devices vanish.
type Link struct {
	ID   string `json:"id"`
	A    string `json:"a"` // the end nearer to the socket
	B    string `json:"b"`
	Kind Kind   `json:"kind"`
}

// Path is the links between an RNIC and an endpoint, from the RNIC on.
type Path struct {
	Pair
	Links []string `json:"links"`
}
