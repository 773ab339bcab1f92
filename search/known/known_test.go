package known_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/search/known"
)

var jobs = []known.WorkloadConfig{
	{Jobs: []string{"nccl-*"}, Workload: []string{"direction=bi", "qps=512", "transport=RC_WRITE", "sizes=64, 1048576"}},
	{Jobs: []string{"*"}, Workload: []string{"transport=UD_SEND"}},
}

func TestCompare(t *testing.T) {
	const mfs = `{"direction":{"in":["bi"]},"qps":{"min":320},"sizes":{"any":[{"max":1024},{"min":65536}]}}`
	list := func(names ...string) []string { return append([]string{}, names...) }
	for _, c := range []struct {
		mfs, job string
		want     known.Match
	}{
		{mfs, "nccl-7", known.Match{known.Matches, list("direction", "qps", "sizes"), list(), list()}},
		{`{"qps":{"min":640},"mtu":{"max":512}}`, "nccl-7", known.Match{known.Different, list(), list("mtu"), list("qps")}},
		{`{"qps":{"min":320},"mtu":{"max":512}}`, "nccl-7", known.Match{known.MayMatch, list("qps"), list("mtu"), list()}},
		{`{"sizes":{"all":{"max":1024}}}`, "nccl-7", known.Match{known.Different, list(), list(), list("sizes")}},
		{`{"sizes":{"all":{"min":64,"max":1048576}}}`, "nccl-7", known.Match{known.Matches, list("sizes"), list(), list()}},
		{`{"transport":{"in":["RC_WRITE","RC_READ"]}}`, "other", known.Match{known.Different, list(), list(), list("transport")}},
		{`{"sizes":{"all":{"max":"64KB"}}}`, "nccl-7", known.Match{known.Different, list(), list(), list("sizes")}},
		{`{"sizes":{"any":[{"min":"1MiB"}]}}`, "nccl-7", known.Match{known.Matches, list("sizes"), list(), list()}},
		{`{}`, "other", known.Match{known.Matches, list(), list(), list()}},
	} {
		got, err := known.Compare(json.RawMessage(c.mfs), known.WorkloadOf(jobs, c.job))
		if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
			t.Errorf("%s of %s: %v %s", c.mfs, c.job, err, diff)
		}
	}
	if _, err := known.Compare(json.RawMessage(`[`), nil); err == nil {
		t.Error("an MFS that is no JSON passes")
	}
	if w := known.WorkloadOf(jobs[:1], "other"); w != nil {
		t.Errorf("a job of another name has the workload %v", w)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []known.WorkloadConfig{{}, {Jobs: []string{"["}, Workload: []string{"qps=1"}}, {Jobs: []string{"a"}}, {Jobs: []string{"a"}, Workload: []string{"qps"}}} {
		if c.Validate() == nil {
			t.Errorf("%+v is valid", c)
		}
	}
	for i := range jobs {
		if err := jobs[i].Validate(); err != nil {
			t.Error(err)
		}
	}
}
