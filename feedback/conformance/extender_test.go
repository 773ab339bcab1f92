package conformance

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extender "k8s.io/kube-scheduler/extender/v1"

	"github.com/giverny/giverny/feedback/kubernetes"
	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/feedback/record/recordtest"
)

func startExtender(t *testing.T, change func(*kubernetes.ExtenderConfig)) *httptest.Server {
	t.Helper()
	cfg := kubernetes.DefaultConfig().Extender
	cfg.Enabled, cfg.DryRun, cfg.Allow = true, false, []string{"host*"}
	if change != nil {
		change(&cfg)
	}
	e := kubernetes.NewExtender(cfg, recordtest.New(t, "kubernetes-extender", kubernetes.ExtenderReasons()).Recorder, slog.New(slog.NewTextHandler(io.Discard, nil)))
	e.Take(reconcile.Scores{Fabric: "ib0", Nodes: []policy.Score{{Node: "host1", Score: 95, Reason: "1 of its 1 links are congested"}, {Node: "host2", Score: 40}}})
	e.Take(reconcile.Scores{Fabric: "ib1", Nodes: []policy.Score{{Node: "host2", Score: 52}}})
	mux := http.NewServeMux()
	e.Register(mux)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// ask posts a request to a verb, and decodes the response into the scheduler's type;
// unknown fields are an error.
func ask[T any](t *testing.T, server *httptest.Server, verb string, body []byte) (answer T) {
	t.Helper()
	response, err := http.Post(server.URL+"/feedback/kubernetes/"+verb, "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s, %v", verb, response.Status, text, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&answer); err != nil {
		t.Fatalf("%s: %v of %s", verb, err, text)
	}
	return answer
}

// requests are a scheduler's requests about a pod and the nodes host0 to host2, encoded
// with its own types as by its HTTP extender, with and without nodeCacheCapable.
func requests(t *testing.T, verb string) map[string][]byte {
	t.Helper()
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "trainer-0", Namespace: "ml", UID: "5f0c", Labels: map[string]string{"app": "trainer"}},
		Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("4")}}}}}}
	nodes, names := &v1.NodeList{}, []string{}
	for _, name := range []string{"host0", "host1", "host2"} {
		names = append(names, name)
		nodes.Items = append(nodes.Items, v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": "a"}, ResourceVersion: "7"},
			Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: "k", Effect: v1.TaintEffectNoSchedule}}}, Status: v1.NodeStatus{Capacity: v1.ResourceList{"cpu": resource.MustParse("64")}}})
	}
	all := map[string][]byte{}
	for name, args := range map[string]extender.ExtenderArgs{"names": {Pod: pod, NodeNames: &names}, "nodes": {Pod: pod, Nodes: nodes}} {
		text, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = text
	}
	return all
}

func TestFilterAnswersTheScheduler(t *testing.T) {
	server := startExtender(t, nil)
	for name, request := range requests(t, "filter") {
		var args extender.ExtenderArgs
		if err := json.Unmarshal(request, &args); err != nil {
			t.Fatal(err)
		}
		got := ask[extender.ExtenderFilterResult](t, server, "filter", request)
		if got.Error != "" || len(got.FailedNodes) != 1 || !strings.Contains(got.FailedNodes["host1"], "congestion score 95") {
			t.Errorf("%s: failed nodes %v, error %q", name, got.FailedNodes, got.Error)
		}
		if args.NodeNames != nil {
			if got.Nodes != nil || got.NodeNames == nil || !cmp.Equal(*got.NodeNames, []string{"host0", "host2"}) {
				t.Errorf("%s: names %v, nodes %v", name, got.NodeNames, got.Nodes)
			}
			continue
		}
		if got.NodeNames != nil || got.Nodes == nil || len(got.Nodes.Items) != 2 {
			t.Fatalf("%s: names %v, nodes %v", name, got.NodeNames, got.Nodes)
		}
		want := args.Nodes.DeepCopy() // complete and unchanged
		want.Items = append(want.Items[:1], want.Items[2])
		if diff := cmp.Diff(want, got.Nodes); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestPrioritizeAnswersTheScheduler(t *testing.T) {
	server := startExtender(t, nil)
	want := extender.HostPriorityList{{Host: "host0", Score: extender.MaxExtenderPriority}, {Host: "host1", Score: 1}, {Host: "host2", Score: 5}}
	for name, request := range requests(t, "prioritize") {
		if diff := cmp.Diff(want, ask[extender.HostPriorityList](t, server, "prioritize", request)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// In a dry run, with stale scores, for a node that is not allowed, and if no node would
// remain, every node passes.
func TestTheExtenderFailsOpen(t *testing.T) {
	for name, change := range map[string]func(*kubernetes.ExtenderConfig){
		"dry run":     func(c *kubernetes.ExtenderConfig) { c.DryRun = true },
		"stale":       func(c *kubernetes.ExtenderConfig) { c.MaxAge = 1 },
		"not allowed": func(c *kubernetes.ExtenderConfig) { c.Allow = []string{"other"} },
		"no filter":   func(c *kubernetes.ExtenderConfig) { c.FilterAt = 0 },
	} {
		server := startExtender(t, change)
		for file, request := range requests(t, "filter") {
			got := ask[extender.ExtenderFilterResult](t, server, "filter", request)
			if len(got.FailedNodes) > 0 || got.NodeNames != nil && len(*got.NodeNames) != 3 || got.Nodes != nil && len(got.Nodes.Items) != 3 {
				t.Errorf("%s, %s: %+v", name, file, got)
			}
		}
	}
	one, err := json.Marshal(extender.ExtenderArgs{NodeNames: &[]string{"host1"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := ask[extender.ExtenderFilterResult](t, startExtender(t, nil), "filter", one); len(got.FailedNodes) > 0 || len(*got.NodeNames) != 1 {
		t.Errorf("the last node: %+v", got)
	}
}

// Requests recorded from the Kubernetes scheduler placing a pod (testdata/scheduler/README.md): nodes are returned
// unchanged, and the responses have its own types.
func TestRecordedRequestsAreAnswered(t *testing.T) {
	server := startExtender(t, nil)
	for _, form := range []string{"nodes", "names"} {
		request, args := recorded(t, "filter-"+form)
		if asked := nodesOf(args.Nodes, args.NodeNames); !cmp.Equal(asked, []string{"host0", "host1", "host2"}) || args.Pod.Name != "trainer-0" {
			t.Fatalf("%s: the recording asks about %v for %q", form, asked, args.Pod.Name)
		}
		got := ask[extender.ExtenderFilterResult](t, server, "filter", request)
		if got.Error != "" || len(got.FailedNodes) != 1 || got.FailedNodes["host1"] == "" || !cmp.Equal(nodesOf(got.Nodes, got.NodeNames), []string{"host0", "host2"}) {
			t.Errorf("%s: %+v", form, got)
		}
		if args.Nodes != nil {
			if diff := cmp.Diff([]v1.Node{args.Nodes.Items[0], args.Nodes.Items[2]}, got.Nodes.Items); diff != "" {
				t.Errorf("nodes do not come back as they came: %s", diff)
			}
		}
		request, _ = recorded(t, "prioritize-"+form)
		want := extender.HostPriorityList{{Host: "host0", Score: extender.MaxExtenderPriority}, {Host: "host2", Score: 5}}
		if diff := cmp.Diff(want, ask[extender.HostPriorityList](t, server, "prioritize", request)); diff != "" {
			t.Errorf("%s: %s", form, diff)
		}
	}
}

// recorded returns a recorded request, raw and decoded.
func recorded(t *testing.T, name string) (request []byte, args extender.ExtenderArgs) {
	t.Helper()
	request, err := os.ReadFile("testdata/scheduler/" + name + ".json")
	if err == nil {
		err = json.Unmarshal(request, &args)
	}
	if err != nil {
		t.Fatal(err)
	}
	return request, args
}

func nodesOf(nodes *v1.NodeList, names *[]string) (all []string) {
	if names != nil {
		return *names
	}
	for i := range nodes.Items {
		all = append(all, nodes.Items[i].Name)
	}
	return all
}

// 500 requests at a time while regions change, as of a scheduler that places a large workload: each answer is in the
// scheduler's form and consistent, and no request waits for another.
func TestManyRequestsWhileRegionsChange(t *testing.T) {
	cfg := kubernetes.DefaultConfig().Extender
	cfg.Enabled, cfg.DryRun, cfg.Allow = true, false, []string{"host*"}
	e := kubernetes.NewExtender(cfg, recordtest.New(t, "kubernetes-extender", kubernetes.ExtenderReasons()).Recorder, slog.New(slog.NewTextHandler(io.Discard, nil)))
	hot := func(node string) reconcile.Scores {
		return reconcile.Scores{Fabric: "ib0", Nodes: []policy.Score{{Node: node, Score: 95}, {Node: "host2", Score: 40}}}
	}
	e.Take(hot("host0"))
	mux := http.NewServeMux()
	e.Register(mux)
	server := httptest.NewServer(mux)
	defer server.Close()
	stop := make(chan struct{})
	var changing, asking sync.WaitGroup
	changing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				e.Take(hot([]string{"host0", "host1"}[i%2]))
			}
		}
	})
	filters, priorities := requests(t, "filter"), requests(t, "prioritize")
	began := time.Now()
	for i := range 500 {
		asking.Go(func() {
			form := []string{"names", "nodes"}[i%2]
			got := ask[extender.ExtenderFilterResult](t, server, "filter", filters[form])
			if len(got.FailedNodes) != 1 || got.FailedNodes["host2"] != "" || got.Error != "" {
				t.Errorf("failed nodes %v, error %q", got.FailedNodes, got.Error)
			}
			list := ask[extender.HostPriorityList](t, server, "prioritize", priorities[form])
			if len(list) != 3 || list[0].Score+list[1].Score != extender.MaxExtenderPriority+1 || list[2].Score != 6 {
				t.Errorf("priorities %v", list)
			}
		})
	}
	asking.Wait()
	close(stop)
	changing.Wait()
	if took := time.Since(began); took > 20*time.Second { // 0.3 s on two idle cores
		t.Errorf("1,000 requests took %v", took)
	}
}
