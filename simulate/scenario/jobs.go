package scenario

import (
	"fmt"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/fluid"
	"github.com/giverny/giverny/topology"
)

// stream is one kind of traffic of a job.
type stream struct {
	job     *job
	pattern Pattern
	phase   float64 // of its wave
}

type job struct {
	Job
	place              placement
	flows              []*fluid.Flows // by traffic
	running            bool
	startedAt, endedAt time.Duration
	killed             bool
	unreachable        int
	traffic            JobTraffic // of this interval
}

// JobTraffic is the traffic of a job's nodes in an interval, in bytes (the traffic
// features of Monet, section 7).
type JobTraffic struct {
	JobID                                         string
	ReadBytes, WriteBytes                         float64 // file system
	RDMAReadBytes, RDMAWriteBytes                 float64 // everything, as counted by the NIC's operations
	AllToAllBytes, ManyToOneBytes                 float64
	OfferedBytesPerSecond, AchievedBytesPerSecond float64 // their ratio is the cost of congestion to the job
	UnreachableFlows                              int     // without any path left, so they do not flow
}

// begin starts a job if there is room now.
func (r *Runner) begin(spec Job) error {
	place, err := r.alloc.place(&spec)
	if err != nil {
		return err
	}
	j := &job{Job: spec, place: place, running: true, startedAt: r.now, traffic: JobTraffic{JobID: spec.ID}}
	r.running = append(r.running, j)
	for _, t := range j.Traffic {
		j.flows = append(j.flows, &fluid.Flows{Owner: len(r.streams)})
		r.streams = append(r.streams, stream{j, t.Pattern, r.phases.Float64()})
	}
	r.routeFlows(j)
	r.log(schema.JobStarted, j, fmt.Sprintf("%s of %s on %d nodes from %s", j.Name, j.User, len(place.present()), r.graph.Device(place.present()[0]).Name))
	r.changed = append(r.changed, r.jobNow(j))
	return nil
}

func (r *Runner) end(j *job, now time.Duration, killed bool) {
	j.running, j.endedAt, j.killed = false, now, killed
	r.alloc.release(j.place)
	r.running = slices.DeleteFunc(r.running, func(o *job) bool { return o == j })
	if j.traffic.OfferedBytesPerSecond > 0 {
		r.past = append(r.past, j.traffic)
	}
	how := "completed"
	if killed {
		how = "killed: a node failed"
	}
	r.log(schema.JobEnded, j, j.Name+" "+how)
	r.changed = append(r.changed, r.jobNow(j))
}

func (r *Runner) killJobsOn(d topology.DeviceID, now time.Duration) {
	for _, j := range slices.Clone(r.running) {
		if slices.Contains(j.place.nodes, d) {
			r.end(j, now, true)
		}
	}
}

func (r *Runner) log(kind schema.EventKind, j *job, detail string) {
	r.events = append(r.events, schema.Event{TimeNanos: r.nanos(r.now), Fabric: r.graph.Fabric(), Kind: kind, JobID: j.ID, Detail: detail})
}

// routeFlows routes all flows of a job.
func (r *Runner) routeFlows(j *job) {
	j.unreachable = 0
	for i := range j.Traffic {
		j.unreachable += r.network.routeFlows(j.flows[i], &j.Traffic[i], j.place, r.seed^uint64(j.flows[i].Owner)<<8)
	}
}

// measure adds to the jobs' traffic counters, for a share of the interval.
func (r *Runner) measure(share float64) {
	seconds := r.script.Interval.Seconds() * share
	for _, j := range r.running {
		m := &j.traffic
		m.UnreachableFlows = j.unreachable
		for i, f := range j.flows {
			offered, sent := r.model.Sent(f)
			bytes := sent * seconds
			m.OfferedBytesPerSecond += offered * share
			m.AchievedBytesPerSecond += sent * share
			switch j.Traffic[i].Pattern {
			case ReadFS:
				m.ReadBytes += bytes
				m.RDMAReadBytes += bytes
			case WriteFS:
				m.WriteBytes += bytes
				m.RDMAWriteBytes += bytes
			case AllToAll, Opposite, Random:
				m.AllToAllBytes += bytes
				m.RDMAWriteBytes += bytes
			case ManyToOne:
				m.ManyToOneBytes += bytes
				m.RDMAWriteBytes += bytes
			default:
				m.RDMAWriteBytes += bytes
			}
		}
	}
}
