// Command record runs the Kubernetes scheduler with an extender, against a fake API with four nodes, and records the
// scheduler's requests: see README.md.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

func main() {
	extender := flag.String("extender", "http://127.0.0.1:18231/feedback/kubernetes", "URL of the extender, without a verb")
	out := flag.String("out", ".", "folder of the recordings")
	names := flag.Bool("names", false, "nodeCacheCapable: names of nodes instead of nodes")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	proxy := httptest.NewServer(recording(*extender, *out, *names))
	client := fake.NewClientset(cluster()...)
	bound := watchBindings(client)
	factory := scheduler.NewInformerFactory(client, 0)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	s, err := scheduler.New(ctx, client, factory, nil, profile.NewRecorderFactory(broadcaster),
		scheduler.WithExtenders(config.Extender{URLPrefix: proxy.URL, FilterVerb: "filter", PrioritizeVerb: "prioritize",
			Weight: 5, NodeCacheCapable: *names, HTTPTimeout: metav1.Duration{Duration: 10 * time.Second}}))
	must(err)
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	must(s.WaitForHandlersSync(ctx))
	go s.Run(ctx)
	_, err = client.CoreV1().Pods("ml").Create(ctx, pod(), metav1.CreateOptions{})
	must(err)
	select {
	case where := <-bound:
		fmt.Println(where)
	case <-ctx.Done():
		log.Fatal("no pod was bound")
	}
}

// recording proxies requests to an extender and saves their bodies.
func recording(extender, out string, names bool) http.HandlerFunc {
	form := "nodes"
	if names {
		form = "names"
	}
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		must(err)
		verb := filepath.Base(r.URL.Path)
		must(os.WriteFile(filepath.Join(out, verb+"-"+form+".json"), body, 0o644))
		answer, err := http.Post(extender+"/"+verb, r.Header.Get("Content-Type"), bytes.NewReader(body))
		must(err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		must(err)
		log.Printf("%s: %s %s", verb, answer.Status, text)
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		w.WriteHeader(answer.StatusCode)
		w.Write(text)
	}
}

// cluster is a namespace and four nodes, the last of which is unschedulable.
func cluster() []runtime.Object {
	objects := []runtime.Object{&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ml"}}}
	began := metav1.NewTime(time.Date(2026, 11, 2, 8, 0, 0, 0, time.UTC))
	for i := range 4 {
		name := fmt.Sprintf("host%d", i)
		amount := v1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("263856252Ki"), "nvidia.com/gpu": resource.MustParse("8"), "pods": resource.MustParse("110")}
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprintf("6f1d2c1e-0000-4000-8000-00000000000%d", i)), ResourceVersion: "7", CreationTimestamp: began,
			Labels:      map[string]string{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "topology.kubernetes.io/zone": "a"},
			Annotations: map[string]string{"note": "quotes \" and <angles>"}},
			Spec: v1.NodeSpec{PodCIDR: fmt.Sprintf("10.244.%d.0/24", i), ProviderID: "bare://" + name},
			Status: v1.NodeStatus{Capacity: amount, Allocatable: amount, Addresses: []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: fmt.Sprintf("10.0.0.%d", i)}},
				Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: began, LastTransitionTime: began}},
				NodeInfo:   v1.NodeSystemInfo{KubeletVersion: "v1.35.4", OperatingSystem: "linux", Architecture: "amd64"}}}
		if i == 3 {
			node.Spec.Taints = []v1.Taint{{Key: "broken", Effect: v1.TaintEffectNoSchedule}}
		}
		objects = append(objects, node)
	}
	return objects
}

func pod() *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "trainer-0", Namespace: "ml", UID: "5f0c0000-0000-4000-8000-000000000000", Labels: map[string]string{"app": "trainer"}},
		Spec: v1.PodSpec{SchedulerName: "default-scheduler", Containers: []v1.Container{{Name: "main", Image: "trainer:1",
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")}}}}}}
}

// watchBindings reports where pods are bound.
func watchBindings(client *fake.Clientset) <-chan string {
	bound := make(chan string, 1)
	client.PrependReactor("create", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
		create, ok := a.(clienttesting.CreateAction)
		if !ok || a.GetSubresource() != "binding" {
			return false, nil, nil
		}
		binding := create.GetObject().(*v1.Binding)
		bound <- "pod " + binding.Name + " bound to " + binding.Target.Name
		return true, binding, nil
	})
	return bound
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
