package registry_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/collectors"
	"github.com/giverny/giverny/collectors/registry"
)

// Requirements on every kind, so that a new one needs no such test.
func TestEveryKindIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range registry.Kinds() {
		if k.Name == "" || seen[k.Name] || strings.ToLower(k.Name) != k.Name {
			t.Errorf("name %q: want a lower-case word of its own", k.Name)
		}
		seen[k.Name] = true
		if !strings.HasSuffix(k.Description, ".") || k.Workers < 1 {
			t.Errorf("%s: description %q, %d workers", k.Name, k.Description, k.Workers)
		}
		cfg := k.NewConfig()
		if v := reflect.ValueOf(cfg); v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct || k.NewConfig() == cfg {
			t.Errorf("%s: NewConfig gives a %T, want a pointer to a struct, each time its own", k.Name, cfg)
		}
		if err := cfg.Validate(); err != nil {
			t.Errorf("%s: the default is refused: %v", k.Name, err)
		}
		c, err := cfg.Open("host")
		if err != nil {
			t.Errorf("%s: %v", k.Name, err)
		} else if c.Name() != k.Name {
			t.Errorf("%s makes a collector of the name %s", k.Name, c.Name())
		}
	}
}

func TestOpenMakesWhatIsEnabled(t *testing.T) {
	sources := registry.DefaultConfig()
	polling := collectors.DefaultConfig()
	polling.Fabric, polling.Interval = "f", time.Second
	if opened, err := sources.Open("host", polling); sources.Enabled() || err != nil || len(opened) != 0 {
		t.Errorf("%d sources, %v", len(opened), err)
	}
	if err := sources.Enable("snmp"); err == nil || !strings.Contains(err.Error(), registry.Names()) {
		t.Error(err)
	}
	for _, name := range []string{"perfquery", "ibsysfs"} {
		if err := sources.Enable(name); err != nil {
			t.Fatal(err)
		}
	}
	sources["ibsysfs"].Workers = 3
	opened, err := sources.Open("host", polling)
	if err != nil || len(opened) != 2 {
		t.Fatalf("%d sources, %v", len(opened), err)
	}
	if o := opened[0]; o.Collector.Name() != "ibsysfs" || o.Config.Workers != 3 || o.Config.Fabric != "f" {
		t.Errorf("%s: %+v", o.Collector.Name(), o.Config)
	}
	if o := opened[1]; o.Collector.Name() != "perfquery" || o.Config.Workers != 4 {
		t.Errorf("%s: %+v", o.Collector.Name(), o.Config)
	}
}

func TestFaultsNameTheSource(t *testing.T) {
	sources := registry.DefaultConfig()
	sources["ethtool"].Workers = 0
	if err := sources.Validate(); err == nil || err.Error() != "ethtool.workers: 0: want 1 to 1024" {
		t.Error(err)
	}
}
