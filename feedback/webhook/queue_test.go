package webhook

import (
	"encoding/json"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/internal/atomicfile"
	"github.com/giverny/giverny/internal/test/metric"
	"github.com/giverny/giverny/internal/test/pipes"
	"github.com/giverny/giverny/schema"
)

// Queued notices survive a stop, and delivered ones are not sent again.
func TestTheQueueSurvivesARestart(t *testing.T) {
	r, dir := startReceiver(t), t.TempDir()
	r.setAnswer(func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) })
	h := start(t, dir, r.URL, nil)
	h.put(t, result(1, 7))
	waitFor(t, "a try that is known to have failed", func() bool { return strings.Contains(h.record.State(), "502") })
	h.stop()
	first := r.got(t)[0]
	r.setAnswer(nil)
	again := start(t, dir, r.URL, nil)
	if last, err := again.Last("ib0"); err != nil || last != 60e9 {
		t.Errorf("last %d, %v", last, err)
	}
	again.put(t, result(1, 7)) // the pipeline repeats the last interval
	again.put(t, result(2, 7))
	waitFor(t, "the notice", func() bool { return again.queue.len() == 0 })
	for _, k := range r.got(t) {
		if k != first {
			t.Errorf("key %s, want that of the one notice, %s", k, first)
		}
	}
}

// What is queued after a restart waits behind what was queued before, and replaces none of it.
func TestTheQueueGrowsAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, dir := pipes.Listen(), t.TempDir()
		r := &receiver{bodies: map[string]string{}}
		r.Server = &httptest.Server{Listener: l, Config: &http.Server{Handler: r}}
		r.Start()
		r.setAnswer(func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) })
		for minute, region := range []uint64{7, 8} {
			h := startOver(t, l.Dial, dir, r.URL, nil)
			time.Sleep(10 * time.Second)
			if got := metric.Sum(t, h.Registry, "giverny_feedback_pending"); got != float64(minute) {
				t.Errorf("%g notices are pending after start %d", got, minute)
			}
			h.put(t, result(int64(minute)+1, 7, region))
			h.stop()
		}
		failed := slices.Compact(r.got(t))
		r.setAnswer(nil)
		h := startOver(t, l.Dial, dir, r.URL, nil)
		time.Sleep(10 * time.Second)
		delivered := r.got(t)
		if delivered = delivered[len(delivered)-2:]; h.queue.len() != 0 || delivered[0] != failed[0] || delivered[0] == delivered[1] {
			t.Errorf("%d wait; tried %v, delivered %v", h.queue.len(), failed, delivered)
		}
		h.stop()
		r.CloseClientConnections()
		r.Close()
	})
}

// A notice that expires is no longer pending.
func TestAnExpiredNoticeIsNotPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, h := startInBubble(t)
		r.setAnswer(func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) })
		h.put(t, result(1, 7))
		for after, want := range []float64{1, 0} {
			time.Sleep(23*time.Hour + time.Duration(after)*2*time.Hour)
			if got := metric.Sum(t, h.Registry, "giverny_feedback_pending"); got != want {
				t.Errorf("%g notices are pending, want %g", got, want)
			}
		}
		h.stop()
		r.CloseClientConnections()
		r.Close()
	})
}

// No more notices are sent in a minute than per_minute, and none before the receiver wants the next.
func TestPaceOfDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, began := pipes.Listen(), time.Now()
		var at []time.Duration
		r := &receiver{bodies: map[string]string{}}
		r.Server = &httptest.Server{Listener: l, Config: &http.Server{Handler: r}}
		r.Start()
		r.setAnswer(func(try int, w http.ResponseWriter) {
			if at = append(at, time.Since(began).Round(time.Second)); try == 6 {
				w.Header().Set("Retry-After", "200")
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		})
		h := startOver(t, l.Dial, t.TempDir(), r.URL, func(c *Config) { c.PerMinute = 2 })
		h.put(t, result(1, 1, 2, 3, 4, 5))
		time.Sleep(10 * time.Minute)
		h.put(t, result(11, 1, 2, 3, 4, 5, 6))
		time.Sleep(10 * time.Minute)
		h.stop()
		r.CloseClientConnections()
		r.Close()
		if want := []time.Duration{0, 0, time.Minute, time.Minute, 2 * time.Minute, 10 * time.Minute, 10*time.Minute + 200*time.Second}; !slices.Equal(at, want) {
			t.Errorf("tried at %v, want %v", at, want)
		}
		r.got(t)
	})
}

// A crash between queueing a notice and saving the state repeats it with the same key.
func TestACrashRepeatsTheKey(t *testing.T) {
	r, dir := startReceiver(t), t.TempDir()
	h := start(t, dir, r.URL, nil)
	h.put(t, result(1, 7))
	waitFor(t, "the notice", func() bool { return len(r.got(t)) == 1 && h.queue.len() == 0 })
	h.stop()
	if err := os.Remove(filepath.Join(dir, "state-ib0.json")); err != nil { // as if it had not been written
		t.Fatal(err)
	}
	again := start(t, dir, r.URL, nil)
	again.put(t, result(1, 7))
	waitFor(t, "it again", func() bool { return len(r.got(t)) >= 2 && again.queue.len() == 0 })
	if keys := r.got(t); len(slices.Compact(keys)) != 1 {
		t.Errorf("keys %v", keys)
	}
}

// After the clock was far ahead and has been set back, notices are sent again.
func TestTheClockIsSetBack(t *testing.T) {
	r := startReceiver(t)
	h := start(t, t.TempDir(), r.URL, nil)
	minute := time.Now().Unix() / 60
	h.put(t, result(minute+24*60, 7))
	h.put(t, result(minute-2, 7, 8))
	waitFor(t, "both notices", func() bool { return len(r.got(t)) == 2 })
	if last, err := h.Last("ib0"); err != nil || last != (minute-2)*60e9 {
		t.Errorf("last %d, %v; want %d", last, err, (minute-2)*60e9)
	}
}

// While the clock of this host is a day behind, results are in order, and one that comes again is no news.
func TestTheClockIsBehind(t *testing.T) {
	r := startReceiver(t)
	h := start(t, t.TempDir(), r.URL, nil)
	minute := time.Now().Unix()/60 + 24*60
	h.put(t, result(minute, 7))
	h.put(t, result(minute+1, 7, 8))
	h.put(t, result(minute, 7, 9)) // analysed again, with late readings
	h.put(t, result(minute+2, 7, 8))
	waitFor(t, "both notices", func() bool { return len(r.got(t)) >= 2 })
	h.stop()
	if got := r.got(t); len(got) != 2 {
		t.Errorf("%d notices, want those that regions 7 and 8 began", len(got))
	}
}

// If the disk has room for some notices of an interval only, the others follow once it has, and none is queued twice: what little
// room there is would be used up by repetitions.
func TestRoomForSomeNotices(t *testing.T) {
	r, dir := startReceiver(t), t.TempDir()
	full := filepath.Join(dir, "00000000000000000003.notice", "in the way") // for root too
	h := start(t, dir, r.URL, nil)
	if _, err := h.Last("ib0"); err != nil { // its folder is open
		t.Fatal(err)
	}
	if err := os.MkdirAll(full, 0o700); err != nil {
		t.Fatal(err)
	}
	put := make(chan error, 1)
	go func() { put <- h.Put(t.Context(), result(1, 7, 8, 9)) }()
	waitFor(t, "the fault", func() bool { return strings.Contains(h.State(), "notices cannot be queued: ") && len(r.got(t)) == 2 })
	if err := os.RemoveAll(filepath.Dir(full)); err != nil {
		t.Fatal(err)
	}
	if err := <-put; err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the third", func() bool { return len(r.got(t)) >= 3 && h.queue.len() == 0 })
	if keys := r.got(t); len(keys) != 3 || keys[2] == keys[0] || keys[2] == keys[1] || h.State() != "" {
		t.Errorf("keys %v, state %q", keys, h.State())
	}
}

// The queue is bounded, and drops are counted by reason.
func TestDropsAreCounted(t *testing.T) {
	r, dir := startReceiver(t), t.TempDir()
	block := make(chan struct{})
	r.setAnswer(func(_ int, w http.ResponseWriter) { <-block; w.WriteHeader(http.StatusUnprocessableEntity) })
	h := start(t, dir, r.URL, func(c *Config) { c.MaxQueue, c.Timeout = 3, time.Minute })
	h.put(t, result(1, 1, 2, 3, 4, 5))
	if got := metric.Sum(t, h.Registry, "giverny_feedback_refused_total", Full); got != 2 || h.queue.len() != 3 {
		t.Errorf("%g dropped, %d wait", got, h.queue.len())
	}
	close(block)
	waitFor(t, "the answers", func() bool {
		return metric.Sum(t, h.Registry, "giverny_feedback_refused_total", Rejected) >= 2 && h.queue.len() == 0
	})
	h.stop()
	if err := os.WriteFile(filepath.Join(dir, "00000000000000000001.notice"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	old, err := json.Marshal(item{Key: "old", Queued: time.Now().Add(-48 * time.Hour), Body: json.RawMessage("{}")})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "00000000000000000002.notice"), old, 0o600); err != nil {
		t.Fatal(err)
	}
	again := start(t, dir, r.URL, nil)
	waitFor(t, "the drops", func() bool {
		return metric.Sum(t, again.Registry, "giverny_feedback_refused_total", Damaged) == 1 && metric.Sum(t, again.Registry, "giverny_feedback_refused_total", Expired) == 1
	})
	waitFor(t, "none pending", func() bool { return metric.Sum(t, again.Registry, "giverny_feedback_pending") == 0 })
	if n, err := testutil.GatherAndCount(again.Registry, "giverny_feedback_refused_total"); err != nil || n != len(Reasons()) {
		t.Errorf("%d reasons, %v", n, err)
	}
}

// A notice that cannot be read for now is not dropped.
func TestANoticeThatCannotBeReadWaits(t *testing.T) {
	r, dir := startReceiver(t), t.TempDir()
	text, err := json.Marshal(item{Key: "k", Queued: time.Now(), Body: json.RawMessage(`{"id":"k"}`)})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "00000000000000000001.notice")
	if err := os.Symlink(path, path); err != nil { // not readable, not even by root
		t.Fatal(err)
	}
	h := start(t, dir, r.URL, nil)
	waitFor(t, "the fault", func() bool { return strings.Contains(h.record.State(), "1 pending: queue of notices: open "+path) })
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(path, text); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the notice", func() bool { return len(r.got(t)) == 1 && h.queue.len() == 0 && h.record.State() == "" })
	if got := metric.Sum(t, h.Registry, "giverny_feedback_refused_total"); got != 0 {
		t.Errorf("%g dropped", got)
	}
}

// A result that cannot be written does not keep back those after it.
func TestAResultThatIsNoJSONIsDropped(t *testing.T) {
	r := startReceiver(t)
	h := start(t, t.TempDir(), r.URL, nil)
	bad := result(1, 1)
	bad.Diagnoses = []schema.Diagnosis{{Region: 1, Jobs: []schema.AccusedJob{{Correlation: math.NaN()}}}}
	h.put(t, bad)
	h.put(t, result(2, 1, 2))
	waitFor(t, "the notices of the next interval", func() bool { return len(r.got(t)) == 2 })
	if got := metric.Sum(t, h.Registry, "giverny_feedback_refused_total", Damaged); got != 1 {
		t.Errorf("%g dropped, want 1", got)
	}
}

// A step of the clock makes a notice no older: what this process has queued is as old as the time that has passed since. Of what
// an earlier process has queued, only the clock tells.
func TestAStepOfTheClockExpiresNothing(t *testing.T) {
	dir := t.TempDir()
	q, err := openQueue(dir, 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.add(item{Key: "a", Queued: time.Now().Add(-48 * time.Hour), Body: []byte("{}")}); err != nil { // as if the clock was set forward since
		t.Fatal(err)
	}
	if _, age, _, ok, err := q.first(); !ok || err != nil || age > time.Hour {
		t.Errorf("age %v, %v", age, err)
	}
	q.release()
	if q, err = openQueue(dir, 10); err != nil {
		t.Fatal(err)
	}
	defer q.release()
	if _, age, _, ok, err := q.first(); !ok || err != nil || age < 47*time.Hour {
		t.Errorf("after a restart: age %v, %v", age, err)
	}
}
