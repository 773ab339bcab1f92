package ops_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/internal/ops"
)

func get(t *testing.T, mux http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}

func TestEndpoints(t *testing.T) {
	o := ops.New("1.2.3")
	mux := o.Own(false)
	if code, body := get(t, mux, "/-/ready"); code != 200 || !strings.Contains(body, "true") {
		t.Errorf("ready without checks: %d %s", code, body)
	}
	kafka := errors.New("no broker")
	o.AddCheck("kafka", func(context.Context) error { return kafka })
	o.AddCheck("store", func(context.Context) error { return nil })
	if code, body := get(t, mux, "/-/ready"); code != 503 || !strings.Contains(body, "no broker") || strings.Contains(body, "store") {
		t.Errorf("not ready: %d %s", code, body)
	}
	kafka = nil
	if code, _ := get(t, mux, "/-/ready"); code != 200 {
		t.Errorf("ready again: %d", code)
	}
	standby := "standby"
	o.AddState("fabric a", func() string { return standby })
	o.AddState("fabric b", func() string { return "" })
	if code, body := get(t, mux, "/-/ready"); code != 200 || body != `{"faults":{},"ready":true,"states":{"fabric a":"standby"}}`+"\n" {
		t.Errorf("with states: %d %s", code, body)
	}
	standby = ""
	if _, body := get(t, mux, "/-/ready"); strings.Contains(body, "states") {
		t.Errorf("without states: %s", body)
	}
	if code, _ := get(t, mux, "/-/healthy"); code != 200 {
		t.Errorf("healthy: %d", code)
	}
	if _, body := get(t, mux, "/metrics"); !strings.Contains(body, `giverny_build_info{version="1.2.3"} 1`) {
		t.Error("no build info")
	}
}

// A role without the page says what it is and where its health and metrics are, only at its root.
func TestARoleWithoutAPage(t *testing.T) {
	o, mux := ops.New("1.2.3"), http.NewServeMux()
	o.RegisterHealth(mux)
	o.RegisterNoPage(mux, "collect", "127.0.0.1:9402")
	if code, body := get(t, mux, "/"); code != 200 || !strings.Contains(body, "giverny collect has no page") || !strings.Contains(body, "/-/ready") || !strings.Contains(body, "/metrics") {
		t.Errorf("at /: %d %s", code, body)
	}
	if _, body := get(t, mux, "/"); strings.Contains(body, "9402") {
		t.Errorf("an unidentified client got the address of the metrics: %s", body)
	}
	if code, _ := get(t, mux, "/elsewhere"); code != 404 {
		t.Errorf("elsewhere: %d", code)
	}
}

// Profiles are only for this host by default; metrics and health are for everyone who reaches the listener.
// A slow check does not block other requests.
func TestProbesDoNotQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := ops.New("v1")
		o.AddCheck("slow", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		began := time.Now()
		var asking sync.WaitGroup
		for range 5 {
			asking.Go(func() { o.Ready(t.Context()) })
		}
		asking.Wait()
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("five questions took %v", took)
		}
	})
}

func TestProfilesAreForThisHost(t *testing.T) {
	o := ops.New("1")
	for remote, want := range map[string][2]int{"127.0.0.1:1": {200, 200}, "[::1]:1": {200, 200}, "192.0.2.1:1": {403, 200}} {
		for i, all := range []bool{false, true} {
			r := httptest.NewRequest("GET", "/debug/pprof/symbol", nil)
			r.RemoteAddr = remote
			w := httptest.NewRecorder()
			o.Own(all).ServeHTTP(w, r)
			if w.Code != want[i] {
				t.Errorf("%s, for all %v: %d, want %d", remote, all, w.Code, want[i])
			}
			r.URL.Path = "/metrics"
			w = httptest.NewRecorder()
			if o.Own(all).ServeHTTP(w, r); w.Code != http.StatusOK {
				t.Errorf("%s: metrics %d", remote, w.Code)
			}
		}
	}
	mux := http.NewServeMux() // the page's mux, with a guard for unidentified clients
	o.RegisterHealth(mux)
	o.AddCheck("kafka", func(context.Context) error { return errors.New("broker 10.0.0.1 is away") })
	if code, body := get(t, mux, "/-/ready"); code != 503 || body != `{"ready":false}`+"\n" {
		t.Errorf("for one who is not known: %d %s", code, body)
	}
}
