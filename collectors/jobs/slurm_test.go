//go:build integration

package jobs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/collectors/jobs"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/test/slurm"
	"github.com/giverny/giverny/schema"
)

// awaitJob reads a live source until a job satisfies wanted, and returns it.
func awaitJob(t *testing.T, c *slurm.Cluster, s feeds.Source, what string, wanted func(j *schema.Job) bool) (found schema.Job) {
	t.Helper()
	c.Await(what, func() bool {
		rows, err := s.Read(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range rows.Jobs {
			if wanted(&j) {
				found = j
				return true
			}
		}
		return false
	})
	return found
}

// A real Slurm with accounting and slurmrestd: all three sources agree on a job, an array, a requeue and the end.
func TestRealSlurm(t *testing.T) {
	c := slurm.Start(t, slurm.Config{Accounting: true, REST: true})
	limits := jobs.Limits{MaxAge: time.Hour, MaxJobs: 100}
	sources := map[string]func() feeds.Source{
		"squeue": func() feeds.Source {
			return open(t, &jobs.SqueueConfig{Command: append(c.Prefix(), "squeue", "--json", "--states=all"), Limits: limits}, t.TempDir())
		},
		"sacct": func() feeds.Source {
			return open(t, &jobs.SacctConfig{Command: append(c.Prefix(), "sacct"), Lookback: time.Hour, Overlap: time.Minute, Limits: limits}, t.TempDir())
		},
		"slurmrestd": func() feeds.Source {
			return open(t, &jobs.SlurmrestdConfig{URL: secret.NewURL(c.RESTAddress()), User: c.User(), Token: secret.NewText(c.Token()), Limits: limits}, t.TempDir())
		},
	}
	before := schema.Instant(time.Now().Add(-time.Minute).UnixNano())
	name := "one | two"
	id := c.Submit("sleep 600", "--nodes=2", "--exclusive", "--job-name="+name)
	array := c.Submit("sleep 600", "--array=3-4", "--nodes=1", "--exclusive")
	c.Await("three jobs to run", func() bool {
		return strings.Count(c.Output("squeue", "--noheader", "--array", "--states=R", "--format=%i"), "\n") == 3
	})
	opened := map[string]feeds.Source{}
	for kind, make := range sources {
		s := make()
		opened[kind] = s
		j := awaitJob(t, c, s, kind+" to list the job", func(j *schema.Job) bool { return j.ID == id })
		if j.Name != name || j.User != c.User() || len(j.Nodes) != 2 || j.Nodes[0] != "n1" || j.Nodes[1] != "n2" || j.End != 0 || j.Start < before || j.State != "RUNNING" {
			t.Errorf("%s: %+v", kind, j)
		}
		j = awaitJob(t, c, make(), kind+" to list an element of the array", func(j *schema.Job) bool { return j.ID == array+"_3" })
		if len(j.Nodes) != 1 || j.End != 0 {
			t.Errorf("%s: %+v", kind, j)
		}
	}
	first := map[string]schema.Instant{}
	for kind, make := range sources {
		first[kind] = awaitJob(t, c, make(), kind, func(j *schema.Job) bool { return j.ID == id }).Start
		if first[kind] != first["squeue"] && first["squeue"] != 0 {
			t.Errorf("%s says that it began at %s, squeue at %s", kind, first[kind], first["squeue"])
		}
	}
	c.Output("scancel", array)
	for kind, s := range opened {
		j := awaitJob(t, c, s, kind+" to see the end", func(j *schema.Job) bool { return j.ID == array+"_4" && j.End != 0 })
		if j.End < j.Start || len(j.Nodes) != 1 {
			t.Errorf("%s: %+v", kind, j)
		}
	}
	// Requeued: the previous run ends, and the same ID has another start.
	time.Sleep(1100 * time.Millisecond) // starts are whole seconds
	c.Output("scontrol", "requeue", id)
	c.Output("scontrol", "update", "JobId="+id, "StartTime=now")
	for kind, s := range opened {
		awaitJob(t, c, s, kind+" to see the run before end", func(j *schema.Job) bool { return j.ID == id && j.Start == first[kind] && j.End != 0 })
	}
	c.StopController()
	rows, err := opened["squeue"].Read(t.Context(), time.Now())
	for len(rows.Jobs) > 0 && err == nil { // the rest of the last list
		rows, err = opened["squeue"].Read(t.Context(), time.Now())
	}
	if err == nil {
		t.Error("squeue without a controller is no error")
	}
	for _, j := range rows.Jobs {
		t.Errorf("without a controller: %+v", j)
	}
	if err := c.StartController(); err != nil {
		t.Fatal(err)
	}
}

// What a real Slurm lists when the nodes of a job change, when it is suspended, requeued and cancelled while it waits, of a
// heterogeneous job, and of jobs that are cancelled before they start: squeue and sacct agree, and nothing is sent twice.
func TestRealSlurmChangesJobs(t *testing.T) {
	c := slurm.Start(t, slurm.Config{Accounting: true})
	limits := jobs.Limits{MaxAge: time.Hour, MaxJobs: 100}
	sources := map[string]feeds.Source{
		"squeue": open(t, &jobs.SqueueConfig{Command: append(c.Prefix(), "squeue", "--json", "--states=all"), Limits: limits}, t.TempDir()),
		"sacct":  open(t, &jobs.SacctConfig{Command: append(c.Prefix(), "sacct"), Lookback: time.Hour, Overlap: time.Minute, Limits: limits}, t.TempDir()),
	}
	runs := map[string]map[string]schema.Job{"squeue": {}, "sacct": {}} // the last row of each run, by its source
	read := func(kind string) (n int) {
		for more := true; more; {
			rows, err := sources[kind].Read(t.Context(), time.Now())
			if err != nil {
				t.Fatal(err)
			}
			for _, j := range rows.Jobs {
				runs[kind][fmt.Sprint(j.ID, " ", j.Start)] = j
			}
			n += len(rows.Jobs)
			more = rows.More
		}
		return n
	}
	// await waits until both list a run of a job on the nodes, which has ended or not, and returns its start.
	await := func(id, nodes, state string, ended bool) (start schema.Instant) {
		t.Helper()
		for kind := range sources {
			c.Await(fmt.Sprintf("%s to list job %s on %s as %s", kind, id, nodes, state), func() bool {
				read(kind)
				for _, j := range runs[kind] {
					if j.ID == id && strings.Join(j.Nodes, ",") == nodes && strings.HasPrefix(j.State, state) && (j.End != 0) == ended {
						if kind == "sacct" {
							start = j.Start
						}
						return true
					}
				}
				return false
			})
		}
		return start
	}
	id := c.Submit("sleep 600", "--nodes=3", "--exclusive")
	first := await(id, "n1,n2,n3", "RUNNING", false)
	for _, change := range []string{"NumNodes=2", "NodeList=n1"} {
		time.Sleep(2100 * time.Millisecond) // starts are whole seconds
		c.Output("scontrol", "update", "JobId="+id, change)
	}
	if last := await(id, "n1", "RUNNING", false); last <= first {
		t.Errorf("the run on one node starts at %v, the one on three at %v", last, first)
	}
	await(id, "n1,n2,n3", "", true)
	c.Output("scontrol", "suspend", id)
	await(id, "n1", "SUSPENDED", false)
	c.Output("scontrol", "resume", id)
	await(id, "n1", "RUNNING", false)
	c.Output("scontrol", "requeue", id)
	await(id, "n1", "", true)
	requeued := time.Now()
	waits := c.Submit("sleep 600", "--nodes=4", "--begin=now+1hour")
	time.Sleep(2100 * time.Millisecond)
	c.Output("scancel", id, waits)
	c.Output("bash", "-c", "printf '#!/bin/sh\n#SBATCH --nodes=1 --exclusive --output=/dev/null\n#SBATCH hetjob\n#SBATCH --nodes=2 --exclusive\nsleep 600\n' > het.sh")
	het, _, _ := strings.Cut(strings.TrimSpace(c.Output("sbatch", "--parsable", "het.sh")), ";")
	await(het+"+0", "n1", "RUNNING", false)
	await(het+"+1", "n2,n3", "RUNNING", false)
	for kind := range sources {
		read(kind)
		if n := read(kind); n != 0 {
			t.Errorf("%s: %d unchanged jobs are sent again", kind, n)
		}
		for run, j := range runs[kind] {
			if j.ID == waits || len(j.Nodes) == 0 {
				t.Errorf("%s: a job that never ran is sent: %+v", kind, j)
			}
			if j.ID == id && (j.End == 0 || j.End.Time().After(requeued.Add(time.Second))) {
				t.Errorf("%s: run %s of the cancelled job ends at %v, want at most %v", kind, run, j.End, requeued)
			}
		}
	}
}
