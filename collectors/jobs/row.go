package jobs

import (
	"fmt"
	"strings"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Phase is where a job is in its life.
type Phase uint8

// Phases.
const (
	Waiting Phase = iota // has no nodes yet; a start that is given is a guess
	Running
	Ended
)

// Row is a job as a scheduler lists it. End is 0 unless the job has ended: a scheduler gives running jobs the end
// that they must not pass.
type Row struct {
	Job   schema.Job
	Phase Phase
	Place int // in the list: the line that it ends on, or the number of the job
}

// List is what a scheduler listed.
type List struct {
	Rows    []Row
	Dropped map[string]uint64 // rows that could not be used, by reason
	// Complete says that jobs that are not in the list do not run.
	Complete bool
	Steps    int // lines of sacct that are steps of jobs, which are no rows

	// Prompt says that the list has a job from its start on.
	Prompt bool

	Faults []feeds.Fault // the first of what is in Dropped, up to feeds.MaxFaults
	Doubts []feeds.Fault // rows whose times cannot be right, up to feeds.MaxFaults

	nodes int    // of all rows
	name  string // of the file, for faults
	unit  string // what is counted by place; empty: lines
	place int    // at which the reader is, from 1
}

// maxNodes bounds the nodes of a list: a few bytes of a host list stand for a hundred thousand.
const maxNodes = 4 << 20

// drop counts the row that is being read, which cannot be used, and says what is wrong with it.
func (l *List) drop(reason, detail string) { l.refuse(l.place, reason, detail) }

// refuse counts a row that is not used.
func (l *List) refuse(place int, reason, detail string) {
	if len(l.Faults) < feeds.MaxFaults {
		l.Faults = append(l.Faults, feeds.NewFault(l.Where(place), reason, detail))
	}
	if l.Dropped == nil {
		l.Dropped = map[string]uint64{}
	}
	l.Dropped[reason]++
}

// Where names a place of the list, for people.
func (l *List) Where(place int) string {
	if l.unit != "" {
		return fmt.Sprintf("%s: %s %d", l.name, l.unit, place)
	}
	return fmt.Sprintf("%s:%d", l.name, place)
}

// Lines says whether places of the list are lines of the file.
func (l *List) Lines() bool { return l.unit == "" }

// add keeps a row, with its fields put in order.
func (l *List) add(job schema.Job, nodeList []string, phase Phase) {
	job.ID = strings.TrimSpace(job.ID)
	job.Name, job.User, job.State = feeds.CleanName(job.Name), feeds.CleanName(job.User), feeds.CleanName(job.State)
	switch phase {
	case Waiting:
		job.Start, job.End, nodeList = 0, 0, nil
	case Running:
		job.End = 0
	}
	expanded, err := nodes.Expand(nodeList)
	switch {
	case job.ID == "":
		l.drop(feeds.Malformed, "no job id")
		return
	case err != nil:
		l.drop(feeds.TooLong, fmt.Sprintf("job %q: nodes: %v", job.ID, err))
		return
	case phase != Waiting && job.Start == 0:
		l.drop(feeds.NoTime, fmt.Sprintf("job %q has no start", job.ID))
		return
	}
	if l.nodes += len(expanded); l.nodes > maxNodes {
		l.drop(feeds.TooMany, fmt.Sprintf("job %q: more than %d nodes in all", job.ID, maxNodes))
		return
	}
	job.Nodes = expanded
	l.Rows = append(l.Rows, Row{job, phase, l.place})
}

// slurmNodes expands a node list of Slurm, in which a comma separates names outside brackets too.
func slurmNodes(list string) ([]string, error) {
	switch list = strings.TrimSpace(list); strings.ToLower(list) {
	case "", "none assigned", "(null)", "none", "unknown":
		return nil, nil
	}
	return topology.HostList(list)
}

// phases of Slurm's states, by their first word. What is not here runs if it has nodes and no end.
var phases = map[string]Phase{
	"PENDING": Waiting, "CONFIGURING": Running, "RUNNING": Running, "SUSPENDED": Running, "STOPPED": Running,
	"RESIZING": Running, "SIGNALING": Running, "STAGE_OUT": Running, "REQUEUE_HOLD": Waiting, "REQUEUE_FED": Waiting,
	"RESV_DEL_HOLD": Waiting, "SPECIAL_EXIT": Waiting, "REQUEUED": Ended, "COMPLETING": Ended,
	"COMPLETED": Ended, "CANCELLED": Ended, "FAILED": Ended, "TIMEOUT": Ended, "NODE_FAIL": Ended, "PREEMPTED": Ended,
	"BOOT_FAIL": Ended, "DEADLINE": Ended, "OUT_OF_MEMORY": Ended, "REVOKED": Ended, "LAUNCH_FAILED": Ended, "RECONFIG_FAIL": Ended,
}

// slurmPhase is the phase of a state such as "CANCELLED by 1000", or of several words of which the first is the
// state and the others are flags ("RUNNING", "COMPLETING"). A job that completes has its end already or runs on.
func slurmPhase(state string, end schema.Instant) Phase {
	words := strings.FieldsFunc(strings.ToUpper(state), func(r rune) bool { return r == ' ' || r == ',' || r == '+' })
	if len(words) == 0 {
		words = []string{""}
	}
	phase, known := phases[words[0]]
	switch {
	case !known && end != 0:
		return Ended
	case !known:
		return Running
	case phase == Ended && end == 0:
		return Running // its end is not known yet; it comes later
	}
	return phase
}
