package jobs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/collectors/jobs"
	"github.com/giverny/giverny/internal/test/repo"
	"github.com/giverny/giverny/schema"
)

func TestSacct(t *testing.T) {
	in, err := os.Open(filepath.Join("testdata", "sacct.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	list, err := jobs.ReadSacct(in, "sacct.txt", jobs.SacctOptions{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	want := []jobs.Row{
		row("100", "psdns", "flow", "COMPLETED", "00:30", "01:10", jobs.Ended, "nid00012", "nid00013", "nid00014", "nid00020"),
		row("101", "runs on", "u1", "RUNNING", "00:31", "", jobs.Running, "nid00021"),
		row("102", "waits", "u1", "PENDING", "", "", jobs.Waiting),
		row("103", "never ran", "u1", "CANCELLED by 1000", "", "", jobs.Waiting),
		row("104_7", "sweep", "u2", "COMPLETED", "00:33", "00:34", jobs.Ended, "node1-ib0", "node1-ib1", "node2-ib0", "node2-ib1"),
		row("105+0", "het", "u3", "RUNNING", "00:35", "", jobs.Running, "n1"),
		row("105+1", "het", "u3", "RUNNING", "00:35", "", jobs.Running, "n2"),
		row("107", "again", "u4", "REQUEUED", "00:36", "00:37", jobs.Ended, "n3"),
		row("107", "again", "u4", "RUNNING", "00:40", "", jobs.Running, "n4"),
		row("108", "two lines", "u5", "COMPLETED", "00:41", "00:42", jobs.Ended, "n5"),
		row("109", "a|b|c", "u5", "COMPLETED", "00:43", "00:44", jobs.Ended, "n6"),
		row("110", "bad\uFFFDbytes", "u6", "TIMEOUT", "00:45", "00:46", jobs.Ended, "n7"),
		row("113", "after the rubbish", "u7", "OUT_OF_MEMORY", "00:45", "00:46", jobs.Ended, "n9", "n10"),
	}
	if diff := cmp.Diff(want, list.Rows, anyPlace); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if list.Steps == 0 {
		t.Error("no steps were counted")
	}
	// The garbage and the following line without a time look like one record on two lines.
	if list.Complete || !cmp.Equal(list.Dropped, map[string]uint64{feeds.Malformed: 2}) {
		t.Errorf("complete %v, dropped %v", list.Complete, list.Dropped)
	}
}

// The zone of the host on which sacct ran, other delimiters, --parsable, raw ids.
func TestSacctOptions(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	text := "JobIDRaw\x1fJobID\x1fState\x1fStart\x1fEnd\x1fNodeList\x1f\n7\x1f3_4\x1fCOMPLETED\x1f2026-01-05T01:30:00\x1f2026-01-05T01:40:00\x1fn1\x1f\n"
	list, err := jobs.ReadSacct(strings.NewReader(text), "x", jobs.SacctOptions{Zone: berlin, RawIDs: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]jobs.Row{row("7", "", "", "COMPLETED", "00:30", "00:40", jobs.Ended, "n1")}, list.Rows, anyPlace); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, bad := range []string{"", "no header at all", "JobID|State|Start|End\n", "7|COMPLETED|n1\n"} {
		if _, err := jobs.ReadSacct(strings.NewReader(bad), "bad.txt", jobs.SacctOptions{Zone: time.UTC}); err == nil || !strings.Contains(err.Error(), "bad.txt:1") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestRecordedSacct(t *testing.T) {
	for _, c := range []struct {
		file    string
		ids     []string
		dropped uint64
		last    schema.Job
	}{
		{"sample-sacct-output-invalid-utf8.txt", []string{"3557891", "3557892"}, 0,
			schema.Job{ID: "3557892", Name: "bash", User: "test_user", Nodes: []string{"learnnode036"}, State: "TIMEOUT", Start: 1530146673e9, End: 1530153885e9}},
		{"sample-sacct-one-multiline.txt", nil, 0, schema.Job{}},
		{"sample-sacct-running-output.txt", nil, 0, schema.Job{}},
		{"sample-sacct-output.txt", nil, 0, schema.Job{}},
	} {
		in, err := os.Open(repo.Fixture(t, "jobs", "sacct", c.file))
		if err != nil {
			t.Fatal(err)
		}
		list, err := jobs.ReadSacct(in, c.file, jobs.SacctOptions{Zone: time.UTC})
		in.Close()
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, r := range list.Rows {
			ids = append(ids, r.Job.ID)
		}
		t.Logf("%s: %d rows, dropped %v, ids %v", c.file, len(list.Rows), list.Dropped, ids)
		if c.ids != nil && !slices.Equal(ids, c.ids) {
			t.Errorf("%s: ids %v, want %v", c.file, ids, c.ids)
		}
		if n := list.Dropped[feeds.Malformed]; n != c.dropped {
			t.Errorf("%s: %d dropped, want %d", c.file, n, c.dropped)
		}
		if c.last.ID != "" {
			if diff := cmp.Diff(c.last, list.Rows[len(list.Rows)-1].Job); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.file, diff)
			}
		}
	}
	in, err := os.Open(repo.Fixture(t, "jobs", "sacct", "sample-sacct-output-with-invalid-lines.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	list, err := jobs.ReadSacct(in, "invalid", jobs.SacctOptions{Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Rows) != 0 || list.Dropped[feeds.Malformed] != 1 {
		t.Errorf("a line that is cut off: %d rows, dropped %v", len(list.Rows), list.Dropped)
	}
}

// As recorded from Slurm 22.05: sacct lists the run after a change of the nodes with the start of the run before it.
func TestSacctOfAJobThatShrinks(t *testing.T) {
	text := `JobID|State|Start|End|NodeList
1|RESIZING|1795910628|1795910631|n[1-3]
1|RESIZING|1795910628|1795910633|n[1-2]
1|RUNNING|1795910633|Unknown|n1
`
	list, err := jobs.ReadSacct(strings.NewReader(text), "sacct", jobs.SacctOptions{})
	var got []string
	for _, r := range list.Rows {
		got = append(got, fmt.Sprintf("%d-%d %d nodes", r.Job.Start/1e9%1000, r.Job.End/1e9%1000, len(r.Job.Nodes)))
	}
	if err != nil {
		t.Error(err)
	}
	want(t, "runs", got, "628-631 3 nodes", "631-633 2 nodes", "633-0 1 nodes")
	// Later, the first run is no longer listed, and the second still has its start.
	tracker := newTracker(0, 10)
	now := list.Rows[2].Job.Start.Time().Add(time.Second)
	tracker.Update(&list, now)
	tracker.Take(10)
	list, err = jobs.ReadSacct(strings.NewReader("JobID|State|Start|End|NodeList\n1|RESIZING|1795910628|1795910633|n[1-2]\n1|RUNNING|1795910633|Unknown|n1\n"), "sacct", jobs.SacctOptions{})
	tracker.Update(&list, now.Add(72*time.Hour))
	if changed, _ := tracker.Take(10); err != nil || len(changed) != 0 {
		t.Errorf("sent again: %+v, %v", changed, err)
	}
}

// With commas between fields, those of a node list or a name are distinguished from them only by quotation marks: without, the
// record is dropped, since its fields would be read as others.
func TestSacctWithCommas(t *testing.T) {
	text := "JobID,JobName,User,NodeList,Start,End,State\n" +
		"1,a,u,n1,2026-01-05T00:30:00Z,Unknown,RUNNING\n" +
		"2,b,u,n[1-2],n5,2026-01-05T00:30:00Z,Unknown,RUNNING\n" +
		"3,\"c,d\",u,\"n[1-2],n5\",2026-01-05T00:30:00Z,Unknown,RUNNING\n" +
		"4,e,u,n[1,3],2026-01-05T00:30:00Z,Unknown,RUNNING\n"
	list, err := jobs.Read(strings.NewReader(text), "f", jobs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []jobs.Row{row("1", "a", "u", "RUNNING", "00:30", "", jobs.Running, "n1"), row("3", "c,d", "u", "RUNNING", "00:30", "", jobs.Running, "n1", "n2", "n5")}
	if diff := cmp.Diff(want, list.Rows, anyPlace); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if list.Dropped[feeds.Malformed] != 2 || len(list.Faults) != 2 || !strings.Contains(list.Faults[0].Detail, "8 fields, want 7; node lists contain commas too") {
		t.Errorf("dropped %v, %+v", list.Dropped, list.Faults)
	}
}
