package jobs_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/collectors/jobs"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/schema"
)

// apiServer is an API server for lists and watches of pods.
type apiServer struct {
	pages  []string // of the next list
	events []string // of the next watch
	gone   bool     // the next watch gets a 410
	asked  []string
	waits  []string // of the watches
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a.asked = append(a.asked, fmt.Sprintf("%s watch=%s rv=%s continue=%s", r.URL.Path, q.Get("watch"), q.Get("resourceVersion"), q.Get("continue")))
	if q.Get("watch") != "" {
		a.waits = append(a.waits, q.Get("timeoutSeconds"))
	}
	switch {
	case q.Get("watch") == "" && q.Get("continue") == "" && len(a.pages) > 1:
		io.WriteString(w, `{"metadata":{"resourceVersion":"10","continue":"c1"},"items":[`+a.pages[0]+`]}`)
	case q.Get("watch") == "":
		io.WriteString(w, `{"metadata":{"resourceVersion":"10"},"items":[`+a.pages[len(a.pages)-1]+`]}`)
	case a.gone:
		a.gone = false
		io.WriteString(w, `{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version"}}`)
	default:
		io.WriteString(w, strings.Join(a.events, "\n"))
		a.events = nil
	}
}

func pod(uid, name, labels, owner, node, phase, start, finish string, version int) string {
	status := fmt.Sprintf(`{"phase":%q`, phase)
	if start != "" {
		status += fmt.Sprintf(`,"startTime":%q`, at(start))
	}
	if finish != "" {
		status += fmt.Sprintf(`,"containerStatuses":[{"state":{"terminated":{"finishedAt":%q}}}]`, at(finish))
	}
	return fmt.Sprintf(`{"metadata":{"uid":%q,"name":%q,"namespace":"ml","resourceVersion":"%d","labels":{%s},"ownerReferences":[%s]},"spec":{"nodeName":%q},"status":%s}}`,
		uid, name, version, labels, owner, node, status)
}

func event(kind, object string) string { return fmt.Sprintf(`{"type":%q,"object":%s}`, kind, object) }

func TestKubernetesSource(t *testing.T) {
	llama := `"training.kubeflow.org/job-name":"llama"`
	deployment := `{"kind":"ReplicaSet","name":"web-6d4","controller":true}`
	daemon := `{"kind":"DaemonSet","name":"exporter","controller":true}`
	api := &apiServer{pages: []string{
		pod("a", "llama-0", llama, "", "n1", "Running", "00:30", "", 1) + "," + pod("b", "llama-1", llama, "", "n2", "Running", "00:31", "", 2) + "," + pod("w", "llama-2", llama, "", "", "Pending", "", "", 2),
		pod("c", "web-6d4-x", "", deployment, "n3", "Running", "00:10", "", 3) + "," + pod("d", "exporter-n1", "", daemon, "n1", "Running", "00:01", "", 4),
	}}
	server := httptest.NewServer(api)
	defer server.Close()
	cfg := jobs.KubernetesKind().NewConfig().(*jobs.KubernetesConfig)
	cfg.URL, cfg.Token = secret.NewURL(server.URL), secret.NewText("x")
	s := open(t, cfg, t.TempDir())
	rows, err := s.Read(t.Context(), at("01:00").Time())
	if err != nil {
		t.Fatal(err)
	}
	wanted := []schema.Job{{ID: "ml/web-6d4", Name: "web-6d4", User: "ml", Nodes: []string{"n3"}, Start: at("00:10"), State: "Running"},
		{ID: "ml/llama", Name: "llama", User: "ml", Nodes: []string{"n1", "n2"}, Start: at("00:30"), State: "Running"}}
	if diff := cmp.Diff(wanted, rows.Jobs); diff != "" {
		t.Errorf("the first list (-want +got):\n%s", diff)
	}
	// A third worker gets its node, then the first is deleted: the job keeps its start.
	api.events = []string{event("MODIFIED", pod("w", "llama-2", llama, "", "n4", "Running", "01:00", "", 11)), event("DELETED", pod("a", "llama-0", llama, "", "n1", "Running", "00:30", "", 12)),
		`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"13"}}}`}
	rows, err = s.Read(t.Context(), at("01:01").Time())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]schema.Job{{ID: "ml/llama", Name: "llama", User: "ml", Nodes: []string{"n2", "n4"}, Start: at("00:30"), State: "Running"}}, rows.Jobs); diff != "" {
		t.Errorf("a change (-want +got):\n%s", diff)
	}
	// It ends, and starts again with the same name; the version is too old for a watch.
	api.gone = true
	api.pages = []string{pod("b", "llama-1", llama, "", "n2", "Succeeded", "00:31", "01:10", 20) + "," + pod("w", "llama-2", llama, "", "n4", "Succeeded", "01:00", "01:11", 21)}
	want(t, "after 410", read(t, s, "01:12"), "ml/llama Succeeded", "ml/web-6d4 left the queue")
	if got := api.asked[3]; !strings.Contains(got, "watch=true rv=13 ") {
		t.Errorf("the watch after a bookmark asked %s", got)
	}
	want(t, "what has ended is listed again, without its first pod", read(t, s, "01:13"))
	api.events = []string{event("DELETED", pod("w", "llama-2", llama, "", "n4", "Succeeded", "01:00", "01:11", 22))}
	want(t, "its pods are removed one by one", read(t, s, "01:14"))
	api.events = []string{event("DELETED", pod("b", "llama-1", llama, "", "n2", "Succeeded", "00:31", "01:10", 22)), event("ADDED", pod("z", "llama-0", llama, "", "n1", "Running", "01:20", "", 23))}
	rows, err = s.Read(t.Context(), at("01:21").Time())
	if err != nil {
		t.Fatal(err)
	}
	if len(rows.Jobs) != 1 || rows.Jobs[0].Start != at("01:20") || !cmp.Equal(rows.Jobs[0].Nodes, []string{"n1"}) {
		t.Errorf("a job that began again: %+v", rows.Jobs)
	}
	if got := api.asked[2]; got != "/api/v1/pods watch=true rv=10 continue=" {
		t.Errorf("the first watch asked %s", got)
	}
	// A watch ends before the read must end.
	short, cancel := context.WithTimeout(t.Context(), 4*time.Second)
	defer cancel()
	if _, err := s.Read(short, at("01:22").Time()); err != nil {
		t.Fatal(err)
	}
	if first, last := api.waits[0], api.waits[len(api.waits)-1]; first != "5" || last != "1" {
		t.Errorf("watches wait for %v s, want 5 at first and 1 at last", api.waits)
	}
}

// A watch that the server does not end is ended within the time of the read, and its events are used.
func TestAWatchWithoutEnd(t *testing.T) {
	running := pod("a", "p", `"job-name":"j"`, "", "n1", "Running", "00:30", "", 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			io.WriteString(w, `{"metadata":{"resourceVersion":"10"},"items":[`+running+`]}`)
			return
		}
		io.WriteString(w, event("ADDED", pod("b", "q", `"job-name":"k"`, "", "n2", "Running", "00:31", "", 11)))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	cfg := jobs.KubernetesKind().NewConfig().(*jobs.KubernetesConfig)
	cfg.URL, cfg.Token = secret.NewURL(server.URL), secret.NewText("x")
	s := open(t, cfg, t.TempDir())
	for _, want := range []string{"ml/j", "ml/k"} {
		ctx, cancel := context.WithTimeout(t.Context(), 6*time.Second) // a watch gets half of it, plus half of that
		rows, err := s.Read(ctx, at("01:00").Time())
		cancel()
		if err != nil || len(rows.Jobs) != 1 || rows.Jobs[0].ID != want {
			t.Errorf("%v, %+v; want %s", err, rows.Jobs, want)
		}
	}
}

// A pod that cannot be parsed costs itself only, in a list and in a watch: it is counted and named, the other pods are read,
// it stays as it was last read, and a job that has no other pod is not taken for ended. Once it can be parsed it counts.
func TestAPodThatCannotBeParsed(t *testing.T) {
	of := func(job string) string { return fmt.Sprintf(`"job-name":%q`, job) }
	running := func(uid, name, job, node string) string {
		return pod(uid, name, of(job), "", node, "Running", "00:30", "", 1)
	}
	damaged := func(text string) string { return strings.Replace(text, `"startTime":"`, `"startTime":"on Monday, `, 1) }
	api := &apiServer{pages: []string{running("a", "a-0", "llama", "n1") + "," + running("b", "b-0", "other", "n2") + "," + running("c", "c-0", "third", "n3")}}
	server := httptest.NewServer(api)
	defer server.Close()
	cfg := jobs.KubernetesKind().NewConfig().(*jobs.KubernetesConfig)
	cfg.URL, cfg.Token = secret.NewURL(server.URL), secret.NewText("x")
	dir := t.TempDir()
	s := open(t, cfg, dir)
	want(t, "all", read(t, s, "01:00"), "ml/llama runs", "ml/other runs", "ml/third runs")
	next := func(what, clock string, dropped int, wanted ...string) {
		t.Helper()
		rows, err := s.Read(t.Context(), at(clock).Time())
		if err != nil || s.Commit() != nil {
			t.Fatal(what, err)
		}
		want(t, what, ids(rows.Jobs), wanted...)
		if rows.Dropped["malformed"] != uint64(dropped) || len(rows.Faults) != dropped || dropped > 0 && rows.Faults[0].Where != "pod ml/a-0" {
			t.Errorf("%s: dropped %v, %v", what, rows.Dropped, rows.Faults)
		}
	}
	api.events = []string{event("MODIFIED", damaged(running("a", "a-0", "llama", "n1"))), event("ADDED", running("d", "d-0", "fourth", "n4")), event("DELETED", damaged(running("c", "c-0", "third", "n3")))}
	next("a watch", "01:01", 1, "ml/fourth runs", "ml/third left the queue")
	next("nothing more", "01:02", 0)
	if got := api.asked[len(api.asked)-1]; !strings.Contains(got, "watch=true") {
		t.Errorf("the last request was %s", got)
	}
	// After a restart nothing is known of the pod but that its job runs.
	s = open(t, cfg, dir)
	api.pages = []string{damaged(running("a", "a-0", "llama", "n1")) + "," + `{"metadata":{"uid":7},"status":[]}, null`, running("b", "b-0", "other", "n2")}
	rows, err := s.Read(t.Context(), at("01:03").Time())
	if err != nil || rows.Dropped["malformed"] != 3 {
		t.Fatalf("%v; dropped %v", err, rows.Dropped)
	}
	want(t, "after a restart", ids(rows.Jobs), "ml/fourth left the queue")
	api.events = []string{event("ADDED", running("e", "a-1", "llama", "n5"))}
	next("another pod of the job", "01:04", 0, "ml/llama runs")
	api.events = []string{event("MODIFIED", running("a", "a-0", "llama", "n1")), event("DELETED", running("e", "a-1", "llama", "n5"))}
	next("it can be parsed", "01:05", 0, "ml/llama runs")
	api.events = []string{event("DELETED", damaged(running("a", "a-0", "llama", "n1")))}
	next("it is deleted", "01:06", 0, "ml/llama left the queue")
}

// An event that names no pod is an error, and all pods are read again.
func TestAnEventOfNoPod(t *testing.T) {
	api := &apiServer{pages: []string{pod("a", "a-0", `"job-name":"llama"`, "", "n1", "Running", "00:30", "", 1)}}
	server := httptest.NewServer(api)
	defer server.Close()
	cfg := jobs.KubernetesKind().NewConfig().(*jobs.KubernetesConfig)
	cfg.URL, cfg.Token = secret.NewURL(server.URL), secret.NewText("x")
	s := open(t, cfg, t.TempDir())
	want(t, "the list", read(t, s, "01:00"), "ml/llama runs")
	api.events = []string{event("DELETED", `{}`)}
	api.pages = []string{""}
	if _, err := s.Read(t.Context(), at("01:01").Time()); err == nil || !strings.Contains(err.Error(), "watch of pods: an event of no pod") {
		t.Errorf("no error: %v", err)
	}
	want(t, "the next list", read(t, s, "01:02"), "ml/llama left the queue")
}
