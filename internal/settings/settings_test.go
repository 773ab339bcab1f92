package settings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
}

type config struct {
	Bus struct {
		Embedded bool `yaml:"embedded"`
		Inner    bus  `yaml:",inline"`
	} `yaml:"kafka"`
	Fabrics []fabric          `yaml:"fabrics"`
	Labels  map[string]string `yaml:"labels"`
}

func load(text string, environ ...string) (config, error) {
	var c config
	c.Bus.Inner.Timeout = time.Second
	err := settings.Load(&c, settings.Source{Name: "giverny.yaml", Text: []byte(text)}, "GIVERNY", environ, "GIVERNY_LIBCHDB")
	return c, err
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
	if diff := cmp.Diff([]fabric{{"ib1", []schema.Metric{schema.CreditStall}}, {Name: "ib2"}}, c.Fabrics); diff != "" {
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
		{"kafka: {}\nkafka: {}\n", "", []string{"stands twice"}},
		{"a: [", "", []string{"giverny.yaml", "yaml"}},
		{"kafka: {timeout: soon}", "", []string{"giverny.yaml", "soon"}},
		{"", "GIVERNY_KAFKA_BROKER=x", []string{"GIVERNY_KAFKA_BROKER", `did you mean "GIVERNY_KAFKA_BROKERS"`}},
		{"", "GIVERNY_KAFKA_TLS_ENABLED=perhaps", []string{"GIVERNY_KAFKA_TLS_ENABLED", "perhaps"}},
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
