package settings_test

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"github.com/giverny/giverny/internal/settings"
	"github.com/giverny/giverny/schema"
)

type tls struct {
	Enabled bool   `yaml:"enabled"`
	CA      string `yaml:"ca"`
}

type bus struct {
	Brokers []string      `yaml:"brokers"`
	Timeout time.Duration `yaml:"timeout"`
	TLS     tls           `yaml:"tls"`
}

type fabric struct {
	Name    string          `yaml:"name"`
	Metrics []schema.Metric `yaml:"metrics"`
	Links   int             `yaml:"links"`
}

func (f *fabric) SetDefaults() { *f = fabric{Links: 20} }

// source is a section with a name and kind-specific settings.
type source struct {
	Enabled  bool `yaml:"enabled"`
	Settings any  `yaml:",inline"`
}

func (s *source) Description() string { return "A source." }

type sysfs struct {
	Root string `yaml:"root"`
}

type patterns struct {
	Exclude []string `yaml:"exclude,flow"`
}

type config struct {
	Bus struct {
		Embedded bool `yaml:"embedded"`
		Inner    bus  `yaml:",inline"`
	} `yaml:"kafka"`
	Fabrics []fabric           `yaml:"fabrics"`
	Labels  map[string]string  `yaml:"labels"`
	Sources map[string]*source `yaml:",inline"`
	Note    string             `yaml:"-"`
}

func load(text string, environ ...string) (config, error) {
	var c config
	c.Bus.Inner.Timeout = time.Second
	c.Sources = map[string]*source{"ibsysfs": {Settings: &sysfs{Root: "/sys"}}, "ethtool": {Settings: &patterns{Exclude: []string{"lo"}}}}
	moved := settings.Moved{"kafka.spool_bytes": "spool.max_bytes"}
	if err := settings.File(&c, settings.Source{Name: "giverny.yaml", Text: []byte(text)}, moved); err != nil {
		return c, err
	}
	return c, settings.Environment(&c, "GIVERNY", environ, []string{"GIVERNY_LIBCHDB"}, moved)
}

func TestLoad(t *testing.T) {
	c, err := load(`
kafka:
  embedded: true
  brokers: [a:1]
  tls: {enabled: true}
fabrics:
  - name: ib0
    metrics: [credit_stall]
labels: {any: thing}
`, "GIVERNY_KAFKA_BROKERS=b:2,c:3", "GIVERNY_KAFKA_TIMEOUT=3m", "GIVERNY_FABRICS_0_NAME=ib1", "GIVERNY_FABRICS_1_NAME=ib2", "GIVERNY_LIBCHDB=/lib", "HOME=/")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"b:2", "c:3"}, c.Bus.Inner.Brokers); diff != "" {
		t.Error(diff)
	}
	if !c.Bus.Embedded || !c.Bus.Inner.TLS.Enabled || c.Bus.Inner.Timeout != 3*time.Minute {
		t.Errorf("got %+v", c)
	}
	if diff := cmp.Diff([]fabric{{"ib1", []schema.Metric{schema.CreditStall}, 20}, {Name: "ib2", Links: 20}}, c.Fabrics); diff != "" {
		t.Error(diff)
	}
}

func TestFaultsAreNamed(t *testing.T) {
	for _, c := range []struct {
		text, env string
		want      []string
	}{
		{"kafka:\n  brokrs: [a]\n", "", []string{"giverny.yaml:2", `"kafka.brokrs"`, `did you mean "brokers"`}},
		{"kafka:\n  tls:\n    zzzzzz: 1\n", "", []string{"giverny.yaml:3", "known here: enabled, ca"}},
		{"fabrics:\n- name: a\n- nam: b\n", "", []string{"giverny.yaml:3", `"fabrics.1.nam"`, `"name"`}},
		{"kafka: {}\nkafka: {}\n", "", []string{`key "kafka" is duplicated`}},
		{"kafka: {spool_bytes: 1}", "", []string{`giverny.yaml:1: key "kafka.spool_bytes" is now "spool.max_bytes"`}},
		{"", "GIVERNY_KAFKA_SPOOL_BYTES=1", []string{"GIVERNY_KAFKA_SPOOL_BYTES is now GIVERNY_SPOOL_MAX_BYTES"}},
		{"kafka: yes", "", []string{"giverny.yaml:1: kafka: want nested keys"}},
		{"fabrics: {name: a}", "", []string{"fabrics: want a list"}},
		{"ibsysfs: {rot: x}", "", []string{`unknown key "ibsysfs.rot"; did you mean "root"`}},
		{"fabrics: [{links: [1]}]", "", []string{"fabrics.0.links: [1]: want a whole number"}},
		{"", "GIVERNY_FABRICS_2_NAME=x", []string{"matches no key"}},
		{"", "GIVERNY_KAFKA_TIMEOUT=60", []string{`"60": want a duration such as 60s`}},
		{"a: [", "", []string{"giverny.yaml", "yaml"}},
		{"kafka: {timeout: soon}", "", []string{`giverny.yaml:1: kafka.timeout: "soon": want a duration such as 60s`}},
		{"", "GIVERNY_KAFKA_BROKER=x", []string{"GIVERNY_KAFKA_BROKER", `did you mean "GIVERNY_KAFKA_BROKERS"`}},
		{"", "GIVERNY_KAFKA_TLS_ENABLED=perhaps", []string{`GIVERNY_KAFKA_TLS_ENABLED: "perhaps": want true or false`}},
		{"fabrics: [{metrics: [nonsense]}]", "", []string{"nonsense"}},
		{"kafka: {}\n---\nkafka: {}\n", "", []string{"more than one"}},
	} {
		_, err := load(c.text, c.env)
		if err == nil {
			t.Errorf("%q %q: no error", c.text, c.env)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q %q: %v\nwant %q in it", c.text, c.env, err, w)
			}
		}
	}
}

func TestSectionsByName(t *testing.T) {
	c, err := load("ibsysfs: {enabled: true, root: /tmp}\nethtool:\n", "GIVERNY_ETHTOOL_EXCLUDE=lo,eth0")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]*source{"ibsysfs": {true, &sysfs{"/tmp"}}, "ethtool": {false, &patterns{[]string{"lo", "eth0"}}}}
	if diff := cmp.Diff(want, c.Sources); diff != "" {
		t.Error(diff)
	}
}

// A section that decodes itself, by either of yaml's signatures, must not escape the
// check of its keys.
func TestNoSectionEscapesTheCheck(t *testing.T) {
	type config struct {
		Old    obsolete   `yaml:"old"`
		New    modern     `yaml:"new"`
		Listed []obsolete `yaml:"listed"`
		More   []modern   `yaml:"more"`
	}
	for _, text := range []string{"old: {keyy: 1}", "new: {keyy: 1}", "listed: [{keyy: 1}]", "more: [{keyy: 1}]"} {
		err := settings.File(new(config), settings.Source{Text: []byte(text)}, nil)
		if err == nil || !strings.Contains(err.Error(), `did you mean "key"?`) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

type obsolete struct {
	Key int `yaml:"key"`
}

func (o *obsolete) UnmarshalYAML(func(any) error) error { return nil }

type modern struct {
	Key int `yaml:"key"`
}

func (m *modern) UnmarshalYAML(*yaml.Node) error { return nil }

func TestADumpIsAFile(t *testing.T) {
	c, err := load("kafka: {brokers: [a], timeout: 3s}\nfabrics: [{name: x, metrics: [credit_stall]}]\nibsysfs: {enabled: true}\n")
	if err != nil {
		t.Fatal(err)
	}
	var dump strings.Builder
	if err := settings.Dump(&dump, &c); err != nil {
		t.Fatal(err)
	}
	again, err := load(dump.String())
	if err != nil {
		t.Fatalf("%v in\n%s", err, dump.String())
	}
	if diff := cmp.Diff(c, again, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if want := "ethtool:\n  enabled: false\n  exclude: [lo]\n"; !strings.Contains(dump.String(), want) {
		t.Errorf("want %q in\n%s", want, dump.String())
	}
}

func TestWalkNamesEveryKey(t *testing.T) {
	c, _ := load("")
	var keys []string
	settings.Walk(reflect.ValueOf(&c).Elem(), func(path string, _ settings.Field) { keys = append(keys, path) })
	want := []string{"kafka", "kafka.embedded", "kafka.brokers", "kafka.timeout", "kafka.tls", "kafka.tls.enabled", "kafka.tls.ca",
		"fabrics", "fabrics.0.name", "fabrics.0.metrics", "fabrics.0.links", "labels",
		"ethtool", "ethtool.enabled", "ethtool.exclude", "ibsysfs", "ibsysfs.enabled", "ibsysfs.root"}
	if diff := cmp.Diff(want, keys); diff != "" {
		t.Error(diff)
	}
}

// An error of a section names the file and line, or the variable, of the value.
func TestLocated(t *testing.T) {
	file := settings.Source{Name: "giverny.yaml", Text: []byte("http:\n  listen: here\nfabrics:\n  - name: ib0\n    interval: 0s\n  - {name: ib1}\nstore: {embedded: false}\n")}
	faults := errors.Join(errors.New("http.listen: no address"), errors.Join(errors.New("fabrics.0 (ib0).interval: 0s: want more"), errors.New("fabrics.1 (ib: 1).links: 0")),
		errors.New("store.url: none; set store.url"), errors.New("kafka.brokers: none"), errors.New("log.level: loud"), fmt.Errorf("Odd: %w, %w", io.EOF, io.ErrClosedPipe))
	got := settings.Located(faults, file, "GIVERNY", []string{"GIVERNY_LOG_LEVEL=loud"})
	const want = "giverny.yaml:2: http.listen: no address\n" +
		"giverny.yaml:5: fabrics.0 (ib0).interval: 0s: want more\n" +
		"giverny.yaml:6: fabrics.1 (ib: 1).links: 0\n" +
		"giverny.yaml:7: store.url: none; set store.url\n" +
		"kafka.brokers: none\n" +
		"environment variable GIVERNY_LOG_LEVEL: log.level: loud\n" +
		"Odd: EOF, io: read/write on closed pipe"
	if got == nil || got.Error() != want {
		t.Errorf("got %v\nwant %s", got, want)
	}
	if !errors.Is(got, io.EOF) {
		t.Error("the cause is lost")
	}
	if err := settings.Located(nil, file, "GIVERNY", nil); err != nil {
		t.Errorf("no fault gives %v", err)
	}
}

// hidden is a text type without exported fields.
type hidden struct{ text string }

// UnmarshalText keeps it.
func (h *hidden) UnmarshalText(text []byte) error {
	h.text = string(text)
	return nil
}

// Keys below a text value are not an empty text.
func TestATextIsNoSection(t *testing.T) {
	var c struct {
		Password hidden `yaml:"password"`
	}
	err := settings.File(&c, settings.Source{Name: "giverny.yaml", Text: []byte("password: {file: /etc/key}")}, nil)
	if err == nil || err.Error() != "giverny.yaml:1: password: a list or nested keys: want a text" {
		t.Errorf("%v", err)
	}
	if err := settings.File(&c, settings.Source{Name: "giverny.yaml", Text: []byte("password: x")}, nil); err != nil || c.Password.text != "x" {
		t.Errorf("%q: %v", c.Password.text, err)
	}
}
