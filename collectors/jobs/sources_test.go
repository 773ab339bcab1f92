package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/collectors/jobs"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/schema"
)

func open(t *testing.T, cfg feeds.SourceConfig, dir string) feeds.Source {
	t.Helper()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	source, err := cfg.Open(feeds.Env{Host: "agent", Interval: time.Minute, Store: feeds.NewStore(dir, "feed"), Log: slog.New(slog.DiscardHandler), ClockTolerance: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// read reads and commits, and returns the IDs and ends of jobs.
func read(t *testing.T, s feeds.Source, clock string) (said []string) {
	t.Helper()
	rows, err := s.Read(t.Context(), at(clock).Time())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(); err != nil {
		t.Fatal(err)
	}
	return ids(rows.Jobs)
}

func ids(list []schema.Job) (said []string) {
	for _, j := range list {
		text := j.ID + " runs"
		if j.End != 0 {
			text = j.ID + " " + j.State
		}
		said = append(said, text)
	}
	return said
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

const queue = `{"jobs":[%s],"errors":[]}`

func queued(id int) string {
	return fmt.Sprintf(`{"job_id":%d,"job_state":"RUNNING","start_time":%d,"nodes":"n1"}`, id, int64(at("00:30"))/1e9)
}

// A command that prints a file: how its output is processed, also across a restart.
func TestSqueueSource(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "queue")
	put := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cfg := &jobs.SqueueConfig{Command: []string{"cat", file}, Limits: jobs.Limits{MaxJobs: 100}}
	s := open(t, cfg, dir)
	put(fmt.Sprintf(queue, queued(1)+","+queued(2)))
	want(t, "first", read(t, s, "01:00"), "1 runs", "2 runs")
	put("slurm_load_jobs error: Unable to contact slurm controller")
	if _, err := s.Read(t.Context(), at("01:01").Time()); err == nil {
		t.Error("an answer that is none is no error")
	}
	// The agent is down while job 1 ends.
	s = open(t, cfg, dir)
	put(fmt.Sprintf(queue, queued(2)))
	want(t, "after a restart", read(t, s, "01:05"), "1 left the queue")
	put(strings.ReplaceAll(fmt.Sprintf(queue, queued(2)), fmt.Sprint(int64(at("00:30"))/1e9), fmt.Sprint(int64(at("00:30"))/1e6)))
	want(t, "times in milliseconds", read(t, s, "01:06"))
	cfg.Command = []string{"sh", "-c", "echo broken >&2; exit 3"}
	if _, err := open(t, cfg, t.TempDir()).Read(t.Context(), at("01:06").Time()); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("a command that fails: %v", err)
	}
	cfg.Command = []string{"sleep", "60"}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := open(t, cfg, t.TempDir()).Read(ctx, at("01:06").Time()); err == nil {
		t.Error("a command that hangs is no error")
	}
}

// A running job that can no longer be parsed is dropped and has not ended; nor has any other if it may be any of them.
func TestAJobThatCannotBeParsedHasNotEnded(t *testing.T) {
	start := fmt.Sprintf(`"job_state":"RUNNING","start_time":%d`, int64(at("00:30"))/1e9)
	for what, c := range map[string]struct {
		job, drop, id string
		also          []string
	}{
		"nodes":              {`{"job_id":2,` + start + `,"nodes":"n[1-"}`, feeds.Malformed, "job 2:", []string{"3 left the queue"}},
		"too many nodes":     {`{"job_id":2,` + start + `,"nodes":"n[1-999999],m[1-999999]"}`, feeds.Malformed, "job 2:", []string{"3 left the queue"}},
		"no start":           {`{"job_id":2,"job_state":"RUNNING","nodes":"n1"}`, feeds.NoTime, "job 2 ", []string{"3 left the queue"}},
		"a start in another": {`{"job_id":2,"job_state":"RUNNING","start_time":99999999999999,"nodes":"n1"}`, feeds.NoTime, "job 2:", []string{"3 left the queue"}},
		"another type":       {`{"job_id":2,` + start + `,"nodes":"n1","time":"5"}`, feeds.Malformed, "job 2:", []string{"3 left the queue"}},
		"an array's":         {`{"job_id":2,` + start + `,"nodes":"n1","array":"5"}`, feeds.Malformed, "array", nil},
		"no id":              {`{"job_id":"two",` + start + `,"nodes":"n1"}`, feeds.Malformed, "no job id", nil},
		"no object":          {`"2"`, feeds.Malformed, "", nil},
	} {
		file := filepath.Join(t.TempDir(), "queue")
		s := open(t, &jobs.SqueueConfig{Command: []string{"cat", file}, Limits: jobs.Limits{MaxJobs: 100}}, t.TempDir())
		put := func(list ...string) {
			if err := os.WriteFile(file, []byte(fmt.Sprintf(queue, strings.Join(list, ","))), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		put(queued(1), queued(2), queued(3))
		want(t, what, read(t, s, "01:00"), "1 runs", "2 runs", "3 runs")
		put(queued(1), c.job)
		rows, err := s.Read(t.Context(), at("01:01").Time())
		if err != nil {
			t.Fatal(err)
		}
		want(t, what, ids(rows.Jobs), c.also...)
		if rows.Dropped[c.drop] != 1 || len(rows.Faults) != 1 || !strings.Contains(rows.Faults[0].Detail, c.id) {
			t.Errorf("%s: dropped %v, %v; want one as %s that names %q", what, rows.Dropped, rows.Faults, c.drop, c.id)
		}
		put(queued(1))
		want(t, what, read(t, s, "01:02"), append([]string{"2 left the queue"}, map[bool][]string{true: {"3 left the queue"}}[c.also == nil]...)...)
	}
}

// A damaged state, as after a power failure, is moved aside, and the feed starts without it.
func TestADamagedState(t *testing.T) {
	for _, text := range []string{"", `{"last":"20`, `{"last":"2026-01-05T00:30:00Z","running":[{"job":{"job_id":7}}]}`} {
		dir := t.TempDir()
		file := filepath.Join(dir, "queue")
		for name, content := range map[string]string{"feed.json": text, "queue": fmt.Sprintf(queue, queued(1))} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := open(t, &jobs.SqueueConfig{Command: []string{"cat", file}, Limits: jobs.Limits{MaxJobs: 100}}, dir)
		want(t, text, read(t, s, "01:00"), "1 runs")
		if kept, err := os.ReadFile(filepath.Join(dir, "feed.json.damaged")); string(kept) != text || err != nil {
			t.Errorf("%q: kept %q, %v", text, kept, err)
		}
	}
}

// Ten thousand simultaneous starts are returned in parts, without querying the scheduler for each.
func TestFloodComesInParts(t *testing.T) {
	var all []string
	for i := range 10_000 {
		all = append(all, queued(i+1))
	}
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		fmt.Fprintf(w, queue, strings.Join(all, ","))
	}))
	defer server.Close()
	s := open(t, &jobs.SlurmrestdConfig{URL: secret.NewURL(server.URL), Version: "v0.0.38", Limits: jobs.Limits{MaxJobs: 20_000}}, t.TempDir())
	total := 0
	for more := true; more; {
		rows, err := s.Read(t.Context(), at("01:00").Time())
		if err != nil {
			t.Fatal(err)
		}
		if len(rows.Jobs) > feeds.MaxRows {
			t.Fatalf("%d rows in one read", len(rows.Jobs))
		}
		total, more = total+len(rows.Jobs), rows.More
	}
	if total != 10_000 || asked != 1 {
		t.Errorf("%d jobs of %d questions, want 10000 of 1", total, asked)
	}
}

// The token is not sent to another host on a redirect.
func TestSlurmrestdTokenStaysWithItsHost(t *testing.T) {
	stolen := ""
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { stolen = r.Header.Get("X-SLURM-USER-TOKEN") }))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(strings.Replace(other.URL, "127.0.0.1", "localhost", 1), http.StatusFound))
	defer server.Close()
	s := open(t, &jobs.SlurmrestdConfig{URL: secret.NewURL(server.URL), Version: "v0.0.41", Token: secret.NewText("hidden"), Limits: jobs.Limits{MaxJobs: 10}}, t.TempDir())
	if _, err := s.Read(t.Context(), at("01:00").Time()); err == nil || !strings.Contains(err.Error(), "another host") || stolen != "" {
		t.Errorf("the other host got %q: %v", stolen, err)
	}
}

// The window of sacct moves past what was read only: while most of an answer cannot be parsed, the next query begins where
// this one did, also after a restart, and no job is lost.
func TestSacctWindowIsHeld(t *testing.T) {
	dir := t.TempDir()
	program, asked, answer := filepath.Join(dir, "sacct"), filepath.Join(dir, "asked"), filepath.Join(dir, "answer")
	script := fmt.Sprintf("#!/bin/sh\nfor a; do case $a in --starttime=*) echo ${a#*T} > %s;; esac; done\ncat %s\n", asked, answer)
	if err := os.WriteFile(program, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	cfg := &jobs.SacctConfig{Command: []string{program}, Lookback: 10 * time.Hour, Limits: jobs.Limits{MaxJobs: 10}}
	s := open(t, cfg, dir)
	const header = "JobID|State|Start|End|NodeList\n"
	row := func(id, start, end string) string {
		return fmt.Sprintf("%s|COMPLETED|%d|%d|n1\n", id, int64(at(start))/1e9, int64(at(end))/1e9)
	}
	broken := row("2", "11:01", "11:02") + row("x", "11:01", "11:02") + "3|COMPLETED|yesterday|Unknown|n1\n"
	for _, c := range []struct {
		what, clock, answer, from string
		held, restart             bool
		jobs                      []string
	}{
		{"the first", "11:00", row("1", "10:30", "10:40"), "01:00:00", false, false, []string{"1 COMPLETED"}},
		{"most is garbled", "11:05", broken, "11:00:00", true, false, []string{"2 COMPLETED"}},
		{"again", "11:10", strings.ReplaceAll(broken, "COMPLETED|", "COMPLETED|a|"), "11:00:00", true, false, nil},
		{"after a restart", "11:11", "garbled\n", "11:00:00", true, true, nil},
		{"as it should be", "11:15", row("2", "11:01", "11:02") + row("3", "11:01", "11:02") + "x\n", "11:00:00", false, false, []string{"2 COMPLETED", "3 COMPLETED"}},
		{"nothing new", "11:20", "", "11:15:00", false, false, nil},
		{"then", "11:25", "", "11:20:00", false, false, nil},
	} {
		if c.restart {
			s = open(t, cfg, dir)
		}
		if err := os.WriteFile(answer, []byte(header+c.answer), 0o644); err != nil {
			t.Fatal(err)
		}
		rows, err := s.Read(t.Context(), at(c.clock).Time())
		if err := errors.Join(err, s.Commit()); err != nil {
			t.Fatal(err)
		}
		from, err := os.ReadFile(asked)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(from)); got != c.from || rows.Held != c.held {
			t.Errorf("%s: asked from %s, want %s; held %v", c.what, got, c.from, rows.Held)
		}
		want(t, c.what, ids(rows.Jobs), c.jobs...)
	}
}

// sacct prints times independent of the zone if asked. A command that does not pass that on, like ssh to a head node in
// another zone, is an error that says so, not jobs that are hours off.
func TestSacctInAnotherZone(t *testing.T) {
	head := filepath.Join(t.TempDir(), "ssh")
	script := `#!/bin/sh
if [ "$SLURM_TIME_FORMAT" = %s ]; then echo 'JobID|State|Start|End|NodeList
1|RUNNING|1767571200|Unknown|n1'
else echo 'JobID|State|Start|End|NodeList
1|RUNNING|2026-01-05T01:00:00|Unknown|n1'; fi
`
	if err := os.WriteFile(head, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	cfg := &jobs.SacctConfig{Command: []string{head, "sacct"}, Lookback: time.Hour, Limits: jobs.Limits{MaxJobs: 10}}
	rows, err := open(t, cfg, t.TempDir()).Read(t.Context(), at("01:00").Time())
	if err != nil || len(rows.Jobs) != 1 || rows.Jobs[0].Start.Time().Unix() != 1767571200 {
		t.Errorf("%+v, %v", rows.Jobs, err)
	}
	cfg.Command = []string{"env", "-i", head, "sacct"}
	rows, err = open(t, cfg, t.TempDir()).Read(t.Context(), at("01:00").Time())
	if err == nil || len(rows.Jobs) != 0 || !strings.Contains(err.Error(), "add env SLURM_TIME_FORMAT=%s TZ=UTC before sacct") {
		t.Errorf("%+v, %v", rows.Jobs, err)
	}
}

// The newest supported version is found; the token is sent in the header and is in no error.
func TestSlurmrestdSource(t *testing.T) {
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		switch {
		case r.Header.Get("X-SLURM-USER-TOKEN") != "hidden" || r.Header.Get("X-SLURM-USER-NAME") != "giverny":
			http.Error(w, "Authentication failure", http.StatusUnauthorized)
		case r.URL.Path != "/slurm/v0.0.41/jobs":
			http.NotFound(w, r)
		default:
			fmt.Fprintf(w, queue, queued(1))
		}
	}))
	defer server.Close()
	cfg := &jobs.SlurmrestdConfig{URL: secret.NewURL(server.URL), User: "giverny", Token: secret.NewText("hidden"), Limits: jobs.Limits{MaxJobs: 10}}
	s := open(t, cfg, t.TempDir())
	want(t, "first", read(t, s, "01:00"), "1 runs")
	want(t, "again", read(t, s, "01:01"))
	want(t, "versions", paths, "/slurm/v0.0.43/jobs", "/slurm/v0.0.42/jobs", "/slurm/v0.0.41/jobs", "/slurm/v0.0.41/jobs")
	paths, cfg.Version = nil, "v0.0.42"
	if _, err := open(t, cfg, t.TempDir()).Read(t.Context(), at("01:00").Time()); err == nil || !strings.Contains(err.Error(), "none of the API versions v0.0.42: ") || len(paths) != 1 {
		t.Errorf("a version that it does not have: %v, asked %v", err, paths)
	}
	cfg.Version = "v0.0.41"
	cfg.Token = secret.NewText("wrong-secret")
	if _, err := open(t, cfg, t.TempDir()).Read(t.Context(), at("01:00").Time()); err == nil || !strings.Contains(err.Error(), "401") || strings.Contains(err.Error(), "wrong-secret") {
		t.Errorf("a wrong token: %v", err)
	}
}

// A later Slurm has none of the versions that are known.
func TestSlurmrestdOfALaterSlurm(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/slurm/v0.0.46/jobs" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, queue, queued(1))
	}))
	defer server.Close()
	s := open(t, &jobs.SlurmrestdConfig{URL: secret.NewURL(server.URL), Limits: jobs.Limits{MaxJobs: 10}}, t.TempDir())
	want(t, "jobs", read(t, s, "01:00"), "1 runs")
}

func TestFileSource(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "jobs.jsonl")
	add := func(job schema.Job) {
		text, err := json.Marshal(job)
		if err != nil {
			t.Fatal(err)
		}
		out, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if _, err := out.Write(append(text, '\n')); err != nil {
			t.Fatal(err)
		}
	}
	s := open(t, &jobs.FileConfig{Path: path, Limits: jobs.Limits{MaxJobs: 10}}, dir)
	if _, err := s.Read(t.Context(), at("01:00").Time()); err == nil {
		t.Error("a file that is not there is no error")
	}
	add(schema.Job{ID: "1", Nodes: []string{"n1"}, Start: at("00:30")})
	want(t, "one job", read(t, s, "01:00"), "1 runs")
	want(t, "no change", read(t, s, "01:01"))
	add(schema.Job{ID: "1", Nodes: []string{"n1"}, Start: at("00:30"), End: at("01:01"), State: "COMPLETED"})
	add(schema.Job{ID: "2", Nodes: []string{"n1"}, Start: at("00:40")})
	want(t, "an end and a start", read(t, s, "01:02"), "1 COMPLETED", "2 runs")
	add(schema.Job{ID: "3", Nodes: []string{"n1"}, Start: at("02:00")}) // earlier rows are not returned again
	want(t, "a start ahead of the clock", read(t, s, "01:03"))
	want(t, "its time has come, the file is as it was", read(t, s, "02:00"), "3 runs")
}

// A growing file: a malformed row counts once, and a row that is still being written waits for its end.
func TestRowsOfAGrowingFileCountOnce(t *testing.T) {
	head := map[string]string{"jsonl": "", "csv": "job_id,start,nodes\n", "sacct": "JobID|State|Start|End|NodeList\n"}
	row := map[string]string{"jsonl": `{"job_id":"%d","start":"2026-01-05T00:30:00Z","nodes":["n1","n12"]}`, "csv": "%d,2026-01-05T00:30:00Z,n1 n12", "sacct": "%d|RUNNING|2026-01-05T00:30:00|Unknown|n[1,12]"}
	bad := map[string]string{"jsonl": `{"job_id":"5","start":`, "csv": "5,yesterday,n1", "sacct": "5|RUNNING|yesterday|Unknown|n1"}
	for format := range head {
		path := filepath.Join(t.TempDir(), "jobs")
		text := ""
		s := open(t, &jobs.FileConfig{Path: path, TimeZone: "UTC", Limits: jobs.Limits{MaxJobs: 10}}, t.TempDir())
		dropped := uint64(0)
		add := func(more string, want ...string) {
			t.Helper()
			if text += more; more != "" {
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			rows, err := s.Read(t.Context(), at("01:00").Time())
			if err != nil {
				t.Fatalf("%s: %v", format, err)
			}
			for _, n := range rows.Dropped {
				dropped += n
			}
			var got []string
			for _, j := range rows.Jobs {
				got = append(got, fmt.Sprint(j.ID, j.Nodes))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", format, diff)
			}
		}
		line := func(id int) string { return fmt.Sprintf(row[format], id) + "\n" }
		add(head[format]+line(1)+bad[format]+"\n", "1[n1 n12]")
		add(line(2)[:len(line(2))-3]) // not yet
		add(line(2)[len(line(2))-3:], "2[n1 n12]")
		add(line(3), "3[n1 n12]")
		add("\n"+bad[format]+"\n"+line(4), "4[n1 n12]")
		if dropped != 2 {
			t.Errorf("%s: %d rows were dropped, want 2", format, dropped)
		}
		add(strings.TrimSuffix(line(6), "\n"))
		add("", "6[n1 n12]") // the file stays as it is
		text += "\n" + strings.TrimSuffix(line(7), "\n")
		if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o644), os.Rename(path+".new", path)); err != nil {
			t.Fatal(err)
		}
		add("", "7[n1 n12]") // another file, whole
	}
}

// A password in a URL, for instance for a proxy, is in no error.
func TestPasswordsOfAddressesAreInNoError(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := strings.Replace(server.URL, "http://", "http://giverny:hunter2@", 1)
	kubernetes := jobs.KubernetesKind().NewConfig().(*jobs.KubernetesConfig)
	kubernetes.URL = secret.NewURL(address)
	read := func() {
		for _, cfg := range []feeds.SourceConfig{&jobs.SlurmrestdConfig{URL: secret.NewURL(address), Limits: jobs.Limits{MaxJobs: 10}},
			&jobs.SlurmrestdConfig{URL: secret.NewURL(address), Version: "v0.0.41", Limits: jobs.Limits{MaxJobs: 10}}, kubernetes} {
			_, err := open(t, cfg, t.TempDir()).Read(t.Context(), at("01:00").Time())
			if err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v", err)
			}
		}
	}
	read()
	server.Close()
	read()
	wrong := jobs.SlurmrestdConfig{URL: secret.NewURL("ftp://giverny:hunter2@host"), Limits: jobs.Limits{MaxJobs: 10}}
	if err := wrong.Validate(); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%v", err)
	}
}

func TestVersionsOfSlurmrestd(t *testing.T) {
	for version, good := range map[string]bool{"": true, "v0.0.40": true, "v1": false, "0.0.40": false} {
		cfg := jobs.SlurmrestdConfig{Version: version, Limits: jobs.Limits{MaxJobs: 10}}
		if err := cfg.Validate(); (err == nil) != good {
			t.Errorf("version %q: %v", version, err)
		}
	}
}
