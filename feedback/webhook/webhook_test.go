package webhook

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/feedback/notice"
	"github.com/giverny/giverny/feedback/record/recordtest"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/pipes"
	"github.com/giverny/giverny/schema"
)

const key = "a secret of sixteen bytes or more"

// opensslDigest was computed by openssl.
const opensslDigest = "69c8091e56881d18ccbcfac1840aa525602cf308d34277b3da14e6d427c54229"

// receiver is a web server that accepts or rejects notices.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	answer func(try int, w http.ResponseWriter) // nil: 200
	tries  int
	keys   []string // of each attempt
	bodies map[string]string
	faults []string
}

func startReceiver(t *testing.T) *receiver {
	r := &receiver{bodies: map[string]string{}}
	r.Server = httptest.NewServer(r)
	t.Cleanup(func() { r.CloseClientConnections(); r.Close() })
	return r
}

// startInBubble starts a receiver in a synctest bubble, and a webhook connected to it.
func startInBubble(t *testing.T) (*receiver, *hook) {
	l := pipes.Listen()
	r := &receiver{bodies: map[string]string{}}
	r.Server = &httptest.Server{Listener: l, Config: &http.Server{Handler: r}}
	r.Start()
	t.Cleanup(func() { r.CloseClientConnections(); r.Close() })
	h := startOver(t, l.Dial, t.TempDir(), r.URL, nil)
	return r, h
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	r.mu.Lock()
	id := request.Header.Get(KeyHeader)
	if err != nil {
		r.faults = append(r.faults, err.Error())
	}
	if err := verify(key, request.Header.Get(TimestampHeader), request.Header.Get(SignatureHeader), body, time.Now(), time.Minute); err != nil {
		r.faults = append(r.faults, err.Error())
	}
	var n notice.Notice
	if err := json.Unmarshal(body, &n); err != nil || n.ID != id {
		r.faults = append(r.faults, "notice "+n.ID+" under the key "+id)
	}
	if before, again := r.bodies[id]; again && before != string(body) {
		r.faults = append(r.faults, "another body under the key "+id)
	}
	r.bodies[id] = string(body)
	r.tries++
	r.keys = append(r.keys, id)
	try, answer := r.tries, r.answer
	r.mu.Unlock()
	if answer != nil {
		answer(try, w)
	}
}

func (r *receiver) setAnswer(answer func(int, http.ResponseWriter)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// got lists the keys of the attempts.
func (r *receiver) got(t *testing.T) []string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.faults {
		t.Error(f)
	}
	return slices.Clone(r.keys)
}

// hook is a running webhook.
type hook struct {
	*Webhook
	*recordtest.Recorder
	stop func()
}

func start(t *testing.T, dir, url string, change func(*Config)) *hook {
	t.Helper()
	return startOver(t, nil, dir, url, change)
}

// startOver is start over another network; nil: the host's.
func startOver(t *testing.T, dial func(ctx context.Context, network, address string) (net.Conn, error), dir, url string, change func(*Config)) *hook {
	t.Helper()
	var cfg Config
	cfg.SetDefaults()
	cfg.Name, cfg.Enabled, cfg.DryRun, cfg.URL, cfg.Secret, cfg.Timeout = "test", true, false, secret.NewURL(url), secret.NewText(key), 2*time.Second
	if change != nil {
		change(&cfg)
	}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	recorder := recordtest.New(t, "webhook-test", Reasons())
	w, err := New(cfg, dir, recorder.Recorder, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	w.client.Transport.(*http.Transport).DialContext = dial
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	h := &hook{Webhook: w, Recorder: recorder}
	h.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		w.client.CloseIdleConnections()
	})
	t.Cleanup(h.stop)
	return h
}

func result(minute int64, ids ...uint64) *schema.IntervalResult {
	r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "ib0", Interval: schema.Interval{StartNanos: minute * 60e9, DurationNanos: 60e9}}}
	for _, id := range ids {
		r.Regions = append(r.Regions, schema.Region{ID: id, Metric: schema.CreditStall, Severity: schema.High, Name: "<&> \"x\"\n"})
	}
	return r
}

func (h *hook) put(t *testing.T, r *schema.IntervalResult) {
	t.Helper()
	if err := h.Put(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	await.Until(t, what, time.Minute, 10*time.Millisecond, done)
}

// A receiver that fails, is slow and becomes unavailable gets every notice in order; all attempts
// of a notice have the same key and body. The bubble would report leaked goroutines.
func TestAReceiverThatFails(t *testing.T) { synctest.Test(t, aReceiverThatFails) }

func aReceiverThatFails(t *testing.T) {
	r, h := startInBubble(t)
	hold := make(chan struct{})
	r.setAnswer(func(try int, w http.ResponseWriter) {
		switch try {
		case 1:
			w.WriteHeader(http.StatusInternalServerError)
		case 2:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		case 3:
			<-hold // longer than the timeout
		case 4:
			panic(http.ErrAbortHandler) // closes the connection without an answer
		}
	})
	h.put(t, result(1, 7))
	h.put(t, result(2, 7, 8))
	waitFor(t, "both", func() bool { return len(r.got(t)) >= 6 && h.queue.len() == 0 && h.record.State() == "" })
	close(hold)
	keys := r.got(t)
	if tries := fmt.Sprint(keys); len(keys) != 6 || len(slices.Compact(keys[:5])) != 1 || keys[0] == keys[5] {
		t.Errorf("keys of the tries: %v", tries)
	}
	h.stop()
	r.CloseClientConnections()
	r.Close()
}

// Retry-After is a number of seconds or a date; a date is relative to the receiver's clock, if known.
func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 5, 0, 30, 0, 0, time.UTC)
	at := func(d time.Duration) string { return now.Add(d).Format(http.TimeFormat) }
	for _, c := range []struct {
		asked, date string
		want        time.Duration
	}{
		{asked: "20", want: 20 * time.Second},
		{asked: at(25 * time.Second), want: 25 * time.Second},
		{asked: at(time.Hour), date: at(time.Hour - 5*time.Second), want: 5 * time.Second}, // its clock is an hour ahead
		{asked: at(-time.Minute)},
		{asked: "-1"},
		{asked: "9223372036854775807", want: maxPause},
		{asked: "soon"},
		{},
	} {
		header := http.Header{}
		header.Set("Retry-After", c.asked)
		header.Set("Date", c.date)
		if got := retryAfter(header, now); got != c.want {
			t.Errorf("Retry-After %q, Date %q: %v, want %v", c.asked, c.date, got, c.want)
		}
	}
}

// A dry run sends nothing, not even what an earlier run has queued, and leaves the state as it is: afterwards the receiver learns
// of what it does not know.
func TestADryRunSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, dir := pipes.Listen(), t.TempDir()
		r := &receiver{bodies: map[string]string{}}
		r.Server = &httptest.Server{Listener: l, Config: &http.Server{Handler: r}}
		r.Start()
		r.setAnswer(func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) })
		run := func(dry bool, results ...*schema.IntervalResult) (events []string) {
			before := len(r.got(t))
			h := startOver(t, l.Dial, dir, r.URL, func(c *Config) { c.DryRun = dry })
			for _, result := range results {
				h.put(t, result)
			}
			time.Sleep(10 * time.Second)
			h.stop()
			for _, key := range slices.Compact(r.got(t)[before:]) {
				var n notice.Notice
				if err := json.Unmarshal([]byte(r.bodies[key]), &n); err != nil {
					t.Error(err)
				}
				events = append(events, fmt.Sprint(n.Event, n.RegionID))
			}
			return events
		}
		if got := run(false, result(1, 7)); !slices.Equal(got, []string{"opened7"}) {
			t.Errorf("tried to send %v", got)
		}
		r.setAnswer(nil)
		if got := run(true, result(2, 7, 8), result(3, 8), result(4, 8)); len(got) > 0 {
			t.Errorf("a dry run sent %v", got)
		}
		if got := run(false, result(3, 8), result(4, 8)); !slices.Equal(got, []string{"opened7", "opened8", "ended7"}) {
			t.Errorf("after the dry run %v were sent", got)
		}
		r.CloseClientConnections()
		r.Close()
	})
}

func TestVerify(t *testing.T) {
	now, body := time.Unix(1_800_000_000, 0), []byte(`{"id":"1"}`)
	signature := sign(key, "1800000000", body)
	for name, err := range map[string]error{
		"":               verify(key, "1800000000", signature, body, now, time.Minute),
		"does not match": verify(key, "1800000000", signature, []byte(`{"id":"2"}`), now, time.Minute),
		"from now":       verify(key, "1800000000", signature, body, now.Add(2*time.Minute), time.Minute),
		"it does not":    verify(key, "1800000001", signature, body, now, time.Minute), // another time has another signature
		TimestampHeader:  verify(key, "soon", signature, body, now, time.Minute),
		"not match":      verify("another secret", "1800000000", signature, body, now, time.Minute),
	} {
		if name == "" && err != nil || name != "" && (err == nil || !strings.Contains(err.Error(), name)) {
			t.Errorf("want %q: %v", name, err)
		}
	}
	// To reproduce: printf '1800000000.{"id":"1"}' | openssl dgst -sha256 -hmac KEY
	if want := "v1=" + opensslDigest; signature != want {
		t.Errorf("signature %s, openssl says %s", signature, want)
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	cfg := Config{Enabled: true, Name: "../x", Secret: secret.NewText("short"), URL: secret.NewURL("ftp://x")}
	err := cfg.Validate()
	for _, k := range []string{"name", "url", "secret", "min_severity", "timeout", "per_minute", "max_queue", "max_age"} {
		if err == nil || !strings.Contains(err.Error(), k+":") {
			t.Errorf("no fault of %s in %v", k, err)
		}
	}
}

// A redirect is not followed, because it would send the notice to another host; the state says what to do.
func TestRedirectSaysWhatToDo(t *testing.T) {
	err := judge(&http.Response{StatusCode: http.StatusFound, Status: "302 Found"})
	if want := "the receiver answered 302 Found, a redirect, which is not followed: set url to its target"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// verify is the receiver's check of the signature, and that the timestamp is within
// tolerance of now, which prevents replay of an intercepted delivery.
func verify(secret, timestamp, signature string, body []byte, now time.Time, tolerance time.Duration) error {
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return fmt.Errorf("%s: %w", TimestampHeader, err)
	}
	if age := now.Sub(time.Unix(seconds, 0)); age.Abs() > tolerance {
		return fmt.Errorf("%s: %v from now", TimestampHeader, age.Round(time.Second))
	}
	if !hmac.Equal([]byte(signature), []byte(sign(secret, timestamp, body))) {
		return fmt.Errorf("%s: it does not match the body", SignatureHeader)
	}
	return nil
}

// The key of signatures is read for each notice, so that a renewed one needs no restart.
func TestARenewedKeySigns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	renew := func(key string) {
		if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const old, renewed = "0123456789abcdef-old", "0123456789abcdef-new"
	var signed []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, key := range []string{old, renewed} {
			if verify(key, r.Header.Get(TimestampHeader), r.Header.Get(SignatureHeader), body, time.Now(), time.Minute) == nil {
				signed = append(signed, key)
			}
		}
	}))
	defer server.Close()
	renew(old)
	var cfg Config
	cfg.SetDefaults()
	cfg.Name, cfg.URL, cfg.SecretFile = "test", secret.NewURL(server.URL), file
	w, err := New(cfg, t.TempDir(), recordtest.New(t, "webhook-test", Reasons()).Recorder, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{old, renewed} {
		renew(key)
		if err := w.deliver(t.Context(), &item{Key: "1", Body: []byte("{}")}); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(signed, []string{old, renewed}) {
		t.Errorf("signed with %v", signed)
	}
	renew("short")
	if err := w.deliver(t.Context(), &item{Key: "1", Body: []byte("{}")}); err == nil || !strings.Contains(err.Error(), "too short") {
		t.Error(err)
	}
}
