// Package charttest has no code: its test renders the Helm chart with Helm's own engine, lints it, and decodes what comes
// out with the types of Kubernetes. It is a module of its own, so that Helm is no dependency of Giverny: run `go test ./...`
// in this folder. The manifests in ../testdata are what the tests of cmd/giverny and feedback read.
package charttest

import (
	"cmp"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
)

const (
	chartDir = "../giverny"
	dataDir  = "../testdata"
)

var rewrite = flag.Bool("rewrite", false, "write the manifests that come out")

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.Load(chartDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// documented are the values on the page, everything else those in testdata.
const documented = "documented"

func values(t *testing.T, name string) chartutil.Values {
	t.Helper()
	file := filepath.Join(dataDir, name+".values.yaml")
	if name == documented {
		file = "../../../docs/how-to/run-on-a-cluster.md"
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if name == documented {
		_, after, _ := strings.Cut(string(text), "   ```yaml\n   image:")
		block, _, found := strings.Cut("   image:"+after, "   ```\n")
		if text = []byte(strings.ReplaceAll(block, "\n   ", "\n")[len("   "):]); !found {
			t.Fatal("the page has no values")
		}
	}
	v, err := chartutil.ReadValues(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// render returns the manifests in the order of their files, comments included, as `helm template` does.
func render(c *chart.Chart, v chartutil.Values) (manifests, notes string, err error) {
	release := chartutil.ReleaseOptions{Name: "giverny", Namespace: "giverny", Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(c, v, release, chartutil.DefaultCapabilities)
	if err != nil {
		return "", "", err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return "", "", err
	}
	var parts []string
	for path, text := range files {
		switch {
		case strings.HasSuffix(path, "NOTES.txt"):
			notes = text
		case strings.TrimSpace(text) != "":
			parts = append(parts, "# "+filepath.Base(path)+"\n"+strings.TrimSpace(text)+"\n")
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "---\n"), notes, nil
}

// What the chart renders is what stands in testdata, every object of it one that Kubernetes knows, without unknown or
// duplicate fields.
func TestManifests(t *testing.T) {
	c := load(t)
	for _, name := range []string{"small", "full", documented} {
		got, notes, err := render(c, values(t, name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.Contains(notes, "port-forward service/giverny 9401") {
			t.Errorf("%s: notes:\n%s", name, notes)
		}
		decodeStrictly(t, name, got)
		file := filepath.Join(dataDir, name+".yaml")
		if *rewrite {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil || string(want) != got {
			t.Errorf("%s is not what the chart renders (%v); go test -rewrite writes it", file, err)
		}
	}
}

// podMonitor is the kind of which client-go has no type; the API group belongs to the Prometheus operator.
const podMonitor = "kind: PodMonitor\n"

func decodeStrictly(t *testing.T, name, manifests string) {
	t.Helper()
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Yaml: true, Strict: true})
	kinds := map[string]int{}
	for text := range strings.SplitSeq(manifests, "---\n") {
		if strings.Contains(text, podMonitor) || !strings.Contains(text, "kind:") {
			continue
		}
		_, kind, err := strict.Decode([]byte(text), nil, nil)
		if err != nil {
			t.Errorf("%s: %v in\n%s", name, err, text)
			continue
		}
		kinds[kind.Kind]++
	}
	want := map[string]map[string]int{"small": {"DaemonSet": 1, "Deployment": 1, "StatefulSet": 1, "Service": 2, "ConfigMap": 4, "ServiceAccount": 3},
		documented: {"DaemonSet": 1, "Deployment": 1, "StatefulSet": 1, "Service": 2, "ConfigMap": 3, "ServiceAccount": 3},
		"full":     {"DaemonSet": 1, "Deployment": 2, "StatefulSet": 1, "Service": 4, "ConfigMap": 4, "ServiceAccount": 4, "ClusterRole": 2, "ClusterRoleBinding": 2, "NetworkPolicy": 1}}[name]
	for kind := range kinds {
		if kinds[kind] != want[kind] {
			t.Errorf("%s: %d of kind %s, want %d", name, kinds[kind], kind, want[kind])
		}
	}
	if len(kinds) != len(want) {
		t.Errorf("%s: kinds %v, want %v", name, kinds, want)
	}
}

// A feed that reads one namespace gets a Role there and no ClusterRole; without nodes to mark there is no ClusterRole at all.
func TestLeastRights(t *testing.T) {
	v := values(t, "full")
	kubernetes, err := v.Table("feeds.config.collect.jobs.kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	kubernetes["namespace"] = "train"
	nodes, err := v.Table("analyze.config.feedback.kubernetes.nodes")
	if err != nil {
		t.Fatal(err)
	}
	nodes["enabled"] = false
	got, _, err := render(load(t), v)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(got, "ClusterRole") || strings.Count(got, "namespace: train") < 2 || !strings.Contains(got, "kind: RoleBinding") {
		t.Errorf("rights:\n%s", got[strings.Index(got, "# access.yaml"):])
	}
	if n := strings.Count(got, "automountServiceAccountToken: true"); n != 1 {
		t.Errorf("%d roles have a token, want the feeds alone", n)
	}
}

// What is missing is named, with the key and an example.
func TestMissingValues(t *testing.T) {
	c := load(t)
	for key, want := range map[string]string{"kafka": "config.kafka.brokers is empty", "store": "config.store.url is empty", "fabrics": "config.fabrics is empty"} {
		v := values(t, "small")
		config, err := v.Table("config")
		if err != nil {
			t.Fatal(err)
		}
		delete(config, key)
		if _, _, err := render(c, v); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v", key, err)
		}
	}
	v := values(t, "full")
	web, err := v.Table("analyze.config.http")
	if err != nil {
		t.Fatal(err)
	}
	web["listen"] = "127.0.0.1:9401"
	if _, _, err := render(c, v); err == nil || !strings.Contains(err.Error(), "kube-scheduler cannot reach it") {
		t.Errorf("an extender on loopback: %v", err)
	}
}

func TestLint(t *testing.T) {
	for _, name := range []string{"small", "full"} {
		result := lint.AllWithKubeVersion(chartDir, values(t, name), "giverny", nil)
		for _, m := range result.Messages {
			if icon := strings.Contains(cmp.Or(m.Err, error(nil)).Error(), "icon is recommended"); m.Severity > support.InfoSev || !icon {
				t.Errorf("%s: %v", name, m)
			}
		}
	}
}
