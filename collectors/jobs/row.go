package jobs

import (
	"fmt"
	"strings"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// Phase is the life-cycle phase of a job.
type Phase uint8

// Phases.
const (
	Waiting Phase = iota // has no nodes yet; a start, if given, is an estimate
	Running
	Ended
)

// Row is a job as listed by a scheduler. End is 0 unless the job has ended: for running jobs schedulers list the
// time limit as the end.
type Row struct {
	Job   schema.Job
	Phase Phase
	Place int // position in the list: the last line of its record, or the number of the job
}

// List is the jobs listed by a scheduler.
type List struct {
	Rows []Row
	feeds.Drops
	// Complete means that jobs missing from the list are not running, except those in lost.
	Complete bool
	Steps    int // lines of sacct that are job steps, not rows

	// Window means that the list contains only jobs since the last query.
	Window bool

	// Prompt means that the list contains jobs as soon as they start.
	Prompt bool

	Doubts []feeds.Fault // rows with implausible times, up to feeds.MaxFaults

	lost  map[string]bool // IDs of jobs that are listed, but in no row; "" if one of them cannot be read
	nodes int             // number of nodes of all rows
	name  string          // file name, for faults
	unit  string          // unit of places; empty: lines
	place int             // current position of the reader, from 1
}

// maxNodes bounds the nodes of a list, and those of all jobs that a tracker remembers: a few bytes of a host list can stand
// for a hundred thousand nodes.
const maxNodes = 4 << 20

// drop counts the current row as unusable and records what is wrong with it.
func (l *List) drop(reason, detail string) { l.refuse(l.place, reason, detail) }

// lose drops the current row, which is that of a job with the ID; "" if it cannot be read.
func (l *List) lose(id, reason, detail string) {
	l.drop(reason, detail)
	l.missing(id)
}

// missing says that the job with the ID is listed, but in no row.
func (l *List) missing(id string) {
	if l.lost == nil {
		l.lost = map[string]bool{}
	}
	l.lost[id] = true
}

// refuse counts a row as unusable.
func (l *List) refuse(place int, reason, detail string) {
	l.Refuse(reason, l.Where(place), detail)
}

// unparsed is how many rows could not be parsed.
func (l *List) unparsed() (n int) {
	for _, reason := range feeds.Unparsable() {
		n += int(l.Dropped[reason])
	}
	return n
}

// Where describes a place in the list, for people.
func (l *List) Where(place int) string {
	if l.unit != "" {
		return fmt.Sprintf("%s: %s %d", l.name, l.unit, place)
	}
	return fmt.Sprintf("%s:%d", l.name, place)
}

// Lines reports whether places are line numbers.
func (l *List) Lines() bool { return l.unit == "" }

// add adds a row with normalised fields.
func (l *List) add(job schema.Job, nodeList []string, phase Phase) {
	job.ID = strings.Clone(strings.TrimSpace(job.ID)) // names and nodes are kept without the line that they are a part of
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
		l.lose(job.ID, feeds.Malformed, "no job id")
		return
	case !feeds.Sendable(job.ID):
		l.lose(job.ID, feeds.Unsendable, fmt.Sprintf("job %.40q: %s", job.ID, feeds.UnsendableID))
		return
	case err != nil:
		l.lose(job.ID, feeds.TooLong, fmt.Sprintf("job %q: nodes: %v", job.ID, err))
		return
	case phase != Waiting && job.Start == 0:
		l.lose(job.ID, feeds.NoTime, fmt.Sprintf("job %q has no start", job.ID))
		return
	}
	if l.nodes += len(expanded); l.nodes > maxNodes {
		l.lose(job.ID, feeds.TooMany, fmt.Sprintf("job %q: more than %d nodes in all", job.ID, maxNodes))
		return
	}
	job.Nodes = nil
	for _, node := range expanded {
		job.Nodes = append(job.Nodes, strings.Clone(node))
	}
	l.Rows = append(l.Rows, Row{job, phase, l.place})
}

// slurmNodes expands a Slurm node list, in which commas outside brackets also separate names.
func slurmNodes(list string) ([]string, error) {
	switch list = strings.TrimSpace(list); strings.ToLower(list) {
	case "", "none assigned", "(null)", "none", "unknown":
		return nil, nil
	}
	return topology.HostList(list)
}

// phases of Slurm's states, by their first word. A job in an unlisted state is running if it has nodes and no end.
var phases = map[string]Phase{
	"PENDING": Waiting, "CONFIGURING": Running, "RUNNING": Running, "SUSPENDED": Running, "STOPPED": Running,
	"RESIZING": Running, "SIGNALING": Running, "STAGE_OUT": Running, "REQUEUE_HOLD": Waiting, "REQUEUE_FED": Waiting,
	"RESV_DEL_HOLD": Waiting, "SPECIAL_EXIT": Waiting, "REQUEUED": Ended, "COMPLETING": Ended,
	"COMPLETED": Ended, "CANCELLED": Ended, "FAILED": Ended, "TIMEOUT": Ended, "NODE_FAIL": Ended, "PREEMPTED": Ended,
	"BOOT_FAIL": Ended, "DEADLINE": Ended, "OUT_OF_MEMORY": Ended, "REVOKED": Ended, "LAUNCH_FAILED": Ended, "RECONFIG_FAIL": Ended,
}

// slurmPhase returns the phase of a state such as "CANCELLED by 1000", or of a state followed by flags
// ("RUNNING", "COMPLETING"). A completing job is running until its end is known.
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
		return Running // its end is not known yet
	}
	return phase
}
