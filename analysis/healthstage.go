package analysis

import (
	"slices"

	"github.com/giverny/giverny/linkhealth"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// healthStage reports failures of links and devices, and bad links.
type healthStage struct {
	graph   *topology.Graph
	cfg     linkhealth.Config
	monitor *linkhealth.Monitor
}

func (s *healthStage) Name() string { return "linkhealth" }

func (s *healthStage) Step(r *schema.IntervalResult) {
	r.Events = append(r.Events, s.monitor.Step(r.Snapshot, r.Raw, reported(r.Events, r.Failures))...)
}

// reported returns what other sources, including logs, report about the fabric's parts.
func reported(events []schema.Event, failures []schema.Failure) []schema.Event {
	if len(failures) == 0 {
		return events
	}
	all := slices.Clone(events)
	for _, f := range failures {
		all = append(all, schema.Event{TimeNanos: int64(f.Time), Fabric: f.Fabric, Kind: f.Kind, Device: f.Device, Port: f.Port, Detail: f.Detail})
	}
	return all
}

func (s *healthStage) SetGraph(g *topology.Graph, _ []schema.LinkID) error {
	s.graph = g
	s.monitor.SetGraph(g)
	return nil
}

func (s *healthStage) Save() schema.StageState {
	return stateOf(s, s.monitor.Save())
}

func (s *healthStage) Load(saved schema.StageState) error {
	return restore(&s.monitor, saved, func(b []byte) (*linkhealth.Monitor, error) { return linkhealth.Load(s.graph, s.cfg, b) })
}

func (s *healthStage) Resume(in Interval) error {
	s.monitor.Restore(in.Interval, reported(in.Feeds.Events, in.Feeds.Failures))
	return nil
}
