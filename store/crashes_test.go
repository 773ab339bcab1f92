//go:build integration

package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/store/engine"
	"github.com/giverny/giverny/store/engine/enginetest"
)

// The engine and the writer both die at every insert of a Store in turn, before
// it or in the middle of it; then a new writer replays the interval. Nothing may
// be lost or duplicated.
func TestExactlyOnceThroughCrashes(t *testing.T) {
	cfg := enginetest.Config(t)
	cfg.MinBackoff, cfg.MaxBackoff = time.Millisecond, time.Millisecond
	e := enginetest.Run(t, cfg, engine.Deps{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	db := openDB(t, e.Options(""), quickRetries())
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for insert := 1; ; insert++ {
		through := false
		for _, midway := range []bool{false, true} {
			fabric := fmt.Sprintf("insert %d, midway %v", insert, midway)
			through = !crashAt(t, e, fabric, insert, midway)
			replay := openDB(t, e.Options(""), quickRetries())
			if err := replay.Store(t.Context(), someResult(fabric, 1, 1000)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wantContents(1), contents(t, db, fabric)); diff != "" {
				t.Errorf("crash at %s: %s", fabric, diff)
			}
		}
		if through {
			if inserts := insert - 1; inserts != len(tables)+len(facts)+1 {
				t.Errorf("crashed at %d inserts, want one per table: %d", inserts, len(tables)+len(facts)+1)
			}
			return
		}
	}
}

// crashAt stores an interval until the given insert, at which engine and writer
// die. It returns false if Store needed fewer inserts.
func crashAt(t *testing.T, e *engine.Engine, fabric string, insert int, midway bool) (crashed bool) {
	ctx, crash := context.WithCancel(t.Context())
	defer crash()
	seen := 0
	opts := withFault(e.Options(""), func(_ int64, r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.Contains(r.URL.RawQuery, "INSERT") {
			seen++
		}
		if seen != insert {
			return next.RoundTrip(r)
		}
		crashed = true
		var killing sync.WaitGroup
		killing.Go(func() {
			if midway {
				time.Sleep(rand.N(30 * time.Millisecond))
			}
			killChild(t)
		})
		if !midway {
			killing.Wait()
		} else if answer, err := next.RoundTrip(r); err == nil {
			answer.Body.Close()
		}
		killing.Wait()
		crash()
		return nil, errors.New("the writer has crashed")
	})
	db := openDB(t, opts, quickRetries())
	if err := db.Store(ctx, someResult(fabric, 1, 1000)); err != nil && ctx.Err() == nil {
		t.Fatalf("crash at insert %d: %v", insert, err)
	}
	return crashed
}
