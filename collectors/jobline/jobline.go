// Package jobline reads a job from a line of JSON, as the feed of jobs and giverny diagnose take it. A line goes in, a
// schema.Job under the line's own names of nodes comes out, its host lists expanded. It finds no devices.
package jobline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/schema"
)

// ErrNoStart is a job that has nodes, and does not say since when.
var ErrNoStart = errors.New(`no start; want one such as "2026-01-05T00:30:00Z", or no nodes while the job waits`)

const example = `{"job_id":"17","name":"PSDNS","user":"flow","nodes":["9,1,1"],"start":"2026-01-05T00:30:00Z"}`

// fieldError is a field of a form that its own decoder refuses, worded for a person.
type fieldError struct{ field, text, want string }

func (e *fieldError) Error() string { return fmt.Sprintf("%s %.40s: want %s", e.field, e.text, e.want) }

// line is what is read of a job.
type line struct {
	ID    id             `json:"job_id"`
	Name  string         `json:"name"`
	User  string         `json:"user"`
	Nodes list           `json:"nodes"`
	Start schema.Instant `json:"start"`
	End   schema.Instant `json:"end"`
	State string         `json:"state"`
}

// id is text, or the number that some schedulers write.
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

// list is a list of names, or one text.
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

// Parse reads a job. The id may be a number, the nodes one text, each of them a host list. A job without start waits
// and has no nodes; one that has ended may have lost its nodes, which are nil then. The error says what is wrong and
// what is wanted instead.
func Parse(text []byte) (schema.Job, error) {
	var in line
	if err := json.Unmarshal(text, &in); err != nil {
		return schema.Job{}, worded(err, text)
	}
	job := schema.Job{ID: string(in.ID), Name: in.Name, User: in.User, Start: in.Start, End: in.End, State: in.State}
	switch {
	case job.ID == "":
		return job, errors.New("no job_id; want a job such as " + example)
	case in.Nodes == nil && job.End == 0:
		return job, fmt.Errorf("job %q has no nodes; want a list of names, empty if it waits", job.ID)
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

// worded words a decoder's error for a person.
func worded(err error, text []byte) error {
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if kind.Field == "" {
			return fmt.Errorf("no JSON object but a JSON %s; want one job per line, such as %s", kind.Value, example)
		}
		return fmt.Errorf("field %s is a %s; want it as in %s", kind.Field, kind.Value, example)
	}
	if _, ok := errors.AsType[*fieldError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*schema.TimeError](err); ok {
		return err
	}
	if d := json.NewDecoder(bytes.NewReader(text)); d.Decode(&json.RawMessage{}) == nil && d.More() {
		return errors.New("more than one JSON value; want one job per line")
	}
	return fmt.Errorf("no JSON object: %w; want one job per line", err)
}
