package collective

import (
	"fmt"

	"github.com/giverny/giverny/collective/network"
)

// fabric is the network of a run, with what the run's records say about its ports.
type fabric struct {
	*network.Router
	observed network.Table[observed]  // of the current run; empty between runs
	called   network.Table[portWords] // see words
}

// newFabric returns the fabric of a network in which nominal links have at least a rate, bits per second.
func newFabric(of *network.Fabric, lineRate int64) *fabric {
	n := network.New(of, lineRate)
	return &fabric{n, network.NewTable[observed](n), network.NewTable[portWords](n)}
}

// observed is what a run's records say about one port.
type observed struct {
	reads     []*PortReport // by time
	intervals []interval    // in which PFC frames paused it
	signals   []int64       // times of telemetry signals that followed a pause of the port
}

// portWords are the texts that describe a port.
type portWords struct{ name, collision, shared, filled string }

// words returns a port's texts; they depend on the fabric only and are kept between runs.
func (f *fabric) words(p network.Port) *portWords {
	w := f.called.At(p)
	if w.name == "" {
		w.name = fmt.Sprintf(portObject, f.NodeName(p.Node), p.Port)
		w.collision = "collision " + w.name
		w.shared = fmt.Sprintf("shares %s with the collective", w.name)
		w.filled = fmt.Sprintf("fills the queue at %s, from which pauses spread to the collective", w.name)
	}
	return w
}
