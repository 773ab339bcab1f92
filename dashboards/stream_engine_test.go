//go:build engine || integration

package dashboards

import (
	"net/http"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
)

// A client that comes back gets each interval that it missed once, also those of another process. If they are too
// many, or its last one is not known, it gets a reset.
func TestStreamResumes(t *testing.T) {
	h := open(t, torus, tree)
	g, other := h.graph(torus), h.graph(tree)
	put := func(second int64) {
		t.Helper()
		r := busy(g, noon+second*1e9)
		h.store(g, r)
		if err := h.Put(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	put(0)
	first := h.stream(t, "")
	put(1)
	name, id, data := first.next()
	if name != "interval" || !strings.Contains(data, `"start":"2023-11-14T22:13:21Z"`) {
		t.Fatalf("%s %s %s", name, id, data)
	}
	first.body.Close()
	h.store(g, busy(g, noon+2*second)) // by another process
	put(3)
	h.store(other, busy(other, noon))
	again := h.stream(t, id)
	put(4)
	for _, want := range []string{"22Z", "23Z", "24Z"} {
		name, id, data = again.next()
		if name != "interval" || !strings.Contains(data, `"fabric":"torus:4x4x4"`) || !strings.Contains(data, want) {
			t.Errorf("%s %s, want the interval of %s", name, data, want)
		}
	}
	had, ok := parsePositions(id)
	if !ok || had[torus] != schema.Instant(noon+4*second) {
		t.Errorf("id %q", id)
	}
	for what, id := range map[string]string{"no id": "7", "too long ago": positions{torus: schema.Instant(noon - (maxReplay+1)*second)}.String()} {
		if name, _, _ := h.stream(t, id).next(); name != "reset" {
			t.Errorf("%s: %s", what, name)
		}
	}
}

// A client that does not read its announcements in time gets them from the store.
func TestStreamCatchesUp(t *testing.T) {
	h := open(t, torus, tree)
	g := h.graph(torus)
	h.store(g, busy(g, noon), busy(g, noon+second), busy(g, noon+2*second))
	l, done := h.intervals.listen(1)
	defer done()
	for i := range int64(3) {
		if err := h.Put(t.Context(), busy(g, noon+i*second)); err != nil {
			t.Fatal(err)
		}
	}
	if !l.behind.Load() {
		t.Fatal("the listener is not behind")
	}
	var text strings.Builder
	f := &follower{d: h.Dashboards, w: &fakeConnection{&text}, at: positions{torus: schema.Instant(noon)}}
	f.flush = http.NewResponseController(f.w)
	if err := f.catchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "event: interval"); n != 2 {
		t.Errorf("%d intervals: %s", n, &text)
	}
	// Meanwhile the first intervals of another fabric were announced; the client has none of that one.
	if err := h.Put(t.Context(), busy(h.graph(tree), noon)); err != nil {
		t.Fatal(err)
	}
	if err := f.catchUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "event: reset"); n != 1 {
		t.Errorf("%d resets: %s", n, &text)
	}
}
