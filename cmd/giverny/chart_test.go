package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/ops"
	"github.com/giverny/giverny/internal/test/repo"
)

// manifest is what these tests read of the objects that the Helm chart renders.
type manifest struct {
	Kind     string
	Metadata struct{ Name string }
	Data     map[string]string
	Rules    []struct {
		APIGroups []string `yaml:"apiGroups"`
		Resources []string
		Verbs     []string
	}
	Spec struct {
		Template struct{ Spec podSpec }
	}
}

type podSpec struct {
	AutomountServiceAccountToken bool `yaml:"automountServiceAccountToken"`
	Containers                   []struct {
		Args  []string
		Ports []struct {
			Name          string
			ContainerPort int `yaml:"containerPort"`
		}
		Liveness  probe `yaml:"livenessProbe"`
		Readiness probe `yaml:"readinessProbe"`
		Mounts    []struct {
			Path string `yaml:"mountPath"`
		} `yaml:"volumeMounts"`
	}
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

func decodeManifests(t *testing.T, text string) (all []manifest) {
	t.Helper()
	for decoder := yaml.NewDecoder(strings.NewReader(text)); ; {
		var m manifest
		switch err := decoder.Decode(&m); err {
		case nil:
			all = append(all, m)
		case io.EOF:
			return all
		default:
			t.Fatal(err)
		}
	}
}

// rendered returns the objects of deploy/helm/testdata/NAME.yaml, which the module charttest compares with the chart.
func rendered(t *testing.T, name string) []manifest {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repo.Dir(t), "deploy", "helm", "testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return decodeManifests(t, string(text))
}

// chartRoles are the commands of the chart's roles.
var chartRoles = map[string]string{"giverny-agent": "collect", "giverny-feeds": "collect", "giverny-analyze": "analyze", "giverny-serve": "serve"}

// The configuration that the chart renders is valid for each role, and names only files that are mounted in its pod.
func TestChartConfiguresTheRoles(t *testing.T) {
	for _, name := range []string{"small", "full", "documented"} {
		objects := rendered(t, name)
		for _, object := range objects {
			if object.Kind != "ConfigMap" || chartRoles[object.Metadata.Name] == "" {
				continue
			}
			text := object.Data["giverny.yaml"]
			file := filepath.Join(t.TempDir(), "giverny.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, err := config.Load(file, nil)
			if err != nil {
				t.Errorf("%s: %s: %v", name, object.Metadata.Name, err)
			}
			checkPod(t, name, object.Metadata.Name, podOf(t, objects, object.Metadata.Name), &cfg, text)
		}
	}
}

func podOf(t *testing.T, objects []manifest, role string) podSpec {
	t.Helper()
	for _, object := range objects {
		if object.Metadata.Name == role && len(object.Spec.Template.Spec.Containers) == 1 {
			return object.Spec.Template.Spec
		}
	}
	t.Fatalf("no pod of %s", role)
	return podSpec{}
}

// checkPod compares a pod with the command line, the configuration, and the paths of the program.
func checkPod(t *testing.T, name, role string, pod podSpec, cfg *config.Config, text string) {
	t.Helper()
	c := pod.Containers[0]
	cmd, args, err := newRoot().Find(c.Args)
	if err == nil {
		err = cmd.ParseFlags(args)
	}
	if err != nil || cmd.Name() != chartRoles[role] || cmd.Flag("config").Value.String() != "/etc/giverny/config/giverny.yaml" {
		t.Errorf("%s: %s runs %q: %v", name, role, c.Args, err)
	}
	ports := map[string]string{}
	for _, p := range c.Ports {
		ports[p.Name] = fmt.Sprintf(":%d", p.ContainerPort)
	}
	if ports["metrics"] != cfg.HTTP.Metrics.Listen || ports["http"] != "" && ports["http"] != cfg.HTTP.Listen {
		t.Errorf("%s: %s has ports %v, and listens on %q and %q", name, role, ports, cfg.HTTP.Metrics.Listen, cfg.HTTP.Listen)
	}
	for _, p := range []probe{c.Liveness, c.Readiness} {
		answer := httptest.NewRecorder()
		ops.New("test").Own(false).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, p.HTTPGet.Path, nil))
		if p.HTTPGet.Port != "metrics" || answer.Code != http.StatusOK {
			t.Errorf("%s: %s: probe of %s on port %s: status %d", name, role, p.HTTPGet.Path, p.HTTPGet.Port, answer.Code)
		}
	}
	needsTopology := role != "giverny-agent" // agents without feeds read no topology
	for _, word := range strings.Fields(text) {
		mounted := slices.ContainsFunc(c.Mounts, func(m struct {
			Path string `yaml:"mountPath"`
		}) bool {
			return strings.HasPrefix(word, m.Path+"/")
		})
		if strings.HasPrefix(word, "/") && !mounted && (needsTopology || !strings.HasPrefix(word, "/etc/giverny/topology/")) {
			t.Errorf("%s: %s: %s is not mounted", name, role, word)
		}
	}
	calls := cfg.Collect.Jobs.Sections["kubernetes"].Enabled || cfg.Feedback.Kubernetes.Nodes.Enabled
	if pod.AutomountServiceAccountToken != calls {
		t.Errorf("%s: %s has a token: %v, and calls the API server: %v", name, role, pod.AutomountServiceAccountToken, calls)
	}
}

// With the least values, `config check` accepts the configuration of each role where the chart's files are.
func TestChartConfigurationIsChecked(t *testing.T) {
	objects := rendered(t, "small")
	dir := t.TempDir()
	for _, object := range objects {
		for file, text := range object.Data {
			if object.Metadata.Name == "giverny-topology" {
				writeFile(t, filepath.Join(dir, "topology", file), text)
			}
		}
	}
	writeFile(t, filepath.Join(dir, "secrets", "tokens"), "grafana viewer sha256:"+strings.Repeat("0", 64)+"\n")
	for _, object := range objects {
		if chartRoles[object.Metadata.Name] == "" || object.Kind != "ConfigMap" {
			continue
		}
		file := filepath.Join(dir, "config", object.Metadata.Name+".yaml")
		writeFile(t, file, strings.ReplaceAll(object.Data["giverny.yaml"], "/etc/giverny", dir)+"\ndata_dir: "+dir+"\n")
		root := newRoot()
		root.SetArgs([]string{"config", "check", "--config", file})
		var said strings.Builder
		root.SetErr(&said)
		if _, err := execute(t.Context(), root, &said); err != nil || !strings.Contains(said.String(), "configuration ok") {
			t.Errorf("%s: %v\n%s", object.Metadata.Name, err, said.String())
		}
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The roles of the chart have the permissions that the page about schedulers lists, no more and no fewer. The tests of feedback
// and of the feeds let the real API server decide about each call.
func TestChartPermissions(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repo.Dir(t), "docs", "how-to", "feedback-to-schedulers.md"))
	if err != nil {
		t.Fatal(err)
	}
	block, _, found := strings.Cut(string(page[strings.Index(string(page), "```yaml\napiVersion: v1\nkind: ServiceAccount"):])[len("```yaml\n"):], "```")
	want, got := permissions(decodeManifests(t, block)), permissions(rendered(t, "full"))
	if !found || len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("the chart permits %q, the page %q", got, want)
	}
	if got := permissions(rendered(t, "small")); len(got) > 0 {
		t.Errorf("by default the chart permits %q", got)
	}
}

func permissions(objects []manifest) (all []string) {
	for _, object := range objects {
		for _, rule := range object.Rules {
			all = append(all, fmt.Sprint(rule.APIGroups, rule.Resources, rule.Verbs))
		}
	}
	slices.Sort(all)
	return all
}
