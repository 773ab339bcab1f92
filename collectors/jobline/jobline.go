// Package jobline parses a job from a line of JSON, as read by the jobs feed and giverny diagnose. Input: a line.
// Output: a schema.Job with the line's own node names, its host lists expanded. It does not map them to devices.
package jobline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/schema"
)

// ErrNoStart means that a job has nodes but no start time.
var ErrNoStart = errors.New(`no start; want one such as "2026-01-05T00:30:00Z", or no nodes while the job is pending`)

const example = `{"job_id":"17","name":"PSDNS","user":"flow","nodes":["9,1,1"],"start":"2026-01-05T00:30:00Z"}`

// fieldError is a field rejected by its own decoder, with a message for people.
type fieldError struct{ field, text, want string }

func (e *fieldError) Error() string { return fmt.Sprintf("%s %.40s: want %s", e.field, e.text, e.want) }

// line is the JSON form of a job.
type line struct {
	ID    id     `json:"job_id"`
	Name  string `json:"name"`
	User  string `json:"user"`
	Nodes list   `json:"nodes"`
	Start moment `json:"start"`
	End   moment `json:"end"`
	State string `json:"state"`
}

// id is a string, or a number as some schedulers write.
type id string

func (i *id) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err == nil {
		*i = id(strings.TrimSpace(text))
		return nil
	}
	var number json.Number
	if err := json.Unmarshal(b, &number); err != nil {
		return &fieldError{"job_id", string(b), `text, as in "17"`}
	}
	*i = id(number)
	return nil
}

// moment is a time as text, or a number of seconds since 1970.
type moment string

func (m *moment) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err == nil {
		*m = moment(strings.TrimSpace(text))
		return nil
	}
	var number json.Number
	if err := json.Unmarshal(b, &number); err != nil {
		return &fieldError{"time", string(b), `text, as in "2026-01-05T00:30:00Z"`}
	}
	*m = moment(number)
	return nil
}

// list is a list of names, or a single string.
type list []string

func (l *list) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		*l = make([]string, 1)
		return json.Unmarshal(b, &(*l)[0])
	}
	if err := json.Unmarshal(b, (*[]string)(l)); err != nil {
		return &fieldError{"nodes", string(b), `a list of names, as in ["9,1,1"] or ["nid[00012-00095]"]`}
	}
	return nil
}

// Parse parses a job; times without a zone are in the given one, and refused if it is nil. The id may be a number; nodes may be a single string; each node may be a host list. A job
// without start is waiting and has no nodes; a job that has ended may have nil nodes, if they are no longer known.
// Errors say what is expected instead.
func Parse(text []byte, zone *time.Location) (schema.Job, error) {
	var in line
	if err := json.Unmarshal(text, &in); err != nil {
		return schema.Job{}, worded(err, text)
	}
	start, end, err := schema.ParseSpan(string(in.Start), string(in.End), zone, schema.ParseInstant)
	if err != nil {
		return schema.Job{}, err
	}
	job := schema.Job{ID: string(in.ID), Name: in.Name, User: in.User, Start: start, End: end, State: in.State}
	switch {
	case job.ID == "":
		return job, errors.New("no job_id; want a job such as " + example)
	case in.Nodes == nil && job.End == 0:
		return job, fmt.Errorf("job %q has no nodes; want a list of names, empty while it is pending", job.ID)
	case len(in.Nodes) > 0 && job.Start == 0:
		return job, fmt.Errorf("job %q: %w", job.ID, ErrNoStart)
	}
	names, err := nodes.Expand(in.Nodes)
	if err != nil {
		return job, fmt.Errorf("job %q: nodes: %w", job.ID, err)
	}
	job.Nodes = names
	return job, nil
}

// worded rephrases a decoder's error for people.
func worded(err error, text []byte) error {
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if kind.Field == "" {
			return fmt.Errorf("want a JSON object, not a JSON %s; one job per line, such as %s", kind.Value, example)
		}
		return fmt.Errorf("field %s is a %s; want it as in %s", kind.Field, kind.Value, example)
	}
	if _, ok := errors.AsType[*fieldError](err); ok {
		return err
	}
	if d := json.NewDecoder(bytes.NewReader(text)); d.Decode(&json.RawMessage{}) == nil && d.More() {
		return errors.New("more than one JSON value; want one job per line")
	}
	return fmt.Errorf("not a JSON object: %w; want one job per line, or CSV with the header job_id,name,user,nodes,start,end,state", err)
}
