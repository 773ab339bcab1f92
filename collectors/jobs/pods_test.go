package jobs_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"log"
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

// A file of kubectl: a job fails if one of its pods does, ends with its last pod, and a pod that is no object is skipped.
func TestPodsOfAFile(t *testing.T) {
	batch := `"job-name":"train"`
	text := `{"kind":"List","apiVersion":"v1","items":[17,` + strings.Join([]string{
		pod("a", "train-0", batch, "", "n1", "Failed", "00:30", "00:40", 1),
		pod("b", "train-1", batch, "", "n2", "Succeeded", "00:20", "00:50", 1),
		pod("c", "alone", "", "", "n3", "Running", "00:10", "", 1),
		pod("d", "train-2", batch, "", "n2", "Running", "", "", 1), // not started
	}, ",") + `],"metadata":{}}`
	for _, format := range []string{"", "pods"} {
		list, err := jobs.Read(strings.NewReader(text), "pods.json", jobs.Options{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		want := []jobs.Row{row("ml/alone", "alone", "ml", "Running", "00:10", "", jobs.Running, "n3"),
			row("ml/train", "train", "ml", "Failed", "00:20", "00:50", jobs.Ended, "n1", "n2")}
		if diff := cmp.Diff(want, list.Rows, anyPlace); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if list.Complete || list.Dropped[feeds.Malformed] != 1 || len(list.Faults) != 1 {
			t.Errorf("complete %v, dropped %v, faults %v", list.Complete, list.Dropped, list.Faults)
		}
	}
	for text, want := range map[string]string{`{"kind":"Pod","apiVersion":"v1"}`: `no key "items"; want the output of`, `{"items":{}}`: "want an array, not {", `{"items":[{`: "unexpected EOF"} {
		if _, err := jobs.Read(strings.NewReader(text), "pods.json", jobs.Options{Format: "pods"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// The controller among a pod's owners names its job, whatever stands first; a job that ran again has the hosts of its last run.
func TestOwnersAndRuns(t *testing.T) {
	owned := `{"kind":"Node","name":"n1"},{"kind":"Job","name":"sim","controller":true}`
	text := `{"kind":"List","apiVersion":"v1","items":[` + strings.Join([]string{
		pod("a", "sim-0", "", owned, "n1", "Failed", "00:10", "00:20", 1),
		pod("b", "sim-1", "", owned, "n2", "Running", "00:30", "", 1),
		pod("c", "sim-2", "", owned, "n2", "Running", "00:31", "", 1),
		pod("d", "kept-0", "", `{"kind":"Node","name":"n1"}`, "n1", "Running", "00:30", "", 1), // of a kind that is no job
	}, ",") + `]}`
	list, err := jobs.Read(strings.NewReader(text), "pods.json", jobs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]jobs.Row{row("ml/sim", "sim", "ml", "Running", "00:30", "", jobs.Running, "n2")}, list.Rows, anyPlace); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A pod that was evicted or lost its node is no place of a job that goes on in another, and ends an ended job when it was
// evicted, although it lists no container.
func TestEvictedPods(t *testing.T) {
	owned := `{"kind":"ReplicaSet","name":"web","controller":true}`
	evicted := func(uid, owner, node, start, condition string) string {
		text := pod(uid, uid, "", owner, node, "Failed", start, "", 1)
		return strings.Replace(text, `"phase":"Failed"`, `"phase":"Failed","reason":"Evicted","conditions":[{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-01-05T00:59:00Z"}`+condition+`]`, 1)
	}
	disrupted := `,{"type":"DisruptionTarget","status":"True","lastTransitionTime":"2026-01-05T00:20:00Z"}`
	alone := `{"kind":"Job","name":"alone","controller":true}`
	mpi := `{"kind":"Job","name":"mpi","controller":true}`
	text := `{"kind":"List","apiVersion":"v1","items":[` + strings.Join([]string{
		evicted("a", owned, "n1", "00:10", ""),
		evicted("b", owned, "n2", "00:10", disrupted),
		pod("c", "web-2", "", owned, "n3", "Running", "00:05", "", 1),
		pod("d", "web-3", "", owned, "n4", "Running", "00:21", "", 1),
		evicted("e", alone, "n5", "00:10", disrupted),
		pod("f", "mpi-0", "", mpi, "n6", "Failed", "00:30", "00:40", 1), // not replaced: the job still waits for it
		pod("g", "mpi-1", "", mpi, "n7", "Running", "00:30", "", 1),
	}, ",") + `]}`
	list, err := jobs.Read(strings.NewReader(text), "pods.json", jobs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []jobs.Row{row("ml/web", "web", "ml", "Running", "00:05", "", jobs.Running, "n3", "n4"),
		row("ml/alone", "alone", "ml", "Failed", "00:10", "00:20", jobs.Ended, "n5"),
		row("ml/mpi", "mpi", "ml", "Running", "00:30", "", jobs.Running, "n6", "n7")}
	if diff := cmp.Diff(want, list.Rows, anyPlace); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The API server's certificate must be of the configured authority.
func TestKubernetesOverTLS(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `{"metadata":{"resourceVersion":"10"},"items":[`+pod("a", "p", "", "", "n1", "Running", "00:30", "", 1)+`]}`)
	}))
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	cfg := jobs.KubernetesKind().NewConfig().(*jobs.KubernetesConfig)
	cfg.URL, cfg.Token = secret.NewURL(server.URL), secret.NewText("x")
	if _, err := open(t, cfg, t.TempDir()).Read(t.Context(), at("01:00").Time()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("of an unknown authority: %v", err)
	}
	cfg.CA = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(cfg.CA, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	want(t, "of a known one", read(t, open(t, cfg, t.TempDir()), "01:00"), "ml/p runs")
}

func TestFaultsOfConfigurations(t *testing.T) {
	kubernetes := func(change func(c *jobs.KubernetesConfig)) *jobs.KubernetesConfig {
		c := jobs.KubernetesKind().NewConfig().(*jobs.KubernetesConfig)
		change(c)
		return c
	}
	limits := jobs.Limits{MaxJobs: 10}
	for _, c := range []struct {
		cfg  feeds.SourceConfig
		want string
	}{
		{kubernetes(func(*jobs.KubernetesConfig) {}), ""},
		{kubernetes(func(c *jobs.KubernetesConfig) { c.URL = secret.NewURL("api:6443") }), "url: "},
		{kubernetes(func(c *jobs.KubernetesConfig) { c.URL = secret.NewURL("https://") }), "url: "},
		{kubernetes(func(c *jobs.KubernetesConfig) { c.Token, c.TokenFile = secret.NewText("x"), "/token" }), "token: given directly and by token_file"},
		{kubernetes(func(c *jobs.KubernetesConfig) { c.Limits.MaxJobs = 0 }), "max_jobs: "},
		{&jobs.SlurmrestdConfig{URL: secret.NewURL("http://slurm:6820"), Limits: limits}, ""},
		{&jobs.SlurmrestdConfig{URL: secret.NewURL("slurm"), Limits: limits}, "url: "},
		{&jobs.SlurmrestdConfig{Token: secret.NewText("x"), TokenFile: "/token", Limits: limits}, "token: given directly and by token_file"},
		{&jobs.SlurmrestdConfig{}, "max_jobs: "},
		{&jobs.SqueueConfig{Command: []string{"squeue", "--json"}, Limits: limits}, ""},
		{&jobs.SqueueConfig{Limits: limits}, "command: empty"},
		{&jobs.SqueueConfig{Command: []string{""}, Limits: limits}, "command: empty"},
		{&jobs.SqueueConfig{Command: []string{"squeue"}}, "max_jobs: "},
	} {
		if err := c.cfg.Validate(); (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.want)
		}
	}
	if _, err := (&jobs.SlurmrestdConfig{Limits: limits}).Open(feeds.Env{}); err == nil || !strings.Contains(err.Error(), "url: empty") {
		t.Errorf("slurmrestd without a URL: %v", err)
	}
}

// What the configuration selects is asked for, with the token; a label names the user.
func TestKubernetesSelects(t *testing.T) {
	var path, selector, token string
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, selector, token = r.URL.Path, r.URL.Query().Get("labelSelector"), r.Header.Get("Authorization")
		w.WriteHeader(status)
		io.WriteString(w, `{"metadata":{"resourceVersion":"10"},"items":[`+pod("a", "p", `"owner":"claude"`, "", "n1", "Running", "00:30", "", 1)+`]}`)
	}))
	defer server.Close()
	cfg := jobs.KubernetesKind().NewConfig().(*jobs.KubernetesConfig)
	cfg.URL, cfg.Token, cfg.Namespace, cfg.LabelSelector, cfg.UserLabels = secret.NewURL(server.URL), secret.NewText("lily\n"), "ml", "app!=web", []string{"team", "owner"}
	s := open(t, cfg, t.TempDir())
	rows, err := s.Read(t.Context(), at("01:00").Time())
	if err != nil || len(rows.Jobs) != 1 || rows.Jobs[0].User != "claude" {
		t.Errorf("%+v, %v", rows.Jobs, err)
	}
	if path != "/api/v1/namespaces/ml/pods" || selector != "app!=web" || token != "Bearer lily" {
		t.Errorf("asked %s for %q with %q", path, selector, token)
	}
	status = http.StatusForbidden
	if _, err := open(t, cfg, t.TempDir()).Read(t.Context(), at("01:00").Time()); err == nil || !strings.Contains(err.Error(), "status 403") {
		t.Errorf("forbidden: %v", err)
	}
}

// More jobs than max_jobs: those that are not listed have not ended.
func TestKubernetesWithTooManyJobs(t *testing.T) {
	var list []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") != "" {
			http.Error(w, "", http.StatusGone)
			return
		}
		io.WriteString(w, `{"metadata":{"resourceVersion":"10"},"items":[`+strings.Join(list, ",")+`]}`)
	}))
	defer server.Close()
	cfg := jobs.KubernetesKind().NewConfig().(*jobs.KubernetesConfig)
	cfg.URL, cfg.Token, cfg.Limits.MaxJobs = secret.NewURL(server.URL), secret.NewText("x"), 2
	s := open(t, cfg, t.TempDir())
	add := func(name string) { list = append(list, pod(name, name, "", "", "n1", "Running", "00:30", "", 1)) }
	add("p")
	add("q")
	want(t, "two jobs", read(t, s, "01:00"), "ml/p runs", "ml/q runs")
	list = nil
	add("r")
	add("s")
	add("u")
	for _, said := range read(t, s, "01:01") {
		if !strings.HasSuffix(said, " runs") {
			t.Errorf("%s, though the list may lack it", said)
		}
	}
}

// An error in a watch other than an expired version is an error of the read, and the pods known before are still there.
func TestAWatchThatFails(t *testing.T) {
	for _, answer := range []string{`{"type":"ERROR","object":{"code":500,"message":"etcd is down"}}`, `{"type":"ADDED","object":17}`, `rubbish`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("watch") != "" {
				io.WriteString(w, answer)
				return
			}
			io.WriteString(w, `{"metadata":{"resourceVersion":"10"},"items":[`+pod("a", "p", "", "", "n1", "Running", "00:30", "", 1)+`]}`)
		}))
		cfg := jobs.KubernetesKind().NewConfig().(*jobs.KubernetesConfig)
		cfg.URL, cfg.Token = secret.NewURL(server.URL), secret.NewText("x")
		s := open(t, cfg, t.TempDir())
		want(t, "the list", read(t, s, "01:00"), "ml/p runs")
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
		if _, err := s.Read(ctx, at("01:01").Time()); err == nil {
			t.Errorf("%s: no error", answer)
		}
		cancel()
		server.Close()
	}
}

// The id is that of squeue and sacct, or with RawIDs slurmctld's number.
func TestIDsOfSlurmJSON(t *testing.T) {
	for _, c := range []struct{ fields, id, raw string }{
		{`"array_job_id":0,"array_task_id":3,"het_job_id":0,"het_job_offset":1`, "7", "7"},
		{`"array_job_id":5,"array_task_id":3`, "5_3", "7"},
		{`"array_job_id":5,"array_task_id":null`, "7", "7"}, // the elements that wait
		{`"array":{"job_id":5,"task_id":3}`, "5_3", "7"},
		{`"het_job_id":5,"het_job_offset":0`, "5+0", "7"},
		{`"het":{"job_id":5,"job_offset":2}`, "5+2", "7"},
		{`"het_job_id":5,"het_job_offset":null`, "7", "7"},
	} {
		text := `{"jobs":[{"job_id":7,"start_time":1767573000,"nodes":"n1","job_state":"RUNNING",` + c.fields + `}]}`
		for raw, want := range map[bool]string{false: c.id, true: c.raw} {
			list, err := jobs.ReadSlurmJSON(strings.NewReader(text), "jobs", jobs.SlurmOptions{RawIDs: raw})
			if err != nil || len(list.Rows) != 1 || list.Rows[0].Job.ID != want {
				t.Errorf("%s: %v, %+v, want the id %s", c.fields, err, list.Rows, want)
			}
		}
	}
}

// Numbers of Slurm's JSON in all their forms; a line of sacct that is too long is counted, the next one is read.
func TestFormsOfNumbersAndLongLines(t *testing.T) {
	for number, want := range map[string]schema.Instant{
		`1767573600`: at("00:40"), `"1767573600"`: at("00:40"), `1.7675736e9`: at("00:40"), `{"set":true,"number":1767573600}`: at("00:40"),
		`{"set":false,"number":1767573600}`: 0, `{"set":true,"infinite":true,"number":1767573600}`: 0, `1e99`: 0, `"NaN"`: 0, `null`: 0, `9999999999`: 0, `-5`: 0,
	} {
		text := fmt.Sprintf(`{"jobs":[{"job_id":7,"start_time":1767573000,"nodes":"n1","job_state":"COMPLETING","end_time":%s}]}`, number)
		list, err := jobs.ReadSlurmJSON(strings.NewReader(text), "jobs", jobs.SlurmOptions{})
		if err != nil || len(list.Rows) != 1 || list.Rows[0].Job.End != want {
			t.Errorf("%s: %v, %+v, want the end %v", number, err, list.Rows, want)
		}
	}
	text := "JobID|State|Start|End|NodeList\n1|" + strings.Repeat("x", 5<<20) + "\n2|RUNNING|2026-01-05T00:30:00|Unknown|n1\n"
	list, err := jobs.ReadSacct(strings.NewReader(text), "sacct", jobs.SacctOptions{Zone: time.UTC})
	if err != nil || len(list.Rows) != 1 || list.Rows[0].Job.ID != "2" || list.Dropped[feeds.TooLong] != 1 {
		t.Errorf("%v, %+v, dropped %v", err, list.Rows, list.Dropped)
	}
	text = "JobID|State|Start|End|NodeList\n1|" + strings.Repeat("a\n", 250) + "2|RUNNING|2026-01-05T00:30:00|Unknown|n1\n"
	list, err = jobs.ReadSacct(strings.NewReader(text), "sacct", jobs.SacctOptions{Zone: time.UTC})
	if err != nil || len(list.Rows) != 1 || list.Dropped[feeds.Malformed] != 3 { // a record has at most 100 lines
		t.Errorf("a record of 250 lines: %v, %+v, dropped %v", err, list.Rows, list.Dropped)
	}
}
