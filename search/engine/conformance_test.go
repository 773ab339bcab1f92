package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"testing"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/engine"
)

// Every engine satisfies the contract of engine.Engine.
func TestEngines(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) engine.Engine{
		"simulated": func(t *testing.T) engine.Engine {
			e, err := engine.NewSimulated(engine.SimulatedConfig{Subsystem: "H", Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			return e
		},
		"perftest": func(t *testing.T) engine.Engine {
			rig, _ := fakeRig(t)
			return openPerftest(t, rig)
		},
		"collie-engine": func(t *testing.T) engine.Engine {
			rig, _ := fakeRig(t)
			return openCollie(t, rig)
		},
		"exec": func(t *testing.T) engine.Engine { return openProgram(t, slog.New(slog.DiscardHandler)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("describes itself the same twice", func(t *testing.T) { describesTheSame(t, open(t)) })
			t.Run("measures", func(t *testing.T) { measures(t, open(t)) })
			t.Run("ends with the context and works again", func(t *testing.T) { endsWithContext(t, open(t)) })
			t.Run("closes unused", func(t *testing.T) { closed(t, open(t)) })
		})
	}
}

func describesTheSame(t *testing.T, e engine.Engine) {
	defer closed(t, e)
	a, err := e.Describe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	b, err := e.Describe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(a, b) {
		t.Errorf("%+v\nand then\n%+v", a, b)
	}
	if err := engine.CheckDescription(&a); err != nil {
		t.Error(err)
	}
}

func measures(t *testing.T, e engine.Engine) {
	defer closed(t, e)
	ask := asker(t, e)
	good := 0
	for asked := 0; good < 2; asked++ { // many random workloads are infeasible
		m, err := ask()
		if err != nil || asked == 30 {
			t.Fatalf("%v; %d good measurements of %d", err, good, asked)
		}
		if m.Status == search.OK {
			good++
		}
	}
}

func endsWithContext(t *testing.T, e engine.Engine) {
	defer closed(t, e)
	ask := asker(t, e)
	if _, err := ask(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, s := randomSearch(t, e)
	w, _ := s.Next(0)
	if _, err := e.Measure(ctx, 2, w); !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want %v", err, context.Canceled)
	}
	if _, err := ask(); err != nil {
		t.Errorf("after a canceled measurement: %v", err)
	}
}
