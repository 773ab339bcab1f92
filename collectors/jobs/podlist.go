package jobs

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/giverny/giverny/collectors/feeds"
)

// usualGrouping uses the labels set by operators of batch jobs.
func usualGrouping() PodGrouping {
	return PodGrouping{Ignore: []string{"DaemonSet", "Node"},
		Labels: []string{"jobset.sigs.k8s.io/jobset-name", "training.kubeflow.org/job-name", "volcano.sh/job-name", "ray.io/cluster",
			"batch.kubernetes.io/job-name", "job-name"}}
}

// readPods reads the output of `kubectl get pods --all-namespaces --output json`, with the usual grouping. Malformed pods are
// counted and skipped.
func readPods(r io.Reader, name string) (List, error) {
	in := json.NewDecoder(r)
	refused := List{name: name, unit: "pod"}
	pods, listed, kind := map[string]*Pod{}, false, ""
	err := eachKey(in, func(key string) error {
		if key == "kind" {
			return in.Decode(&kind)
		}
		if key != "items" {
			var skipped json.RawMessage
			return in.Decode(&skipped)
		}
		listed = true
		return eachElement(in, func(text json.RawMessage) {
			refused.place++
			pod, err := parsePod(text)
			if err != nil {
				refused.drop(feeds.Malformed, fmt.Sprintf("%s: %v", pod.where(), err))
				return
			}
			pods[fmt.Sprint(refused.place)] = pod
		})
	})
	switch {
	case err != nil:
		return List{}, fmt.Errorf("%s: %w", name, err)
	case kind != "" && kind != "List" && kind != "PodList" && kind != "Pod":
		return List{}, fmt.Errorf("%s: kind %.60q, not pods; want the output of `kubectl get pods --all-namespaces --output json`", name, kind)
	case !listed:
		return List{}, fmt.Errorf("%s: no key \"items\"; want the output of `kubectl get pods --all-namespaces --output json`", name)
	}
	grouping := usualGrouping()
	list := grouping.Jobs(pods, nil)
	list.name, list.unit = name, "job"
	list.Add(refused.Drops)
	return list, nil
}
