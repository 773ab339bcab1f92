package jobline_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/collectors/jobline"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		line, id string
		nodes    []string
	}{
		{`{"job_id":"1","nodes":["9,1,1","10,1,1"],"start":"2026-01-05T00:00:00Z"}`, "1", []string{"9,1,1", "10,1,1"}},
		{`{"job_id":2,"nodes":["a"],"start":"2026-01-05T00:00:00Z"}`, "2", []string{"a"}},
		{`{"job_id":"3","nodes":"a[1-2],b1","start":"2026-01-05T00:00:00Z"}`, "3", []string{"a1", "a2", "b1"}},
		{`{"job_id":"4","nodes":"a1,b1","start":"2026-01-05T00:00:00Z"}`, "4", []string{"a1", "b1"}},
		{`{"job_id":"5","nodes":[]}`, "5", []string{}},
		{`{"job_id":"5","nodes":["a"],"start":1767571200,"end":null}`, "5", []string{"a"}},
		{`{"job_id":"6","start":"2026-01-05T00:00:00Z","end":"2026-01-05T01:00:00Z"}`, "6", nil},
	} {
		job, err := jobline.Parse([]byte(c.line), nil)
		if err != nil || job.ID != c.id {
			t.Errorf("%s: %+v, %v", c.line, job, err)
		}
		if diff := cmp.Diff(c.nodes, job.Nodes); diff != "" {
			t.Errorf("%s: nodes (-want +got):\n%s", c.line, diff)
		}
	}
}

func TestParseFaults(t *testing.T) {
	for line, want := range map[string]string{
		`{bad`:                      "not a JSON object",
		`[{"job_id":"1"}]`:          "want a JSON object, not a JSON array; one job per line",
		`{"job_id":"1"} {}`:         "more than one JSON value",
		`{"nodes":[]}`:              "no job_id",
		`{"job_id":[1],"nodes":[]}`: "job_id [1]: want text",
		`{"job_id":"1","nodes":7}`:  "nodes 7: want a list",
		`{"job_id":"1"}`:            `job "1" has no nodes`,
		`{"job_id":"1","nodes":["a"],"start":"noon"}`:                    `time "noon": want RFC 3339`,
		`{"job_id":"1","nodes":["a"],"start":"0001-01-01T00:00:00Z"}`:    `want a year from 1678 to 2261`,
		`{"job_id":"1","nodes":["a"],"start":"2026-01-05T00:00:00"}`:     `want RFC 3339`,
		`{"job_id":"1","nodes":["a"],"start":1767571200000}`:             `not milliseconds`,
		`{"job_id":"1","nodes":["a"],"start":[1]}`:                       `time [1]: want text`,
		`{"job_id":"1","name":["time "]}`:                                "field name is a array; want it as in",
		`{"job_id":"1","nodes":["a"]}`:                                   `job "1": no start`,
		`{"job_id":"1","nodes":["a[1-"],"start":"2026-01-05T00:00:00Z"}`: `job "1": nodes: `,
	} {
		_, err := jobline.Parse([]byte(line), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
		if got := errors.Is(err, jobline.ErrNoStart); got != strings.Contains(want, "no start") {
			t.Errorf("%s: ErrNoStart %v", line, got)
		}
	}
}
