package window_test

import (
	"github.com/giverny/giverny/ingest/window"
	"pgregory.net/rapid"
	"testing"
)

func TestTmp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStream(t, true)
		w, twin := newWindow(t, s), newTwin(s.g, s.cfg)
		for i, b := range s.batches {
			for r := 0; r < b.Rows(); r++ {
				pb := part(b, r, r+1)
				w.Add(pb)
				twin.add(pb)
				if w.Dropped(window.Early) != uint64(twin.dropped[window.Early]) {
					for j := 0; j <= i; j++ {
						x := s.batches[j]
						for q := range x.TimeNanos {
							t.Log(j, x.TimeNanos[q], x.Ports[x.PortIndex[q]], x.Columns[0].Name, x.Columns[0].Valid.Has(q))
						}
					}
					t.Fatal(i, r, w.Dropped(window.Early), twin.dropped[window.Early], twin.open, twin.closed, b.TimeNanos[r], b.Columns[0].Name)
				}
			}
		}
	})
}
