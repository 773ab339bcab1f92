package sitefiles

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/diagnose/offline"
	"github.com/giverny/giverny/schema"
)

// form is a file, its text if that is read as it is, else its rows with their places, and the beginning of the first note; empty: none.
type form[T any] struct {
	file, text string
	rows       []offline.Row[T]
	note       string
}

type reader[T any] func(*offline.File, *time.Location, func(string)) (*offline.File, *offline.Rows[T], error)

func checkForms[T any](t *testing.T, read reader[T], forms map[string]form[T]) {
	t.Helper()
	for name, c := range forms {
		var notes []string
		file, rows, err := read(&offline.File{Name: "f", Reader: strings.NewReader(c.file)}, time.FixedZone("CET", 3600), func(note string) { notes = append(notes, note) })
		if err != nil || (file == nil) == (rows == nil) {
			t.Errorf("%s: %v, %v, %v", name, file, rows, err)
			continue
		}
		if file != nil {
			if text, err := io.ReadAll(file); err != nil || string(text) != c.text || len(c.rows) > 0 {
				t.Errorf("%s: %q, want %q: %v", name, text, c.text, err)
			}
		} else if diff := cmp.Diff(c.rows, rows.Rows); diff != "" || rows.Name != "f" {
			t.Errorf("%s of %q (-want +got):\n%s", name, rows.Name, diff)
		}
		if said := strings.Join(notes, "\n"); !strings.HasPrefix(said, c.note) || (said == "") != (c.note == "") {
			t.Errorf("%s: noted %q, want %q", name, said, c.note)
		}
	}
}

func instant(t *testing.T, text string) schema.Instant {
	t.Helper()
	at, err := schema.ParseInstant(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// Every supported format of jobs gives the jobs that have begun, with their places, and omissions are reported.
func TestFormsOfJobs(t *testing.T) {
	const line = `{"job_id":"17","name":"PSDNS","user":"flow","nodes":["n1","n2"],"start":"2026-01-05T00:30:00Z","end":"2026-01-05T01:10:00Z"}` + "\n"
	rows := func(place int, state string) []offline.Row[schema.Job] {
		return []offline.Row[schema.Job]{{Place: place, Value: schema.Job{ID: "17", Name: "PSDNS", User: "flow", Nodes: []string{"n1", "n2"}, State: state,
			Start: instant(t, "2026-01-05T00:30:00Z"), End: instant(t, "2026-01-05T01:10:00Z")}}}
	}
	checkForms(t, jobsFile, map[string]form[schema.Job]{
		"lines":   {file: line, text: line},
		"broken":  {file: "{\"job_id\": \n", text: "{\"job_id\": \n"},
		"unknown": {file: "hello\n", text: "hello\n"},
		"empty":   {note: "f: empty"},
		"sacct": {file: "JobID|JobName|User|State|Start|End|NodeList\n17|PSDNS|flow|COMPLETED|2026-01-05T01:30:00|2026-01-05T02:10:00|n[1-2]\n18|x|y|PENDING|Unknown|Unknown|None assigned\n19|x|y|RUNNING|soon|Unknown|n1\n",
			rows: rows(2, "COMPLETED"), note: "f:4: "},
		"backwards": {file: "JobID|JobName|User|State|Start|End|NodeList\n16|x|y|COMPLETED|2026-01-05T01:30:00|2026-01-05T01:20:00|n1\n17|PSDNS|flow|COMPLETED|2026-01-05T01:30:00|2026-01-05T02:10:00|n[1-2]\n",
			rows: rows(3, "COMPLETED"), note: `f:2: job "16" ends at 2026-01-05T00:20:00Z, before it starts at 2026-01-05T00:30:00Z: left out`},
		"steps": {file: "JobID|JobName|User|State|Start|End|NodeList\n17.0|PSDNS|flow|COMPLETED|2026-01-05T01:30:00|2026-01-05T02:10:00|n[1-2]\n",
			note: "f: 0 jobs, not counting 0 pending jobs and 1 job step: the lines of the jobs themselves are missing"},
		"csv":        {file: "job_id,name,user,nodes,start,end\n17,PSDNS,flow,n[1-2],2026-01-05T00:30:00Z,2026-01-05T01:10:00Z\n", rows: rows(2, ""), note: "f: 1 job,"},
		"slurm JSON": {file: `{"jobs": [{"job_id":17,"name":"PSDNS","user_name":"flow","nodes":"n[1-2]","job_state":"COMPLETED","start_time":1767573000,"end_time":1767575400}]}`, rows: rows(1, "COMPLETED"), note: "f: 1 job,"},
		"pods": {file: `{"apiVersion":"v1","kind":"List","items":[
			{"kind":"Pod","metadata":{"name":"p-0","namespace":"ml","labels":{"job-name":"p"}},"spec":{"nodeName":"n2"},"status":{"phase":"Running","startTime":"2026-01-05T00:31:00Z"}},
			{"kind":"Pod","metadata":{"name":"p-1","namespace":"ml","labels":{"job-name":"p"}},"spec":{"nodeName":"n1"},"status":{"phase":"Running","startTime":"2026-01-05T00:30:00Z"}},
			{"kind":"Pod","metadata":{"name":"d-1","namespace":"ml","ownerReferences":[{"kind":"DaemonSet","name":"d"}]},"spec":{"nodeName":"n1"},"status":{"phase":"Running","startTime":"2026-01-05T00:30:00Z"}},
			{"kind":"Pod","metadata":"none"}]}`, note: "f: pod 4: ",
			rows: []offline.Row[schema.Job]{{Place: 1, Value: schema.Job{ID: "ml/p", Name: "p", User: "ml", Nodes: []string{"n1", "n2"}, Start: instant(t, "2026-01-05T00:30:00Z"), State: "Running"}}}},
	})
}

func TestTablesForPeopleAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"             JOBID PARTITION     NAME\n":          "f:1: this is squeue's table, which has no start times: want the output of `squeue --json",
		"NAMESPACE   NAME      READY   STATUS\n":           "f:1: this is kubectl's table, which has no start times: want the output of `kubectl get pods -A -o json`",
		"NAME      READY   STATUS\n":                       "f:1: this is kubectl's table",
		`{"apiVersion":"v1","kind":"NodeList","items":[]}`: `f: kind "NodeList", not pods; want the output of`,
	} {
		_, _, err := jobsFile(&offline.File{Name: "f", Reader: strings.NewReader(text)}, time.UTC, func(string) {})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// An error names the file by its whole name, and a file that was cut off is not taken for one with a broken last line.
func TestCompressedFilesCutOff(t *testing.T) {
	zone, quiet := time.UTC, func(string) {}
	jobsText := func(f *offline.File) (*offline.File, error) {
		file, _, err := jobsFile(f, zone, quiet)
		return file, err
	}
	failuresText := func(f *offline.File) (*offline.File, error) {
		file, _, err := failuresFile(f, zone, quiet)
		return file, err
	}
	for text, parse := range map[string]func(*offline.File) (*offline.File, error){
		`{"job_id":"1","nodes":[],"start":""}`:           jobsText,
		"job_id,nodes,start\n1,n1,2026-01-05T00:00:00Z":  jobsText,
		"2026-01-05T00:00:30Z\tlink_failed\tleaf4\t3\tx": failuresText,
	} {
		var zipped bytes.Buffer
		w := gzip.NewWriter(&zipped)
		for i := range 2000 {
			_, _ = fmt.Fprintf(w, "%s%d\n", text, i)
		}
		_ = w.Close()
		for _, keep := range []int{5, zipped.Len() / 2, zipped.Len() - 8} {
			file, err := parse(&offline.File{Name: "f.gz", Reader: bytes.NewReader(zipped.Bytes()[:keep])})
			if err == nil {
				_, err = io.ReadAll(file)
				if file.Name != "f.gz" {
					t.Errorf("the file is named %q", file.Name)
				}
			}
			if err == nil || !strings.Contains(err.Error(), "damaged, cut off") {
				t.Errorf("%.20s cut off after %d bytes: %v", text, keep, err)
			}
		}
	}
}
