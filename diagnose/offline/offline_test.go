package offline_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/diagnose/offline"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

const (
	someLinks = "time,link,credit\n2026-01-05T00:00:00Z,0,1\n2026-01-05T00:01:00Z,0,1\n2026-01-05T00:02:00Z,0,1\n"
	someJob   = `{"job_id":"17","name":"PSDNS","user":"flow","nodes":["1,1,1","2,1,1"],"start":"2026-01-05T00:00:30Z","end":"2026-01-05T00:02:10Z"}`
)

func file(name, text string) *offline.File {
	return &offline.File{Name: name, Reader: strings.NewReader(text)}
}

// outcome is what a run reported: the notes and the results.
type outcome struct {
	notes   []string
	results []*schema.IntervalResult
}

func run(t *testing.T, spec string, files offline.Files, skipUnknown bool) (o outcome, err error) {
	t.Helper()
	g, err := topology.Parse("test", spec)
	if err != nil {
		t.Fatal(err)
	}
	cfg := offline.Config{Interval: time.Minute, Analysis: analysis.DefaultConfig(), SkipUnknown: skipUnknown, Zone: time.FixedZone("", 3600)}
	err = offline.Run(g, cfg, files, func(note string) { o.notes = append(o.notes, note) },
		func(r *schema.IntervalResult) error { o.results = append(o.results, r); return nil })
	return o, err
}

// said lists, per interval, the jobs, failures and traffic that came with it.
func (o *outcome) said() (lines []string) {
	for _, r := range o.results {
		var sb strings.Builder
		sb.WriteString(schema.Instant(r.Snapshot.Interval.StartNanos).Time().Format(time.TimeOnly) + ":")
		for _, j := range r.Jobs {
			fmt.Fprintf(&sb, " job %s on %v, ended %v;", j.ID, j.Nodes, j.End != 0)
		}
		for _, f := range r.Failures {
			fmt.Fprintf(&sb, " %s %s %s;", f.Kind, f.Device, f.Port)
		}
		for _, row := range r.Traffic {
			fmt.Fprintf(&sb, " traffic of %s:", row.JobID)
			for _, v := range []*float64{row.Read, row.Write, row.RDMARead, row.RDMAWrite} {
				if v == nil {
					sb.WriteString(" -")
				} else {
					fmt.Fprintf(&sb, " %g", *v)
				}
			}
			sb.WriteString(";")
		}
		lines = append(lines, sb.String())
	}
	return lines
}

// Every record comes with the interval in which it happened; a job's end is not known before it ends.
func TestWhatComesWithWhichInterval(t *testing.T) {
	var jobs bytes.Buffer
	zipped := gzip.NewWriter(&jobs)
	_, _ = zipped.Write([]byte(someJob + "\n\n" + `{"job_id":4,"nodes":["nid[00002-00003]"],"start":"2026-01-04T00:00:00Z"}` + "\n" + `{"job_id":"5","nodes":[],"start":""}` + "\n"))
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	o, err := run(t, "torus:4x4x4", offline.Files{
		Links: file("links.csv", someLinks),
		Jobs:  &offline.File{Name: "jobs.jsonl.gz", Reader: &jobs},
		Traffic: file("traffic.csv", "\ufefftime,job_id,rdma_read_bytes,read_bytes,write_bytes,rdma_write_bytes\n"+
			"2026-01-05T00:01:00Z,17,2e9,,,0\n2026-01-05T00:00:00Z,17,1e9,5,,\n2026-01-05T00:01:00Z,99,1,,,\n"),
		Failures: file("failures.tsv", "time\tkind\tdevice\tport\tdetail\n2026-01-05T00:02:59Z\tprotection\t\t\tall NICs\n2026-01-05T00:00:01Z\tlink_failed\t3,3,3\tX+\tlink down\n"+
			"# by hand\n2026-01-05T00:02:00Z\tnode_failed\tnid00002\n"),
		NodeMap: file("map.tsv", "nid00002\t2,0,0\nnid00003\t3,0,0\n"),
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"00:00:00: job 4 on [2,0,0 3,0,0], ended false; job 17 on [1,1,1 2,1,1], ended false; link_failed 3,3,3 X+; traffic of 17: 5 - 1e+09 -;",
		"00:01:00: traffic of 17: - - 2e+09 0; traffic of 99: - - 1 -;",
		"00:02:00: job 17 on [1,1,1 2,1,1], ended true; node_failed 2,0,0 ; congestion_protection  ;",
	}
	if diff := cmp.Diff(want, o.said()); diff != "" {
		t.Error(diff)
	}
	if want := []string{`traffic.csv: job "99" has traffic, and is not in the jobs`}; !cmp.Equal(o.notes, want) {
		t.Errorf("notes %q, want %q", o.notes, want)
	}
}

// A run of a requeued job whose end is missing ends when the job starts again.
func TestARequeuedJob(t *testing.T) {
	const line = `{"job_id":"7","nodes":["1,1,1"],"start":"2026-01-05T00:0%d:00Z"}` + "\n"
	o, err := run(t, "torus:4x4x4", offline.Files{Links: file("links.csv", someLinks), Jobs: file("jobs.jsonl", fmt.Sprintf(line, 2)+fmt.Sprintf(line, 0))}, false)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"00:00:00: job 7 on [1,1,1], ended false;", "00:01:00:", "00:02:00: job 7 on [1,1,1], ended true; job 7 on [1,1,1], ended false;"}
	if diff := cmp.Diff(want, o.said()); diff != "" {
		t.Error(diff)
	}
}

func TestRefuses(t *testing.T) {
	links := func(text string) offline.Files { return offline.Files{Links: file("links.csv", text)} }
	with := func(change func(*offline.Files)) offline.Files {
		f := links(someLinks)
		change(&f)
		return f
	}
	jobs := func(text string) offline.Files {
		return with(func(f *offline.Files) { f.Jobs = file("jobs.jsonl", text) })
	}
	traffic := func(text string) offline.Files {
		return with(func(f *offline.Files) { f.Traffic = file("traffic.csv", text) })
	}
	failures := func(text string) offline.Files {
		return with(func(f *offline.Files) { f.Failures = file("failures.tsv", text) })
	}
	const header = "time,job_id,read_bytes,write_bytes,rdma_read_bytes,rdma_write_bytes\n"
	for _, c := range []struct {
		files offline.Files
		want  string
	}{
		{links("link,credit\n0,1\n"), "links.csv:1: links table: no column time"},
		{links("time,link,credit\n"), "links.csv: links table has no rows"},
		{links("time,link,credit\n2026-01-05T00:00:00Z,0,1\n2026-01-05T00:00:30.5Z,0,1\n"), "comes 30.5s after the one before, and intervals are of 1m0s: intervals begin whole seconds apart"},
		{links("time,link,credit\n2026-01-05T00:00:00Z,0,1\n2026-01-05T00:00:30Z,0,1\n"), "comes 30s after the one before, and intervals are of 1m0s: give --interval 30s"},
		{links("time,link,credit\n2026-01-05T00:00:00Z,192,1\n"), "links.csv: links table, line 2: link \"192\""},
		{links("time,link,credit\n2026-01-05T00:01:00Z,0,1\n2026-01-05T00:00:00Z,0,1\n"), "line 3: time 2026-01-05T00:00:00Z comes after"},
		{jobs("{\n"), "jobs.jsonl:1: not a JSON object"},
		{jobs("id,hosts,begin\n"), "one job per line, or CSV with the header job_id,name,user,nodes,start,end,state"},
		{jobs(someJob + "\n[]\n"), "jobs.jsonl:2: "},
		{jobs(`{"nodes":[]}`), "jobs.jsonl:1: no job_id"},
		{jobs(`{"job_id":"1"}`), `job "1" has no nodes`},
		{jobs(`{"job_id":"1","nodes":[1]}`), "jobs.jsonl:1: nodes [1]: want a list of names"},
		{jobs(`{"job_id":"1","nodes":[],"start":"noon"}`), "jobs.jsonl:1: time \"noon\": want RFC 3339"},
		{jobs(`{"job_id":"1","name":7,"nodes":[]}`), "jobs.jsonl:1: field name is a number"},
		{jobs(`{"job_id":"1","nodes":["9,9,9"],"start":"2026-01-05T00:00:00Z"}`), `jobs.jsonl:1: job "1": node "9,9,9" is no device of the topology; its devices are named like "0,0,0": give --node-map`},
		{jobs(`{"job_id":"1","nodes":["01,2,3"],"start":"2026-01-05T00:00:00Z"}`), `node "01,2,3" is no device of the topology; did you mean "1,2,3"? give --node-map`},
		{jobs(`{"job_id":"1","nodes":["n[1-"],"start":"2026-01-05T00:00:00Z"}`), `jobs.jsonl:1: job "1": nodes: `},
		{jobs(`{"job_id":"1","nodes":[],"start":"2026-01-05T00:01:00Z","end":"2026-01-05T00:00:00Z"}`), "before it starts"},
		{jobs(someJob + "\n{\"job_id\":\"1\",\"name\":\"caf\xe9\",\"nodes\":[]}\n"), "jobs.jsonl:2: byte 26 is not UTF-8"},
		{traffic(""), "traffic.csv:1: it is empty"},
		{traffic("time,read_bytes\n"), "traffic.csv:1: no column job_id"},
		{traffic("\xff\xfet\x00i\x00m\x00e\x00\n\x00"), "traffic.csv:1: field 1, byte 1 is not UTF-8; convert the file"},
		{traffic("time,job_id\n"), "traffic.csv:1: no column of bytes"},
		{traffic("time,job_id,read_bytes,read_bytes\n"), "traffic.csv:1: column read_bytes is duplicated"},
		{traffic(header + "2026-01-05T00:00:00Z,17,1,2,3\n"), "traffic.csv:2: 5 fields where the header has 6; complete the row"},
		{traffic(header + "soon,17,1,2,3,4\n"), "traffic.csv:2: column time: time \"soon\""},
		{traffic(header + ",17,1,2,3,4\n"), "traffic.csv:2: column time: it is empty"},
		{traffic(header + "2026-01-05T00:00:00Z,,1,2,3,4\n"), "traffic.csv:2: column job_id: it is empty"},
		{traffic(header + "2026-01-05T00:00:00Z,17,many,2,3,4\n"), "traffic.csv:2: column read_bytes: \"many\" is no number of bytes"},
		{traffic(header + "2026-01-05T00:00:00Z,17,1,1e39,3,4\n"), "traffic.csv:2: column write_bytes: \"1e39\" is no number of bytes (0 or more, less than 2^64)"},
		{traffic(header + "2026-01-05T00:00:00Z,17,1,NaN,3,4\n"), "traffic.csv:2: column write_bytes: \"NaN\" is no number of bytes (0 or more, less than 2^64); leave the field empty"},
		{traffic(header + "2026-01-05T00:00:00Z,17,1,2,Infinity,4\n"), "traffic.csv:2: column rdma_read_bytes: \"Infinity\""},
		{traffic(header + "2026-01-05T00:00:00Z,17,1,2,3,-4\n"), "traffic.csv:2: column rdma_write_bytes: \"-4\""},
		{traffic(header + "2026-01-05T00:00:00Z,17,1,2,3,4\n2026-01-05T00:00:00Z,17,1,2,3,4\n"), "traffic.csv:3: job \"17\" has a row of 2026-01-05T00:00:00Z already"},
		{traffic(header + "2026-01-05T00:00:00Z,\xff,1,2,3,4\n"), "traffic.csv:2: field 2, byte 1 is not UTF-8"},
		{failures("2026-01-05T00:00:00Z link_failed\n"), "failures.tsv:1: \"2026-01-05T00:00:00Z link_failed\": want time, kind"},
		{failures("yesterday\tlink_failed\t1,1,1\tX+\t\n"), "failures.tsv:1: time \"yesterday\""},
		{failures("2026-01-05T00:00:00Z\tburnt\t1,1,1\tX+\t\n"), "failures.tsv:1: kind \"burnt\": want one of link_failed,"},
		{failures("2026-01-05T00:00:00Z\tlink_failed\t9,1,1\tX+\t\n"), "failures.tsv:1: device \"9,1,1\" is not in the topology"},
		{failures("2026-01-05T00:00:00Z\tlink_failed\t1,1,1\tW+\t\n"), "failures.tsv:1: device \"1,1,1\" has no port \"W+\""},
		{failures("2026-01-05T00:00:00Z\tlink_failed\t\t\t\n"), "failures.tsv:1: link_failed of no device"},
		{with(func(f *offline.Files) { f.NodeMap = file("map.tsv", "nid1 1,1,1\n") }), "map.tsv:1: "},
		{with(func(f *offline.Files) { f.Jobs = file("jobs.jsonl.gz", someJob) }), "jobs.jsonl.gz: damaged, cut off or not gzip"},
		{with(func(f *offline.Files) { f.Jobs = file("jobs.jsonl.zst", someJob) }), "jobs.jsonl.zst:1: damaged, cut off or not zstd"},
	} {
		_, err := run(t, "torus:4x4x4", c.files, false)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want a line with %q", err, c.want)
		}
	}
}

// Times of all tables may be seconds since 1970; those of jobs and failures may have no zone, and are then in the
// configured one. The header may be repeated, as in files that were appended.
func TestFormsOfTimes(t *testing.T) {
	want := []string{"00:00:00: job 1 on [1,1,1], ended false; link_failed 1,1,1 X+; traffic of 1: 5 - - -;", "00:01:00: job 1 on [1,1,1], ended true;"}
	for _, form := range []struct{ links, start, end, failed string }{
		{"1767571200", `"2026-01-05T00:00:30Z"`, `"2026-01-05T00:01:30Z"`, "2026-01-05T00:00:59Z"},
		{"2026-01-05T01:00:00+01:00", `1767571230`, `"1767571290.5"`, "1767571259"},
		{"1767571200.0", `"2026-01-05T01:00:30"`, `"2026-01-05 01:01:30.25"`, "2026-01-05 01:00:59"},
	} {
		o, err := run(t, "torus:4x4x4", offline.Files{
			Links: file("links.csv", "\ufefftime,link,credit\n"+form.links+",0,1\ntime,link,credit\n2026-01-05T00:01:00Z,0,1\n"),
			Jobs:  file("jobs.jsonl", `{"job_id":"1","nodes":["1,1,1"],"start":`+form.start+`,"end":`+form.end+"}\n"),
			Traffic: file("traffic.csv", "time,job_id,read_bytes,write_bytes,rdma_read_bytes,rdma_write_bytes\n"+form.links+",1,5,,,\n"+
				"time,job_id,read_bytes,write_bytes,rdma_read_bytes,rdma_write_bytes\n"),
			Failures: file("failures.tsv", form.failed+"\tlink_failed\t1,1,1\tX+\n"),
		}, false)
		if err != nil {
			t.Errorf("%+v: %v", form, err)
			continue
		}
		if diff := cmp.Diff(want, o.said()); diff != "" {
			t.Errorf("%+v:\n%s", form, diff)
		}
	}
}

// With SkipUnknown, nodes, devices and ports that the topology lacks are left out, with a note.
func TestSkipUnknown(t *testing.T) {
	o, err := run(t, "torus:4x4x4", offline.Files{
		Links: file("links.csv", someLinks),
		Jobs:  file("jobs.jsonl", `{"job_id":"1","nodes":["9,9,9","1,1,1","8,8,8"],"start":"2026-01-05T00:00:00Z"}`),
		Failures: file("failures.tsv", "2026-01-05T00:00:00Z\tlink_failed\t9,1,1\tX+\t\n2026-01-05T00:00:00Z\tlink_failed\t1,1,1\tW+\t\n"+
			"2026-01-05T00:00:00Z\tlink_failed\t1,1,1\tX+\t\n"),
	}, true)
	if err != nil {
		t.Fatal(err)
	}
	if want := "00:00:00: job 1 on [1,1,1], ended false; link_failed 1,1,1 X+;"; o.said()[0] != want {
		t.Errorf("%q, want %q", o.said()[0], want)
	}
	want := []string{`job "1": node "8,8,8" is no device of the topology (nor is 1 more): left out`, `device "9,1,1" is not in the topology: its failure is left out`,
		`device "1,1,1" has no port "W+": its failure is left out`}
	if diff := cmp.Diff(want, o.notes); diff != "" {
		t.Error(diff)
	}
}

// Unknown nodes beyond those kept by name are counted.
func TestManyUnknownNodes(t *testing.T) {
	names := []string{"1,1,1"}
	for i := range 2500 {
		names = append(names, fmt.Sprintf("host%04d", i))
	}
	line, err := json.Marshal(map[string]any{"job_id": "1", "nodes": names, "start": "2026-01-05T00:00:00Z"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = run(t, "torus:4x4x4", offline.Files{Links: file("links.csv", someLinks), Jobs: file("jobs.jsonl", string(line))}, false)
	if want := `node "host0000" is no device of the topology (nor are 2499 more)`; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// Tables that do not overlap the time range of the links are noted; those that do are not.
func TestTablesOfOtherTimes(t *testing.T) {
	at := func(hour string) offline.Files {
		return offline.Files{Links: file("links.csv", someLinks),
			Jobs:     file("jobs.jsonl", `{"job_id":"1","nodes":["1,1,1"],"start":"2026-01-05T`+hour+`:00:00Z","end":"2026-01-05T`+hour+`:10:00Z"}`),
			Traffic:  file("traffic.csv", "time,job_id,read_bytes,write_bytes,rdma_read_bytes,rdma_write_bytes\n2026-01-05T"+hour+":00:00Z,1,1,2,3,4\n"),
			Failures: file("failures.tsv", "2026-01-05T"+hour+":00:00Z\tlink_failed\t1,1,1\tX+\t\n")}
	}
	for hour, want := range map[string]int{"00": 0, "07": 3} {
		o, err := run(t, "torus:4x4x4", at(hour), false)
		if err != nil {
			t.Fatal(err)
		}
		if len(o.notes) != want || want > 0 && !strings.Contains(o.notes[0], "jobs.jsonl: nothing in it is of the time of the links") {
			t.Errorf("hour %s: notes %q, want %d", hour, o.notes, want)
		}
	}
}

// Gaps are noted, the first few by name, and the analysis goes on.
func TestGaps(t *testing.T) {
	var text strings.Builder
	text.WriteString("time,link,credit\n")
	for i := range 9 {
		fmt.Fprintf(&text, "%s,0,1\n", time.Date(2026, 1, 5, 0, 2*i, 0, 0, time.UTC).Format(time.RFC3339))
	}
	o, err := run(t, "torus:4x4x4", offline.Files{Links: file("links.csv", text.String())}, false)
	if err != nil || len(o.results) != 9 {
		t.Fatalf("%d intervals, %v", len(o.results), err)
	}
	if len(o.notes) != 6 || o.notes[0] != "links.csv: no links from 2026-01-05T00:01:00Z to 2026-01-05T00:02:00Z (1 interval)" || o.notes[5] != "more gaps between intervals are not listed" {
		t.Errorf("notes %q", o.notes)
	}
}

// An incast of one job is diagnosed from files alone, with its region, root and job.
func TestDiagnosesAnIncast(t *testing.T) {
	const spec = "fattree:leaves=4,hosts=12,spines=4"
	g, err := topology.Parse("test", spec)
	if err != nil {
		t.Fatal(err)
	}
	var links, traffic strings.Builder
	links.WriteString("time,link,xmit_wait,bandwidth_used\n")
	traffic.WriteString("time,job_id,read_bytes,write_bytes,rdma_read_bytes,rdma_write_bytes\n")
	target, _ := g.FindDevice("host8")
	leaf, _ := g.FindDevice("leaf0")
	const calm, hot = 20, 12
	for minute := range calm + hot {
		at := time.Date(2026, 1, 5, 0, minute, 0, 0, time.UTC).Format(time.RFC3339)
		congested := minute >= calm
		for id := range g.NumLinks() {
			stall, used := .3, 10.
			switch _, to := g.Ends(schema.LinkID(id)); {
			case congested && to == target: // saturated, yet without wait
				used = 100
			case congested && to == leaf:
				stall, used = 40, 60
			}
			fmt.Fprintf(&links, "%s,%d,%g,%g\n", at, id, stall, used)
		}
		bytes := 1e9
		if congested {
			bytes = 7e11
		}
		fmt.Fprintf(&traffic, "%s,gather,0,0,0,%g\n%s,other,0,0,0,2e9\n", at, bytes, at)
	}
	o, err := run(t, spec, offline.Files{Links: file("links.csv", links.String()), Traffic: file("traffic.csv", traffic.String()),
		Jobs: file("jobs.jsonl", `{"job_id":"gather","nodes":["host[0-11]"],"start":"2026-01-04T00:00:00Z"}
{"job_id":"other","nodes":["host[24-35]"],"start":"2026-01-04T00:00:00Z"}`)}, false)
	if err != nil {
		t.Fatal(err)
	}
	last := o.results[len(o.results)-1]
	if len(last.Diagnoses) != 1 {
		t.Fatalf("%d diagnoses of %d regions", len(last.Diagnoses), len(last.Regions))
	}
	d := last.Diagnoses[0]
	if len(d.Jobs) == 0 || d.Jobs[0].JobID != "gather" || d.Root == nil || d.Root.Peer != "host8" || d.Region == 0 || d.Region != last.Regions[0].ID || d.Text == "" {
		t.Errorf("diagnosis %+v, root %+v", d, d.Root)
	}
	region := &last.Regions[0] // renamed by the diagnosis
	if region.Root == nil || region.Root.Kind != d.Root.Kind || !strings.HasPrefix(region.Name, "incast at ") || !strings.Contains(d.Text, region.Name) {
		t.Errorf("region %q, root %+v, text %q", region.Name, region.Root, d.Text)
	}
	holdsForm(t, &d)
	if first := o.results[0]; len(first.Diagnoses) != 0 {
		t.Errorf("a calm interval has diagnoses %+v", first.Diagnoses)
	}
}

// form is the JSON that docs/reference/diagnosis.md documents.
type form struct {
	Fabric   string    `json:"fabric"`
	Time     time.Time `json:"time"`
	Region   string    `json:"region"`
	Metric   string    `json:"metric"`
	Severity string    `json:"severity"`
	Links    []uint32  `json:"links"`
	Mean     *float64  `json:"mean_percent"`
	Cause    struct {
		Class      string   `json:"class"`
		Confidence *float64 `json:"confidence"`
	} `json:"cause"`
	Jobs []struct {
		ID          string   `json:"job_id"`
		Blame       *float64 `json:"blame"`
		Feature     string   `json:"feature"`
		Value       *float64 `json:"value"`
		Deviations  *float64 `json:"deviations"`
		Correlation *float64 `json:"correlation"`
		Lag         *float64 `json:"lag_seconds"`
		P           *float64 `json:"p_value"`
	} `json:"jobs"`
	Failures []struct{} `json:"failures"`
	Root     *struct {
		Device, Port, Peer, Kind string
		Link                     *uint32
	}
	Victims []struct {
		ID       string     `json:"job_id"`
		Slowdown [2]float64 `json:"slowdown"`
	} `json:"victims"`
	Action string `json:"action"`
	Text   string `json:"text"`
}

// holdsForm decodes a diagnosis strictly, as an external program would.
func holdsForm(t *testing.T, d *schema.Diagnosis) {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var f form
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&f); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	switch {
	case f.Region == "" || f.Time.IsZero() || f.Metric != "xmit_wait" || f.Severity == "" || len(f.Links) == 0 || f.Mean == nil:
		t.Errorf("region of %s", text)
	case f.Cause.Class == "" || f.Cause.Confidence == nil || f.Failures == nil || f.Victims == nil || f.Root == nil || f.Root.Device == "" || f.Root.Kind == "" || f.Root.Link == nil:
		t.Errorf("cause of %s", text)
	case len(f.Jobs) == 0 || f.Jobs[0].Blame == nil || f.Jobs[0].Value == nil || f.Jobs[0].Deviations == nil || f.Jobs[0].Correlation == nil || f.Jobs[0].Lag == nil || f.Jobs[0].P == nil:
		t.Errorf("jobs of %s", text)
	}
}
