package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/internal/incluster"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/tlsfile"
	"github.com/giverny/giverny/schema"
)

// KubernetesConfig configures reading pods from an API server.
type KubernetesConfig struct {
	// URL of the API server; empty: that of the cluster in which this agent runs.
	URL secret.URL `yaml:"url"`
	// A bearer token.
	Token secret.Text `yaml:"token"`
	// A file that holds the token instead, read each time; in a cluster the service account's if neither is set.
	TokenFile string `yaml:"token_file"`
	// A file of CA certificates for the server's, read again when it changes; in a cluster the service account's if it is empty.
	CA string `yaml:"ca"`
	// The namespace whose pods are read; empty: all.
	Namespace string `yaml:"namespace"`
	// Kubernetes label selector of the pods to read, such as app!=monitoring; empty: all.
	LabelSelector string `yaml:"label_selector"`
	// Labels whose value names the job of a pod; the first that exists counts. Without any, its controller is the job.
	JobLabels []string `yaml:"job_labels,flow"`
	// Labels or annotations whose value is the user of the job; the first that exists counts. Without any, the namespace is the user.
	UserLabels []string `yaml:"user_labels,flow"`
	// Kinds of controllers whose pods are not jobs.
	IgnoreOwners []string `yaml:"ignore_owners,flow"`

	Limits Limits `yaml:",inline"`
}

// KubernetesKind is the entry in the registry.
func KubernetesKind() feeds.Kind {
	return feeds.Kind{Name: "kubernetes", Description: "Pods with their nodes, from the API server of Kubernetes.", Interval: 10 * time.Second, NewConfig: func() feeds.SourceConfig {
		usual := usualGrouping()
		return &KubernetesConfig{Limits: defaultLimits(), IgnoreOwners: usual.Ignore, JobLabels: usual.Labels}
	}}
}

// Validate joins all errors.
func (c *KubernetesConfig) Validate() error {
	var f faults.List
	checkURL(&f, c.URL)
	f.Check(!c.Token.IsSet() || c.TokenFile == "", "token", "given directly and by token_file; choose one")
	c.Limits.validate(&f)
	return f.Err()
}

// Open creates the source. It reads the certificates but sends no request yet.
func (c *KubernetesConfig) Open(env feeds.Env) (feeds.Source, error) {
	k := &kubernetes{cfg: *c, client: &http.Client{},
		grouping: PodGrouping{Labels: c.JobLabels, Ignore: c.IgnoreOwners, UserLabels: c.UserLabels}, before: map[string]schema.Job{}}
	if c.URL.IsEmpty() {
		address, err := incluster.URL()
		if err != nil {
			return nil, fmt.Errorf("url: %w", err)
		}
		k.cfg.URL = secret.NewURL(address)
		if !c.Token.IsSet() && c.TokenFile == "" {
			k.cfg.TokenFile = incluster.TokenFile
		}
		k.cfg.CA = cmp.Or(c.CA, incluster.CAFile)
	}
	if k.cfg.CA != "" {
		connections, err := tlsfile.NewClient(tlsfile.Files{CA: k.cfg.CA}, env.Log)
		if err != nil {
			return nil, err
		}
		k.client.Transport = connections.Use(http.DefaultTransport.(*http.Transport).Clone())
	}
	s, err := newSource(k, c.Limits, env)
	if err != nil {
		return nil, err
	}
	for _, e := range s.tracker.running() {
		k.before[e.Job.ID] = schema.Job{Start: e.Job.Start}
	}
	return s, nil
}

// kubernetes lists pods once and then watches for changes.
type kubernetes struct {
	cfg      KubernetesConfig
	client   *http.Client
	grouping PodGrouping
	pods     *podSet               // nil: a list is needed
	listed   time.Time             // when all were read
	version  string                // resource version from which the next watch starts
	before   map[string]schema.Job // the jobs of the previous list, by ID
	drops    feeds.Drops           // pods that could not be parsed since then
}

// relistEvery is the longest time between two lists: after a restore of etcd the versions are lower, and a watch from a version
// to come neither fails nor has events.
const relistEvery = 30 * time.Minute

// watchFor is the duration of a watch, limited to half the time left for the read.
const watchFor = 5 * time.Second

// list updates the pods and groups them into jobs.
func (k *kubernetes) list(ctx context.Context, now, _ time.Time) (List, error) {
	err := errExpired
	if k.pods != nil && now.Sub(k.listed) < relistEvery {
		err = k.watchPods(ctx)
	}
	if errors.Is(err, errExpired) {
		if err = k.listPods(ctx); err == nil {
			k.listed = now
		}
	}
	drops := k.drops
	k.drops = feeds.Drops{}
	if k.pods == nil {
		return List{Drops: drops}, err
	}
	list := k.grouping.Jobs(k.pods.pods, k.before)
	list.Add(drops)
	for _, id := range k.pods.unread {
		list.missing(id)
	}
	k.before = map[string]schema.Job{}
	for _, row := range list.Rows {
		k.before[row.Job.ID] = row.Job
	}
	if len(list.Rows) > k.cfg.Limits.MaxJobs {
		list.Complete = false
	}
	return list, err
}

// errExpired means that the version is too old for a watch.
var errExpired = errors.New("resource version expired")

// pageSize of a list of pods.
const pageSize = 500

// listPods reads all pods, a page at a time.
func (k *kubernetes) listPods(ctx context.Context) error {
	pods, before, next := newPodSet(), cmp.Or(k.pods, newPodSet()), ""
	for {
		query := k.query()
		query.Set("limit", strconv.Itoa(pageSize))
		if next != "" {
			query.Set("continue", next)
		}
		var page listMetadata
		err := k.get(ctx, query, func(body io.Reader) error {
			return readPage(body, &page, func(text json.RawMessage) {
				p, err := parsePod(text)
				pods.put(p, err, &k.grouping, before, &k.drops)
			})
		})
		if err != nil {
			return err
		}
		if next = page.Continue; next == "" {
			k.pods, k.version = pods, page.ResourceVersion
			return nil
		}
	}
}

// readPage reads a page of a pod list, pod by pod, so that memory does not grow with it.
func readPage(body io.Reader, page *listMetadata, pod func(text json.RawMessage)) error {
	in := json.NewDecoder(body)
	err := eachKey(in, func(key string) error {
		switch key {
		case "metadata":
			return in.Decode(page)
		case "items":
			return eachElement(in, pod)
		}
		var skipped json.RawMessage
		return in.Decode(&skipped)
	})
	if err != nil {
		return fmt.Errorf("list of pods: %w", explain(err))
	}
	return nil
}

// watchPods processes changes for a while. It is no error if the server or a proxy does not end the watch by itself.
func (k *kubernetes) watchPods(ctx context.Context) error {
	last := watchFor
	if end, ok := ctx.Deadline(); ok {
		last = min(last, time.Until(end)/2)
	}
	watching, cancel := context.WithTimeout(ctx, last+last/2)
	defer cancel()
	query := k.query()
	query.Set("watch", "true")
	query.Set("allowWatchBookmarks", "true")
	query.Set("resourceVersion", k.version)
	query.Set("timeoutSeconds", strconv.Itoa(max(1, int(last.Seconds())))) // 0 would mean no timeout
	return k.get(watching, query, func(body io.Reader) error {
		in := json.NewDecoder(body)
		for {
			var event podEvent
			err := in.Decode(&event)
			switch {
			case err == io.EOF || watching.Err() != nil && ctx.Err() == nil:
				return nil
			case err != nil:
				return err
			}
			if err := k.take(&event); err != nil {
				return err
			}
		}
	})
}

func (k *kubernetes) take(event *podEvent) error {
	if event.Type == "ERROR" {
		var status kubeStatus
		if err := json.Unmarshal(event.Object, &status); err == nil && (status.Code == http.StatusGone || status.Reason == "Expired") {
			return errExpired
		}
		return fmt.Errorf("watch of pods: %s", status.Message)
	}
	p, err := parsePod(event.Object)
	switch event.Type {
	case "ADDED", "MODIFIED", "DELETED":
		if p.Metadata.UID == "" {
			k.listed = time.Time{} // which pod changed is not known: read all again
			return fmt.Errorf("watch of pods: an event of no pod: %w", cmp.Or(err, errNoUID))
		}
	}
	switch event.Type {
	case "ADDED", "MODIFIED":
		k.pods.put(p, err, &k.grouping, k.pods, &k.drops)
	case "DELETED":
		k.pods.remove(p.Metadata.UID)
	}
	if p.Metadata.ResourceVersion != "" { // a bookmark has nothing else
		k.version = p.Metadata.ResourceVersion
	}
	return nil
}

func (k *kubernetes) query() url.Values {
	q := url.Values{}
	if k.cfg.LabelSelector != "" {
		q.Set("labelSelector", k.cfg.LabelSelector)
	}
	return q
}

func (k *kubernetes) get(ctx context.Context, query url.Values, read func(body io.Reader) error) error {
	token, err := k.cfg.Token.Or(k.cfg.TokenFile)
	if err != nil {
		return fmt.Errorf("token of Kubernetes: %w", err)
	}
	header := http.Header{"Accept": {"application/json"}}
	if token = strings.TrimSpace(token); token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	address := strings.TrimRight(k.cfg.URL.Reveal(), "/") + "/api/v1/"
	if k.cfg.Namespace != "" {
		address += "namespaces/" + url.PathEscape(k.cfg.Namespace) + "/"
	}
	return httpGet(ctx, k.client, address+"pods?"+query.Encode(), header, func(status int, body io.Reader) error {
		switch {
		case status == http.StatusGone:
			return errExpired
		case status != http.StatusOK:
			return fmt.Errorf("status %d: %s", status, excerpt(body))
		}
		return read(body)
	})
}
