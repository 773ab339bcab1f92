package sitefiles

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/diagnose/offline"
)

// form is a file, what it is converted to, and the beginning of the first note; empty: none.
type form struct{ text, want, note string }

func checkForms(t *testing.T, convert func(*offline.File, *time.Location, func(string)) (*offline.File, error), forms map[string]form) {
	t.Helper()
	for name, c := range forms {
		var notes []string
		file, err := convert(&offline.File{Name: "f", Reader: strings.NewReader(c.text)}, time.FixedZone("CET", 3600), func(note string) { notes = append(notes, note) })
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := io.ReadAll(file)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, want %q: %v", name, got, c.want, err)
		}
		if said := strings.Join(notes, "\n"); !strings.HasPrefix(said, c.note) || (said == "") != (c.note == "") {
			t.Errorf("%s: noted %q, want %q", name, said, c.note)
		}
	}
}

// Every supported format of jobs is converted to a line of JSON per job that has begun, and omissions are reported.
func TestFormsOfJobs(t *testing.T) {
	const line = `{"job_id":"17","name":"PSDNS","user":"flow","nodes":["n1","n2"],"start":"2026-01-05T00:30:00Z","end":"2026-01-05T01:10:00Z"`
	checkForms(t, jobsFile, map[string]form{
		"lines":   {line + "}\n", line + "}\n", ""},
		"broken":  {"{\"job_id\": \n", "{\"job_id\": \n", ""},
		"unknown": {"hello\n", "hello\n", ""},
		"sacct": {"JobID|JobName|User|State|Start|End|NodeList\n17|PSDNS|flow|COMPLETED|2026-01-05T01:30:00|2026-01-05T02:10:00|n[1-2]\n18|x|y|PENDING|Unknown|Unknown|None assigned\n19|x|y|RUNNING|soon|Unknown|n1\n",
			"\n" + line + `,"state":"COMPLETED"}` + "\n", "f:4: "},
		"backwards": {"JobID|JobName|User|State|Start|End|NodeList\n16|x|y|COMPLETED|2026-01-05T01:30:00|2026-01-05T01:20:00|n1\n17|PSDNS|flow|COMPLETED|2026-01-05T01:30:00|2026-01-05T02:10:00|n[1-2]\n",
			"\n\n" + line + `,"state":"COMPLETED"}` + "\n", `f:2: job "16" ends at 2026-01-05T00:20:00Z, before it starts at 2026-01-05T00:30:00Z: left out`},
		"empty": {"", "", "f: empty"},
		"steps": {"JobID|JobName|User|State|Start|End|NodeList\n17.0|PSDNS|flow|COMPLETED|2026-01-05T01:30:00|2026-01-05T02:10:00|n[1-2]\n", "",
			"f: 0 jobs, not counting 0 pending jobs and 1 job step: the lines of the jobs themselves are missing"},
		"csv":        {"job_id,name,user,nodes,start,end\n17,PSDNS,flow,n[1-2],2026-01-05T00:30:00Z,2026-01-05T01:10:00Z\n", "\n" + line + "}\n", "f: 1 job,"},
		"slurm JSON": {`{"jobs": [{"job_id":17,"name":"PSDNS","user_name":"flow","nodes":"n[1-2]","job_state":"COMPLETED","start_time":1767573000,"end_time":1767575400}]}`, line + `,"state":"COMPLETED"}` + "\n", "f: 1 job,"},
		"pods": {`{"apiVersion":"v1","kind":"List","items":[
			{"kind":"Pod","metadata":{"name":"p-0","namespace":"ml","labels":{"job-name":"p"}},"spec":{"nodeName":"n2"},"status":{"phase":"Running","startTime":"2026-01-05T00:31:00Z"}},
			{"kind":"Pod","metadata":{"name":"p-1","namespace":"ml","labels":{"job-name":"p"}},"spec":{"nodeName":"n1"},"status":{"phase":"Running","startTime":"2026-01-05T00:30:00Z"}},
			{"kind":"Pod","metadata":{"name":"d-1","namespace":"ml","ownerReferences":[{"kind":"DaemonSet","name":"d"}]},"spec":{"nodeName":"n1"},"status":{"phase":"Running","startTime":"2026-01-05T00:30:00Z"}},
			{"kind":"Pod","metadata":"none"}]}`,
			`{"job_id":"ml/p","name":"p","user":"ml","nodes":["n1","n2"],"start":"2026-01-05T00:30:00Z","state":"Running"}` + "\n", "f: pod 4: "},
	})
}

func TestTablesForPeopleAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"             JOBID PARTITION     NAME\n":          "f:1: this is squeue's table, which has no start times: want the output of `squeue --json",
		"NAMESPACE   NAME      READY   STATUS\n":           "f:1: this is kubectl's table, which has no start times: want the output of `kubectl get pods -A -o json`",
		"NAME      READY   STATUS\n":                       "f:1: this is kubectl's table",
		`{"apiVersion":"v1","kind":"NodeList","items":[]}`: `f: kind "NodeList", not pods; want the output of`,
	} {
		_, err := jobsFile(&offline.File{Name: "f", Reader: strings.NewReader(text)}, time.UTC, func(string) {})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// An error names the file by its whole name, and a file that was cut off is not taken for one with a broken last line.
func TestCompressedFilesCutOff(t *testing.T) {
	zone, quiet := time.UTC, func(string) {}
	for text, parse := range map[string]func(*offline.File) (*offline.File, error){
		`{"job_id":"1","nodes":[],"start":""}`:           func(f *offline.File) (*offline.File, error) { return jobsFile(f, zone, quiet) },
		"job_id,nodes,start\n1,n1,2026-01-05T00:00:00Z":  func(f *offline.File) (*offline.File, error) { return jobsFile(f, zone, quiet) },
		"2026-01-05T00:00:30Z\tlink_failed\tleaf4\t3\tx": func(f *offline.File) (*offline.File, error) { return failuresFile(f, zone, quiet) },
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
