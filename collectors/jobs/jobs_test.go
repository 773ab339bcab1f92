package jobs_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/collectors/jobs"
	"github.com/giverny/giverny/internal/test/repo"
	"github.com/giverny/giverny/schema"
)

// at is a time on January 5, 2026, UTC.
func at(clock string) schema.Instant {
	if clock == "" {
		return 0
	}
	t, err := time.Parse("2006-01-02 15:04", "2026-01-05 "+clock)
	if err != nil {
		panic(err)
	}
	return schema.Instant(t.UnixNano())
}

func row(id, name, user, state, start, end string, phase jobs.Phase, hosts ...string) jobs.Row {
	return jobs.Row{Phase: phase, Job: schema.Job{ID: id, Name: name, User: user, State: state, Start: at(start), End: at(end), Nodes: hosts}}
}

// anyPlace compares rows independent of their place.
var anyPlace = cmpopts.IgnoreFields(jobs.Row{}, "Place")

func TestRecordedSlurmrestd(t *testing.T) {
	in, err := os.Open(repo.Fixture(t, "jobs", "slurmrestd", "jobs.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	list, err := jobs.ReadSlurmJSON(in, "jobs.json", jobs.SlurmOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !list.Complete || len(list.Rows) != 3 || list.Dropped != nil {
		t.Fatalf("complete %v, %d rows, dropped %v", list.Complete, len(list.Rows), list.Dropped)
	}
	// end_time of a running job is its limit, not its end.
	want := jobs.Row{Phase: jobs.Running, Job: schema.Job{ID: "20464", Name: "gridjob", User: "atl001", Nodes: []string{"naboo222"}, State: "RUNNING", Start: 1722989851e9}}
	if diff := cmp.Diff(want, list.Rows[0], anyPlace); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The same job in the formats of the API versions.
func TestSlurmVersions(t *testing.T) {
	want := row("100_3", "psdns", "flow", "RUNNING", "00:30", "", jobs.Running, "n1", "n2")
	start, limit := int64(at("00:30"))/1e9, int64(at("09:30"))/1e9
	for version, text := range map[string]string{
		"v0.0.36": fmt.Sprintf(`{"job_id":103,"array_job_id":100,"array_task_id":3,"name":"psdns","user_name":"flow","job_state":"RUNNING","start_time":%d,"end_time":%d,
			"nodes":"","job_resources":{"allocated_hosts":2,"allocated_nodes":{"0":{"nodename":"n1"},"1":{"nodename":"n2"}}}}`, start, limit),
		"v0.0.38": fmt.Sprintf(`{"job_id":103,"array_job_id":100,"array_task_id":3,"name":"psdns","user_name":"flow","job_state":"RUNNING","start_time":%d,"end_time":%d,
			"nodes":"n[1-2]"}`, start, limit),
		"v0.0.39": fmt.Sprintf(`{"job_id":103,"array_job_id":{"set":true,"infinite":false,"number":100},"array_task_id":{"set":true,"infinite":false,"number":3},"name":"psdns",
			"user_name":"flow","job_state":"RUNNING","start_time":%d,"end_time":%d,"nodes":"","job_resources":{"nodes":"n[1-2]","allocated_cores":4}}`, start, limit),
		"v0.0.40": fmt.Sprintf(`{"job_id":103,"array_job_id":{"set":true,"infinite":false,"number":100},"array_task_id":{"set":true,"infinite":false,"number":3},"name":"psdns",
			"user_name":"flow","job_state":["RUNNING"],"start_time":{"set":true,"infinite":false,"number":%d},"end_time":{"set":true,"infinite":false,"number":%d},
			"nodes":"","job_resources":{"select_type":["CPU"],"nodes":{"count":2,"select_type":["AVAILABLE"],"list":"n[1-2]","whole":false}}}`, start, limit),
		"v0.0.41": fmt.Sprintf(`{"job_id":103,"array_job_id":{"set":true,"number":100},"array_task_id":{"set":true,"number":3},"name":"psdns","user_name":"flow",
			"job_state":["RUNNING"],"start_time":{"set":true,"number":%d},"end_time":{"set":false,"infinite":true,"number":0},
			"job_resources":{"nodes":{"count":2,"list":"","allocation":[{"index":0,"name":"n1"},{"index":1,"name":"n2"}]}}}`, start),
		"slurmdbd": fmt.Sprintf(`{"job_id":103,"array":{"job_id":100,"task_id":{"set":true,"infinite":false,"number":3}},"name":"psdns","user":"flow",
			"state":{"current":["RUNNING"],"reason":"None"},"time":{"start":%d,"end":0},"nodes":"n[1-2]"}`, start),
	} {
		list, err := jobs.ReadSlurmJSON(strings.NewReader(`{"meta":{"a":[{}]},"jobs":[`+text+`],"errors":[],"warnings":[]}`), version, jobs.SlurmOptions{})
		if err != nil {
			t.Errorf("%s: %v", version, err)
			continue
		}
		if diff := cmp.Diff([]jobs.Row{want}, list.Rows, anyPlace); diff != "" {
			t.Errorf("%s (-want +got):\n%s", version, diff)
		}
	}
}

func TestSlurmJSON(t *testing.T) {
	job := func(fields string) string { return `{"job_id":7,"start_time":1767573000,"nodes":"n1",` + fields + `}` }
	for _, c := range []struct {
		name, text string
		want       []jobs.Row
		dropped    uint64
		err        string
	}{
		{"completing, its end known", `{"jobs":[` + job(`"job_state":["COMPLETING"],"end_time":1767573600`) + `]}`,
			[]jobs.Row{row("7", "", "", "COMPLETING", "00:30", "00:40", jobs.Ended, "n1")}, 0, ""},
		{"waits, with a guess of its start", `{"jobs":[` + job(`"job_state":"PENDING"`) + `]}`, []jobs.Row{row("7", "", "", "PENDING", "", "", jobs.Waiting)}, 0, ""},
		{"requeued and waiting", `{"jobs":[` + job(`"job_state":["PENDING","REQUEUED"]`) + `]}`, []jobs.Row{row("7", "", "", "PENDING,REQUEUED", "", "", jobs.Waiting)}, 0, ""},
		{"heterogeneous", `{"jobs":[` + job(`"job_state":"RUNNING","het_job_id":5,"het_job_offset":2,"user_id":1000`) + `]}`, []jobs.Row{row("5+2", "", "1000", "RUNNING", "00:30", "", jobs.Running, "n1")}, 0, ""},
		{"one that is no object", `{"jobs":[17,` + job(`"job_state":"RUNNING"`) + `]}`, []jobs.Row{row("7", "", "", "RUNNING", "00:30", "", jobs.Running, "n1")}, 1, ""},
		{"one without an id", `{"jobs":[{"job_state":"RUNNING"}]}`, nil, 1, ""},
		{"a list of nodes that is none", `{"jobs":[{"job_id":7,"job_state":"RUNNING","start_time":1767573000,"nodes":"n[1-"}]}`, nil, 1, ""},
		{"cancelled before it started", `{"jobs":[{"job_id":7,"job_state":"CANCELLED","start_time":0,"end_time":1767573000}]}`, []jobs.Row{row("7", "", "", "CANCELLED", "", "", jobs.Waiting)}, 0, ""},
		{"times in milliseconds", `{"jobs":[{"job_id":7,"job_state":"RUNNING","start_time":1767573000000,"nodes":"n1"}]}`, nil, 1, ""},
		{"none", `{"jobs":[]}`, nil, 0, ""},
		{"null", `{"jobs":null}`, nil, 0, ""},
		{"cut off", `{"jobs":[` + job(`"job_state":"RUNNING"`) + `,{"job_`, []jobs.Row{row("7", "", "", "RUNNING", "00:30", "", jobs.Running, "n1")}, 0, "unexpected EOF"},
		{"an error", `{"errors":[{"error":"slurm_load_jobs","description":"Unable to contact slurm controller"}],"jobs":[]}`, nil, 0, "Unable to contact"},
		{"something else", `{"nodes":[]}`, nil, 0, `no key "jobs"`},
		{"no JSON", `slurm_load_jobs error`, nil, 0, "invalid character"},
	} {
		list, err := jobs.ReadSlurmJSON(strings.NewReader(c.text), c.name, jobs.SlurmOptions{})
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
		if diff := cmp.Diff(c.want, list.Rows, anyPlace); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if n := list.Dropped[feeds.Malformed] + list.Dropped[feeds.NoTime]; n != c.dropped || list.Complete != (c.err == "") {
			t.Errorf("%s: %d dropped, want %d; complete %v", c.name, n, c.dropped, list.Complete)
		}
	}
}

func TestTables(t *testing.T) {
	want := []jobs.Row{
		row("17", "PSDNS", "flow", "", "00:30", "01:10", jobs.Ended, "9,1,1", "10,1,1"),
		row("18", "", "", "", "00:31", "", jobs.Running, "nid00012", "nid00013"),
	}
	for format, text := range map[string]string{
		"jsonl": `{"job_id":"17","name":"PSDNS","user":"flow","nodes":["9,1,1","10,1,1"],"start":"2026-01-05T00:30:00Z","end":"2026-01-05T01:10:00Z"}

{"job_id":"18","nodes":["nid[00012-00013]"],"start":"2026-01-05T01:31:00+01:00"}
{"job_id":"19","nodes":["a[1-"],"start":"2026-01-05T00:31:00Z"}
{"job_id":}
`,
		"csv": "job_id,start,end,nodes,name,user\n17,2026-01-05T00:30:00Z,2026-01-05 01:10:00,\"9,1,1 10,1,1\",PSDNS,flow\n18,1767573060,,nid[00012-00013],,\n19,soon,,n1,,\n20,2026-01-05T00:30:00Z,,a[1-,,\n",
	} {
		list, err := jobs.Read(strings.NewReader(text), format, jobs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, list.Rows, anyPlace); diff != "" {
			t.Errorf("%s (-want +got):\n%s", format, diff)
		}
		n := uint64(0)
		for _, k := range list.Dropped {
			n += k
		}
		if n != 2 {
			t.Errorf("%s: dropped %v, want 2", format, list.Dropped)
		}
	}
}

// No input causes a panic, and every result is usable.
func FuzzRead(f *testing.F) {
	sacct, err := os.ReadFile(filepath.Join("testdata", "sacct.txt"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sacct)
	f.Add([]byte(`{"job_id":"17","nodes":["9,1,1"],"start":"2026-01-05T00:30:00Z"}`))
	f.Add([]byte(`{"meta":{},"jobs":[{"job_id":1,"nodes":"n[1-2]","start_time":{"set":true,"number":5},"job_state":["RUNNING"]}]}`))
	f.Add([]byte("job_id,start,end,nodes\n1,1767573060,,a b\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, format := range append(jobs.Formats(), "") {
			list, _ := jobs.Read(bytes.NewReader(text), "fuzz", jobs.Options{Format: format})
			for _, r := range list.Rows {
				if r.Job.ID == "" || r.Phase == jobs.Running && (r.Job.End != 0 || r.Job.Start == 0) || strings.ContainsAny(r.Job.Name, "\n\x00") {
					t.Fatalf("%s: %+v", format, r)
				}
			}
		}
	})
}

// A queue of 10,000 jobs on 4 nodes each.
func BenchmarkReadSlurmJSON(b *testing.B) {
	var text bytes.Buffer
	text.WriteString(`{"jobs":[`)
	for i := range 10_000 {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `{"account":"","job_id":%d,"name":"job","user_name":"u","job_state":["RUNNING"],"start_time":{"set":true,"infinite":false,"number":1767573000},"nodes":"n[%d-%d]","flags":["A","B"]}`, i+1, i, i+3)
	}
	text.WriteString(`],"errors":[]}`)
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		list, err := jobs.ReadSlurmJSON(bytes.NewReader(text.Bytes()), "bench", jobs.SlurmOptions{})
		if err != nil || len(list.Rows) != 10_000 {
			b.Fatal(len(list.Rows), err)
		}
		tracker := newTracker(0, 20_000)
		tracker.Update(&list, time.Unix(1767573060, 0))
	}
}

// The feed accepts the same rows as giverny diagnose, and reports the location and the problem of others.
func TestFormsOfRows(t *testing.T) {
	for text, want := range map[string][]string{
		"\ufeff" + `{"job_id":"1","nodes":["a1"],"start":"2026-01-05T00:30:00Z"}`:    {"a1"},
		`{"job_id":2,"nodes":["a1"],"start":"2026-01-05T00:30:00Z"}`:                 {"a1"},
		`{"job_id":"3","nodes":"a[1-2],b1","start":"2026-01-05T00:30:00Z"}`:          {"a1", "a2", "b1"},
		"\ufeffjob_id,nodes,start\n4,\"luna-0534,luna-0535\",2026-01-05T00:30:00Z\n": {"luna-0534", "luna-0535"},
		"job_id,nodes,start\n5,\"9,1,1 10,1,1\",2026-01-05T00:30:00Z\n":              {"9,1,1", "10,1,1"},
	} {
		list, err := jobs.Read(strings.NewReader(text), "f", jobs.Options{})
		if err != nil || len(list.Rows) != 1 || len(list.Faults) != 0 {
			t.Errorf("%s: %+v, %v", text, list, err)
			continue
		}
		if diff := cmp.Diff(want, list.Rows[0].Job.Nodes); diff != "" {
			t.Errorf("%s: nodes (-want +got):\n%s", text, diff)
		}
	}
	for text, want := range map[string]feeds.Fault{
		"\n{bad\n":                     {Where: "f:2", Reason: feeds.Malformed, Detail: "not a JSON object"},
		`{"job_id":"1","nodes":["a"]}`: {Where: "f:1", Reason: feeds.NoTime, Detail: "no start"},
		"job_id,nodes,start\n1,a,2026-01-05T00:30:00Z\n2,a,noon\n":                    {Where: "f:3", Reason: feeds.NoTime, Detail: `start "noon"`},
		"job_id,nodes,start,end\n1,a,2026-01-05T00:30:00Z\n2,b\n":                     {Where: "f:3", Reason: feeds.Malformed, Detail: "2 fields where the header has 4"},
		"JobID|State|Start|End|NodeList\n17|RUNNING|2026-01-05T00:30:00|Unknown|n[1-": {Where: "f:2", Reason: feeds.Malformed, Detail: "job 17: nodes"},
		`{"jobs":[{"job_id":1},{"job_id":2,"nodes":"n[1-"}]}`:                         {Where: "f: job 2", Reason: feeds.Malformed, Detail: "job 2: nodes"},
	} {
		format := ""
		if strings.HasPrefix(text, "\n") || strings.HasPrefix(text, `{"job_id"`) {
			format = "jsonl"
		}
		list, err := jobs.Read(strings.NewReader(text), "f", jobs.Options{Format: format})
		if err != nil || len(list.Faults) != 1 || list.Dropped[want.Reason] != 1 {
			t.Errorf("%s: %+v, %v", text, list, err)
			continue
		}
		got := list.Faults[0]
		if got.Where != want.Where || got.Reason != want.Reason || !strings.Contains(got.Detail, want.Detail) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// In the hour repeated by a clock change, a job whose end seems to precede its start is read in the only possible order.
func TestTimesInTheHourThatClocksRepeat(t *testing.T) {
	for _, c := range []struct{ zone, start, end, wantStart, wantEnd string }{
		{"Europe/Berlin", "2026-10-25T02:50:00", "2026-10-25T02:10:00", "2026-10-25T00:50:00Z", "2026-10-25T01:10:00Z"},
		{"Europe/Berlin", "2026-10-25T02:50:00+01:00", "2026-10-25T02:10:00", "2026-10-25T01:50:00Z", "2026-10-25T01:10:00Z"}, // a zone is explicit
		{"Europe/Berlin", "2026-10-24T02:50:00", "2026-10-24T02:10:00", "2026-10-24T00:50:00Z", "2026-10-24T00:10:00Z"},       // on any other day
		{"Europe/Berlin", "2026-03-29T01:50:00", "2026-03-29T03:10:00", "2026-03-29T00:50:00Z", "2026-03-29T01:10:00Z"},
		{"Europe/Berlin", "2026-10-25T02:10:00", "2026-10-26T02:10:00", "2026-10-25T01:10:00Z", "2026-10-26T01:10:00Z"},
		{"America/New_York", "2026-11-01T01:50:00", "2026-11-01T01:10:00", "2026-11-01T05:50:00Z", "2026-11-01T06:10:00Z"},
		{"Australia/Lord_Howe", "2026-04-05T01:50:00", "2026-04-05T01:35:00", "2026-04-04T14:50:00Z", "2026-04-04T15:05:00Z"}, // half an hour
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		for format, text := range map[string]string{
			"sacct": "JobID|State|Start|End|NodeList\n1|COMPLETED|" + c.start + "|" + c.end + "|n1\n",
			"csv":   "job_id,nodes,start,end\n1,n1," + c.start + "," + c.end + "\n",
			"jsonl": `{"job_id":"1","nodes":["n1"],"start":"` + c.start + `","end":"` + c.end + `"}`,
		} {
			list, err := jobs.Read(strings.NewReader(text), "file", jobs.Options{Format: format, Zone: zone})
			if err != nil || len(list.Rows) != 1 {
				t.Fatalf("%s: %v, %v", format, list.Rows, err)
			}
			job := list.Rows[0].Job
			start, end := job.Start.Time().Format(time.RFC3339), job.End.Time().Format(time.RFC3339)
			if start != c.wantStart || end != c.wantEnd {
				t.Errorf("%s: %s: %s to %s is read as %s to %s, want %s to %s", format, c.zone, c.start, c.end, start, end, c.wantStart, c.wantEnd)
			}
		}
	}
}

// A job or its user may be named like the key of a list.
func TestAJobThatIsNamedJobs(t *testing.T) {
	line := `{"job_id":"17","name":"jobs","user":"jobs","nodes":["n1"],"start":"2026-01-05T00:30:00Z"}`
	list, err := jobs.Read(strings.NewReader(line), "file", jobs.Options{})
	if err != nil || len(list.Rows) != 1 || list.Rows[0].Job.ID != "17" {
		t.Errorf("%v, %v", list.Rows, err)
	}
	list, err = jobs.Read(strings.NewReader(`{"jobs" : [{"job_id":17,"job_state":"RUNNING","start_time":1767571200,"nodes":"n1"}]}`), "file", jobs.Options{})
	if err != nil || len(list.Rows) != 1 {
		t.Errorf("on one line: %v, %v", list.Rows, err)
	}
}

// A table as saved by a spreadsheet: semicolons or tabs, a byte order mark, Windows line ends, times without seconds.
func TestTablesOfSpreadsheets(t *testing.T) {
	want := []jobs.Row{row("17", "PS\nDNS, big", "flow", "", "00:30", "", jobs.Running, "n1", "n2"), row("18", "x", "u", "", "00:10", "00:20", jobs.Ended, "n3")}
	want[0].Job.Name = "PS DNS, big" // as every name, on one line
	for _, comma := range []string{";", "\t"} {
		text := "\ufeff" + strings.NewReplacer("|", comma, "\n", "\r\n").Replace("job_id|name|user|nodes|start|end\n17|\"PS\nDNS, big\"|flow|n[1-2]|2026-01-05 00:30|\n"+
			"18|x|u|n3|2026-01-05T00:10:00Z|2026-01-05 00:20:00\n")
		list, err := jobs.Read(strings.NewReader(text), "f", jobs.Options{})
		if err != nil || list.Dropped != nil {
			t.Errorf("%q: %v, %v", comma, list.Faults, err)
		}
		if diff := cmp.Diff(want, list.Rows, anyPlace); diff != "" {
			t.Errorf("%q (-want +got):\n%s", comma, diff)
		}
	}
}

// An unclosed quotation mark in a CSV is a counted drop; the nodes of a job may span several lines.
func TestAQuotationMarkLeftOpen(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		rows    int
		dropped uint64
	}{
		"of the id":                       {"job_id,nodes,start\n\"17,n1,2026-01-05T00:30:00Z\n18,n2,2026-01-05T00:30:00Z\n", 0, 1},
		"of the nodes":                    {"job_id,nodes,start\n17,\"n1,2026-01-05T00:30:00Z\n18,n2,2026-01-05T00:30:00Z\n", 0, 1},
		"of the name":                     {"job_id,nodes,start,name\n17,n1,2026-01-05T00:30:00Z,\"PSDNS\n18,n2,2026-01-05T00:30:00Z,x\n", 0, 1},
		"of a name, up to the next row's": {"job_id,name,nodes,start\n17,\"a,n1,2026-01-05T00:30:00Z\n18,\"b\",n2,2026-01-05T00:30:00Z\n", 0, 1},
		"none":                            {"job_id,nodes,start,name\n17,\"n1\nn2\",2026-01-05T00:30:00Z,\"5\"\" disk\"\n", 1, 0},
	} {
		list, err := jobs.Read(strings.NewReader(c.text), "jobs.csv", jobs.Options{Format: "csv"})
		if err != nil || len(list.Rows) != c.rows || list.Dropped[feeds.Malformed] != c.dropped {
			t.Errorf("%s: %d rows, dropped %v, %v", name, len(list.Rows), list.Dropped, err)
		}
	}
}

func TestAnEmptyFile(t *testing.T) {
	if _, err := jobs.Read(strings.NewReader(""), "f", jobs.Options{}); err == nil || err.Error() != "f:1: it is empty; want a header: job_id,name,user,nodes,start,end,state" {
		t.Error(err)
	}
}
