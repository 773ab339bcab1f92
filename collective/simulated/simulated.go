// Package simulated writes and reads the records of giverny simulate collective: one
// JSON object per line, each a part of a collective.Run under the name of its type.
// Lines are numbered, so that reordering and duplicates are harmless and missing lines
// are noticed. A line that is malformed, contradicts another or refers to something
// unknown is an error that names it. The package does not simulate.
package simulated

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/network"
	"github.com/giverny/giverny/internal/textmark"
)

// FileName is the name of the records file in a folder, TruthName that of the ground truth.
const (
	FileName  = "run.jsonl"
	TruthName = "truth.json"
)

// maxLine bounds a line: a switch's report with a few thousand flows.
const maxLine = 4 << 20

// line is one record. Type says which field is set; an end line has none, and is the last.
type line struct {
	Type         string                   `json:"type"`
	Record       *int                     `json:"record,omitempty"` // its position in the file, from 0; nil in older files
	Rank         *collective.Rank         `json:"rank,omitempty"`
	Communicator *collective.Communicator `json:"communicator,omitempty"`
	Node         *network.Node            `json:"node,omitempty"`
	Link         *network.Link            `json:"link,omitempty"`
	Step         *collective.StepRecord   `json:"step,omitempty"`
	Flow         *collective.Flow         `json:"flow,omitempty"`
	Path         *collective.Path         `json:"path,omitempty"`
	Port         *collective.PortReport   `json:"port,omitempty"`
	Pause        *collective.Pause        `json:"pause,omitempty"`
}

// Write writes a run: the fabric, ranks and communicators first.
func Write(w io.Writer, run *collective.Run) error {
	buffered := bufio.NewWriter(w)
	encoder := json.NewEncoder(buffered)
	var errs []error
	number := 0
	put := func(l line) {
		record := number
		l.Record = &record
		number++
		if len(errs) == 0 {
			if err := encoder.Encode(l); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if run.Fabric != nil {
		for i := range run.Fabric.Nodes {
			put(line{Type: "node", Node: &run.Fabric.Nodes[i]})
		}
		for i := range run.Fabric.Links {
			put(line{Type: "link", Link: &run.Fabric.Links[i]})
		}
	}
	for i := range run.Ranks {
		put(line{Type: "rank", Rank: &run.Ranks[i]})
	}
	for i := range run.Communicators {
		put(line{Type: "communicator", Communicator: &run.Communicators[i]})
	}
	for i := range run.Steps {
		put(line{Type: "step", Step: &run.Steps[i]})
	}
	for i := range run.Flows {
		put(line{Type: "flow", Flow: &run.Flows[i]})
	}
	for i := range run.Paths {
		put(line{Type: "path", Path: &run.Paths[i]})
	}
	for i := range run.Telemetry {
		put(line{Type: "port", Port: &run.Telemetry[i]})
	}
	for i := range run.Pauses {
		put(line{Type: "pause", Pause: &run.Pauses[i]})
	}
	put(line{Type: endType})
	return errors.Join(append(errs, buffered.Flush())...)
}

// Read reads the output of Write. name is the file's, for errors.
func Read(r io.Reader, name string) (collective.Run, error) {
	run := collective.Run{Fabric: &network.Fabric{}}
	lines := bufio.NewScanner(textmark.Skip(r))
	lines.Buffer(make([]byte, 1<<16), maxLine)
	s := newSequence()
	number := 0
	for lines.Scan() {
		number++
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		var l line
		err := json.Unmarshal(text, &l)
		if err == nil {
			err = s.take(&l, number, text)
		}
		if err != nil {
			return run, fmt.Errorf("%s:%d: %w; regenerate the run with giverny simulate collective", name, number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return run, fmt.Errorf("%s:%d: %w", name, number+1, err)
	}
	for _, l := range s.inOrder() {
		if err := add(&run, &l.line); err != nil {
			return run, fmt.Errorf("%s:%d: %w; regenerate the run with giverny simulate collective", name, l.number, err)
		}
	}
	if missing := s.missing(); missing != "" {
		run.Cut, run.LastRecord = true, fmt.Sprintf("%s:%d", name, number)
		run.Notes = append(run.Notes, name+": "+missing)
	}
	if len(run.Fabric.Nodes) == 0 {
		run.Fabric = nil
	}
	if len(run.Ranks) == 0 {
		return run, fmt.Errorf("%s:%d: no rank in the file: give the %s of a simulated collective", name, number, FileName)
	}
	return run, check(&run, name)
}

// add appends a record to its part of the run.
func add(run *collective.Run, l *line) error {
	switch {
	case l.Type == "rank" && l.Rank != nil:
		run.Ranks = append(run.Ranks, *l.Rank)
	case l.Type == "communicator" && l.Communicator != nil:
		run.Communicators = append(run.Communicators, *l.Communicator)
	case l.Type == "node" && l.Node != nil:
		run.Fabric.Nodes = append(run.Fabric.Nodes, *l.Node)
	case l.Type == "link" && l.Link != nil:
		run.Fabric.Links = append(run.Fabric.Links, *l.Link)
	case l.Type == "step" && l.Step != nil:
		run.Steps = append(run.Steps, *l.Step)
	case l.Type == "flow" && l.Flow != nil:
		run.Flows = append(run.Flows, *l.Flow)
	case l.Type == "path" && l.Path != nil:
		run.Paths = append(run.Paths, *l.Path)
	case l.Type == "port" && l.Port != nil:
		run.Telemetry = append(run.Telemetry, *l.Port)
	case l.Type == "pause" && l.Pause != nil:
		run.Pauses = append(run.Pauses, *l.Pause)
	default:
		return fmt.Errorf("type %q without a record of that name: want node, link, rank, communicator, step, flow, path, port or pause", l.Type)
	}
	return nil
}

// check validates that all references resolve.
func check(run *collective.Run, name string) error {
	for _, part := range references(run) {
		for i := range part.records {
			if !part.sound(i) {
				return fmt.Errorf("%s: %s %d refers to a rank, node or communicator that the file does not have", name, part.what, i)
			}
		}
	}
	return nil
}

// part is the records of one kind; sound reports whether a record's references resolve.
type part struct {
	what    string
	records int
	sound   func(i int) bool
}

func references(run *collective.Run) []part {
	var fabric network.Fabric
	if run.Fabric != nil {
		fabric = *run.Fabric
	}
	rank := func(r int) bool { return r >= 0 && r < len(run.Ranks) }
	maybeRank := func(r int32) bool { return r == collective.None || rank(int(r)) }
	node := func(n int) bool { return n >= 0 && n < len(fabric.Nodes) }
	return []part{
		{"rank", len(run.Ranks), func(i int) bool { return run.Ranks[i].Host == collective.None || node(run.Ranks[i].Host) }},
		{"communicator", len(run.Communicators), func(i int) bool {
			return !slices.ContainsFunc(run.Communicators[i].Members, func(m int) bool { return !rank(m) })
		}},
		{"step", len(run.Steps), func(i int) bool {
			s := &run.Steps[i]
			return rank(int(s.Rank)) && maybeRank(s.Peer) && maybeRank(s.AwaitsRank) && s.Communicator >= 0 && int(s.Communicator) < len(run.Communicators)
		}},
		{"flow", len(run.Flows), func(i int) bool { return node(run.Flows[i].Source) && node(run.Flows[i].Destination) }},
		{"path", len(run.Paths), func(i int) bool {
			p := &run.Paths[i]
			return node(p.Source) && node(p.Destination) && !slices.ContainsFunc(p.Ports, func(at network.Port) bool { return !node(at.Node) })
		}},
		{"port report", len(run.Telemetry), func(i int) bool {
			p := &run.Telemetry[i]
			return node(p.Switch) && !slices.ContainsFunc(p.Flows, func(f collective.FlowReport) bool { return !node(f.Source) || !node(f.Destination) })
		}},
		{"pause", len(run.Pauses), func(i int) bool { return node(run.Pauses[i].Node) }},
		{"link", len(fabric.Links), func(i int) bool { return node(fabric.Links[i].A) && node(fabric.Links[i].B) }},
	}
}
