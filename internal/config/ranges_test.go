package config_test

import (
	"encoding"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/settings"
)

// Every number and duration of the configuration has a range, in sections that are off too, and a value outside of it is a
// fault that names the key by its whole path.
func TestEveryNumberHasARange(t *testing.T) {
	cfg := config.Default()
	fabric := config.DefaultFabric()
	fabric.Name, fabric.Topology, fabric.Partition = "f", "torus:4x4", 0
	cfg.Fabrics = []config.Fabric{fabric}
	cfg.Feedback.Webhooks, cfg.Command.Allow = slices.Grow(cfg.Feedback.Webhooks, 1)[:1], slices.Grow(cfg.Command.Allow, 1)[:1]
	cfg.Feedback.Webhooks[0].SetDefaults()
	faultOf := func(path string) bool {
		err := cfg.Validate()
		return err != nil && slices.ContainsFunc(strings.Split(err.Error(), "\n"), func(line string) bool {
			return strings.HasPrefix(line, strings.Replace(path, "fabrics.0.", "fabrics.0 (f).", 1)+": ")
		})
	}
	number := 0
	settings.Walk(reflect.ValueOf(&cfg).Elem(), func(path string, f settings.Field) {
		if _, isText := f.Value.Addr().Interface().(encoding.TextUnmarshaler); isText {
			return
		}
		before := reflect.New(f.Value.Type()).Elem()
		before.Set(f.Value)
		switch {
		case f.Value.CanInt():
			f.Value.SetInt(-1 << 31)
		case f.Value.CanFloat():
			f.Value.SetFloat(-1)
		default:
			return
		}
		number++
		out := faultOf(path)
		f.Value.Set(before)
		if in := !faultOf(path); (!in || !out) && !strings.HasPrefix(path, "collect.prometheus.counters.") { // a list that is empty by default
			t.Errorf("%s: a fault by default: %v; below its range: %v", path, !in, out)
		}
	})
	if number < 200 {
		t.Errorf("%d numbers were tried, want all", number)
	}
}
