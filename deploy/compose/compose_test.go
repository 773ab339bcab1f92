// Package compose has no code: its test checks the composition in docker-compose.yml and the files that it
// mounts, since a test cannot count on a Docker engine.
package compose

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/giverny/giverny/internal/test/repo"
)

// composition is the part of the Compose Specification that the project uses; anything else is an error,
// so that a misspelt key is found.
type composition struct {
	Name     string
	Services map[string]service
	Volumes  map[string]*struct{}
}

type service struct {
	Image       string
	Build       *build
	Command     []string
	Environment map[string]string
	Ports       []string
	Volumes     []string
	Ulimits     map[string]int
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	Healthcheck *healthcheck
	Restart     string
}

type build struct {
	Context, Dockerfile string
	Args                map[string]string
}

type healthcheck struct {
	Test              []string
	Interval, Timeout time.Duration
	StartPeriod       time.Duration `yaml:"start_period"`
	Retries           int
}

func load(t *testing.T) (root string, c composition) {
	t.Helper()
	root = repo.Dir(t)
	decodeStrictly(t, filepath.Join(root, "docker-compose.yml"), &c)
	if len(c.Services) == 0 {
		t.Fatal("docker-compose.yml has no services")
	}
	return root, c
}

func decodeStrictly(t *testing.T, path string, into any) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

var pinned = regexp.MustCompile(`^[a-z0-9./-]+:v?\d+\.\d+(\.\d+)?$`)

func TestServices(t *testing.T) {
	root, c := load(t)
	for name, s := range c.Services {
		switch {
		case s.Build != nil:
			mustExist(t, name, filepath.Join(root, s.Build.Context, s.Build.Dockerfile))
		case !pinned.MatchString(s.Image):
			t.Errorf("%s: image %q has no version", name, s.Image)
		}
		if h := s.Healthcheck; h == nil || len(h.Test) < 2 || h.Test[0] != "CMD" || h.Interval == 0 || h.Timeout == 0 || h.Retries == 0 {
			t.Errorf("%s: its health check lacks a command, an interval, a timeout or retries: %+v", name, h)
		}
		if s.Restart != "unless-stopped" {
			t.Errorf("%s: restart is %q", name, s.Restart)
		}
		for other, wait := range s.DependsOn {
			if c.Services[other].Healthcheck == nil || wait.Condition != "service_healthy" {
				t.Errorf("%s: depends on %s (%s), want a service with a health check, service_healthy", name, other, wait.Condition)
			}
		}
	}
}

// TestPorts: every published port is on loopback, and no two services want the same.
func TestPorts(t *testing.T) {
	_, c := load(t)
	taken := map[string]string{}
	form := regexp.MustCompile(`^127\.0\.0\.1:(\d+):\d+$`)
	for name, s := range c.Services {
		for _, port := range s.Ports {
			host := form.FindStringSubmatch(port)
			if host == nil {
				t.Errorf("%s: port %s is not of the form 127.0.0.1:HOST:CONTAINER", name, port)
				continue
			}
			if other, ok := taken[host[1]]; ok {
				t.Errorf("%s and %s both publish port %s", name, other, host[1])
			}
			taken[host[1]] = name
		}
	}
}

// TestVolumes: what is mounted exists, or is declared and used once.
func TestVolumes(t *testing.T) {
	root, c := load(t)
	used := map[string]bool{}
	for name, s := range c.Services {
		for _, volume := range s.Volumes {
			source, _, _ := strings.Cut(volume, ":")
			if strings.HasPrefix(source, ".") {
				mustExist(t, name, filepath.Join(root, source))
				if !strings.HasSuffix(volume, ":ro") {
					t.Errorf("%s: %s may be written from inside", name, source)
				}
				continue
			}
			if _, declared := c.Volumes[source]; !declared || used[source] {
				t.Errorf("%s: volume %s is not declared or not its own", name, source)
			}
			used[source] = true
		}
	}
	for volume := range c.Volumes {
		if !used[volume] {
			t.Errorf("volume %s is declared and not used", volume)
		}
	}
}

func mustExist(t *testing.T, service, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("%s needs it: %v", service, err)
	}
}

// TestNamesAreServices: a host:port in any file of the composition is a service, or the host itself.
func TestNamesAreServices(t *testing.T) {
	root, c := load(t)
	address := regexp.MustCompile(`(?:^|[\s/@'"\[,])([a-z][a-z0-9-]*):(?:3000|8123|909[0-9]|9000|940[12]|19092)\b`)
	files := []string{filepath.Join(root, "docker-compose.yml")}
	files = append(files, filesBelow(t, filepath.Join(root, "deploy", "compose"), ".yml", ".yaml")...)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range address.FindAllStringSubmatch(string(text), -1) {
			if _, ok := c.Services[found[1]]; !ok && found[1] != "localhost" {
				t.Errorf("%s: there is no service %s", file, found[1])
			}
		}
	}
}

// TestYAML: each file of the composition is one valid document.
func TestYAML(t *testing.T) {
	for _, path := range filesBelow(t, filepath.Join(repo.Dir(t), "deploy", "compose"), ".yml", ".yaml") {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		var document map[string]any
		decoder := yaml.NewDecoder(file)
		if err := decoder.Decode(&document); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if err := decoder.Decode(&document); !errors.Is(err, io.EOF) {
			t.Errorf("%s: more than one document (%v)", path, err)
		}
	}
}

// TestRulesNameMetricsThatExist: an alert on a metric that was renamed would never fire. The reference page
// lists every metric, whole; cmd/giverny's tests keep it so.
func TestRulesNameMetricsThatExist(t *testing.T) {
	root := repo.Dir(t)
	reference, err := os.ReadFile(filepath.Join(root, "docs", "reference", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := os.ReadFile(filepath.Join(root, "deploy", "compose", "prometheus", "rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	metrics := regexp.MustCompile(`\bgiverny_[a-z_]+`).FindAllString(string(rules), -1)
	if len(metrics) == 0 {
		t.Fatal("the rules name no metric of Giverny's")
	}
	for _, metric := range metrics {
		base := metric // a histogram is listed without its parts
		for _, part := range []string{"_bucket", "_sum", "_count"} {
			base = strings.TrimSuffix(base, part)
		}
		if page := string(reference); !strings.Contains(page, "\n| `"+metric+"` |") && !strings.Contains(page, "\n| `"+base+"` |") {
			t.Errorf("the rules name %s, which docs/reference/metrics.md does not list", metric)
		}
	}
}

// TestDashboardsUseProvisionedSources: a panel that names another data source stays empty.
func TestDashboardsUseProvisionedSources(t *testing.T) {
	root := repo.Dir(t)
	provisioned, err := os.ReadFile(filepath.Join(root, "deploy", "compose", "grafana", "provisioning", "datasources", "giverny.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range filesBelow(t, filepath.Join(root, "dashboards", "grafana"), ".json") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(text) {
			t.Errorf("%s is not JSON", path)
		}
		for _, uid := range regexp.MustCompile(`"uid":\s*"(giverny-[a-z]+)"`).FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(string(provisioned), "uid: "+uid[1]+"\n") && !strings.Contains(filepath.Base(path), uid[1]) {
				t.Errorf("%s: there is no data source %s", path, uid[1])
			}
		}
	}
}

func filesBelow(t *testing.T, dir string, endings ...string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && path != dir:
			return fs.SkipDir
		case !entry.IsDir() && slices.ContainsFunc(endings, func(e string) bool { return strings.HasSuffix(path, e) }):
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
