//go:build engine || integration

package grafana

import (
	"log/slog"
	"regexp"
	"testing"
	"time"

	registry "github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// The tables have the columns that the panels ask for.
func TestEveryQueryRuns(t *testing.T) {
	e := enginetest.Start(t)
	db, err := store.New(e.Options(""), store.DefaultConfig(), store.Deps{Log: slog.New(slog.DiscardHandler), Registerer: registry.NewRegistry(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	conn := enginetest.Connect(t, e, store.DefaultDatabase)
	for name, d := range files() {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				if target.RawSQL == "" {
					continue
				}
				if rest := regexp.MustCompile(`\$[\w{]`).FindString(expand(target.RawSQL, "f")); rest != "" {
					t.Errorf("%s: %s: %q is no variable or macro that is known", name, p.Title, rest)
				}
				if err := runs(t, conn, expand(target.RawSQL, "bob's")); err != nil {
					t.Errorf("%s: %s: %v", name, p.Title, err)
				}
			}
		}
	}
}
