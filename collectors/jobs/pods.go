package jobs

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/giverny/giverny/schema"
)

// Pod has the fields used of a Kubernetes pod, core/v1.
type Pod struct {
	Metadata PodMetadata `json:"metadata"`
	Spec     struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status PodStatus `json:"status"`
}

// PodMetadata has the fields used of its metadata.
type PodMetadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace"`
	UID             string            `json:"uid"`
	ResourceVersion string            `json:"resourceVersion"`
	Labels          map[string]string `json:"labels"`
	Annotations     map[string]string `json:"annotations"`
	OwnerReferences []PodOwner        `json:"ownerReferences"`
}

// PodOwner is an owner reference.
type PodOwner struct {
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Controller *bool  `json:"controller"`
}

// PodStatus has the fields used of its status.
type PodStatus struct {
	Phase      string     `json:"phase"`
	StartTime  *time.Time `json:"startTime"`
	Containers []struct {
		State struct {
			Terminated *struct {
				FinishedAt *time.Time `json:"finishedAt"`
			} `json:"terminated"`
		} `json:"state"`
	} `json:"containerStatuses"`
	Conditions []struct {
		Type    string     `json:"type"`
		Status  string     `json:"status"`
		Changed *time.Time `json:"lastTransitionTime"`
	} `json:"conditions"`
}

// PodGrouping defines which pods form a job.
type PodGrouping struct {
	// Labels whose value names the job; the first that a pod has counts. A pod without any belongs to its controller's job.
	Labels []string
	// Ignore lists kinds of controllers whose pods are not jobs.
	Ignore []string
	// UserLabels are labels or annotations that name the user; without any it is the namespace.
	UserLabels []string
}

// podGroup is the pods of one job.
type podGroup struct {
	id, name, user string
	pods           []*Pod
}

// ended reports whether the pod no longer runs.
func (p *Pod) ended() bool { return p.Status.Phase == "Succeeded" || p.Status.Phase == "Failed" }

// finished is when its last container ended or, without any left as after an eviction, when that began; 0 if unknown.
func (p *Pod) finished() (at schema.Instant) {
	for _, c := range p.Status.Containers {
		if t := c.State.Terminated; t != nil && t.FinishedAt != nil {
			at = max(at, schema.InstantOf(*t.FinishedAt))
		}
	}
	if at != 0 || !p.ended() {
		return at
	}
	for _, c := range p.Status.Conditions {
		if c.Changed != nil && (c.Type == "DisruptionTarget" && c.Status == "True" || c.Type == "Ready" && c.Status == "False") {
			at = max(at, schema.InstantOf(*c.Changed))
		}
	}
	return at
}

// replaced reports whether the pod failed and a running one of its job has taken its place: a failed pod, such as an
// evicted one, stays in the list for days, and nothing runs on its node.
func (g *podGroup) replaced(p *Pod) bool {
	if p.Status.Phase != "Failed" {
		return false
	}
	return slices.ContainsFunc(g.pods, func(q *Pod) bool { return !q.ended() && q.started() >= max(p.started(), p.finished()) })
}

func (p *Pod) started() schema.Instant {
	if p.Status.StartTime == nil {
		return 0
	}
	return schema.InstantOf(*p.Status.StartTime)
}

func (p *Pod) controller() PodOwner {
	for _, o := range p.Metadata.OwnerReferences {
		if o.Controller != nil && *o.Controller {
			return o
		}
	}
	if len(p.Metadata.OwnerReferences) > 0 {
		return p.Metadata.OwnerReferences[0]
	}
	return PodOwner{Kind: "Pod", Name: p.Metadata.Name}
}

// group returns the job name of a pod; false: it is not part of a job.
func (g *PodGrouping) group(p *Pod) (name string, ok bool) {
	for _, label := range g.Labels {
		if v := p.Metadata.Labels[label]; v != "" {
			return v, true
		}
	}
	owner := p.controller()
	return owner.Name, !slices.Contains(g.Ignore, owner.Kind)
}

func (g *PodGrouping) user(p *Pod) string {
	for _, label := range g.UserLabels {
		if v := cmp.Or(p.Metadata.Labels[label], p.Metadata.Annotations[label]); v != "" {
			return v
		}
	}
	return p.Metadata.Namespace
}

// Jobs groups pods that have a node into jobs, by namespace and job name. A job runs from the start of its first pod to
// the end of its last; if it begins again after all of its pods had ended, it gets a new start. before has the jobs of
// the previous list, by ID: a job keeps its start when its first pods are gone, and does not change once it has ended,
// because its pods are then removed one by one.
func (g *PodGrouping) Jobs(pods map[string]*Pod, before map[string]schema.Job) List {
	groups := map[string]*podGroup{}
	for _, p := range pods {
		id, ok := g.jobID(p)
		if !ok || p.Spec.NodeName == "" || p.started() == 0 {
			continue
		}
		if groups[id] == nil {
			name, _ := g.group(p)
			groups[id] = &podGroup{id: id, name: name, user: g.user(p)}
		}
		groups[id].pods = append(groups[id].pods, p)
	}
	list := List{Complete: true}
	for _, group := range groups {
		group.addTo(&list, before[group.id])
	}
	slices.SortFunc(list.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Job.Start, b.Job.Start), strings.Compare(a.Job.ID, b.Job.ID))
	})
	return list
}

// startOf is when the job began; start is the first start of its running pods, if running.
func (g *podGroup) startOf(before *schema.Job, running bool, start schema.Instant) schema.Instant {
	ran := before.Start != 0 && before.End == 0
	switch {
	case running && ran:
		return min(start, before.Start)
	case running:
		return start
	case ran:
		return before.Start
	}
	for _, p := range g.pods { // a run that began and ended since the previous one
		if p.started() > before.End && (start == 0 || p.started() < start) {
			start = p.started()
		}
	}
	return cmp.Or(start, before.Start)
}

// addTo adds the job to the list, as of its running pods or, if none runs, the last that ended.
func (g *podGroup) addTo(list *List, before schema.Job) {
	var start, end schema.Instant
	running := false
	for _, p := range g.pods {
		if !p.ended() {
			if !running || p.started() < start {
				start = p.started()
			}
			running = true
		}
		end = max(end, p.started(), p.finished())
	}
	if start = g.startOf(&before, running, start); !running && before.End != 0 && start == before.Start {
		list.add(before, before.Nodes, Ended)
		return
	}
	var hosts []string
	failed := false
	for _, p := range g.pods {
		if p.ended() && p.finished() != 0 && p.finished() < start {
			continue // part of an earlier run
		}
		if g.replaced(p) {
			continue
		}
		failed = failed || p.Status.Phase == "Failed"
		if !slices.Contains(hosts, p.Spec.NodeName) {
			hosts = append(hosts, p.Spec.NodeName)
		}
	}
	slices.Sort(hosts)
	job := schema.Job{ID: g.id, Name: g.name, User: g.user, Start: start, State: "Running"}
	phase := Running
	if !running {
		job.State, job.End, phase = "Succeeded", end, Ended
		if failed {
			job.State = "Failed"
		}
	}
	list.add(job, hosts, phase)
}

// parsePod parses a pod. If that fails it returns what can be read of its metadata.
func parsePod(text json.RawMessage) (*Pod, error) {
	p := new(Pod)
	err := json.Unmarshal(text, p)
	if err != nil {
		var readable struct {
			Metadata PodMetadata `json:"metadata"`
		}
		_ = json.Unmarshal(text, &readable)
		p = &Pod{Metadata: readable.Metadata}
	}
	return p, err
}

// jobID returns the ID of the job of a pod; false: it is not part of a job.
func (g *PodGrouping) jobID(p *Pod) (id string, ok bool) {
	name, ok := g.group(p)
	return p.Metadata.Namespace + "/" + name, ok
}

// listMetadata is that of a page of a pod list.
type listMetadata struct {
	ResourceVersion string `json:"resourceVersion"`
	Continue        string `json:"continue"`
}

// podEvent is a line of a watch.
type podEvent struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// kubeStatus is the API server's error status.
type kubeStatus struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Reason  string `json:"reason"`
}
