package pipeline

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A fault that repeats is an error in the log once, and again when it changes.
func TestARepeatedFaultIsLoggedOnce(t *testing.T) {
	r := newRig()
	var said strings.Builder
	h := newHealth("f", r.metrics, slog.New(slog.NewTextHandler(&said, nil)))
	for _, text := range []string{"away", "away", "away", "refused", "away"} {
		h.failed("sink topic", errors.New(text), time.Second)
	}
	if n := strings.Count(said.String(), "level=ERROR"); n != 3 || strings.Count(said.String(), "error=away") != 2 {
		t.Errorf("%d errors logged, want away, refused, away:\n%s", n, &said)
	}
	if h.err() == nil || !strings.Contains(h.err().Error(), "away") {
		t.Errorf("the fault is %v", h.err())
	}
}

// A part that failed works again when it has run for a while without failing, not when it is restarted.
func TestAPartWorksAgainAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		h := newHealth("f", registered(reg), slog.New(slog.DiscardHandler))
		up := func() float64 { return gauges(t, reg)["giverny_pipeline_up analysis"] }
		h.upUnlessFailing(partAnalysis)()
		if up() != 1 || h.err() != nil {
			t.Fatalf("at the first start: up %v, %v", up(), h.err())
		}
		h.failed(partAnalysis, errors.New("away"), time.Second)
		fails := h.upUnlessFailing(partAnalysis)
		time.Sleep(worksAfter - time.Second)
		fails()
		time.Sleep(time.Minute)
		if up() != 0 || h.err() == nil {
			t.Errorf("a part that failed again before %v: up %v, %v", worksAfter, up(), h.err())
		}
		h.upUnlessFailing(partAnalysis)
		time.Sleep(worksAfter + time.Second)
		synctest.Wait()
		if up() != 1 || h.err() != nil {
			t.Errorf("after it has run for %v: up %v, %v", worksAfter, up(), h.err())
		}
		h.failed(partAnalysis, errors.New("away"), time.Second)
		if h.rest(); up() != 1 || h.err() != nil {
			t.Errorf("a part that does not run has failed: up %v, %v", up(), h.err())
		}
	})
}
