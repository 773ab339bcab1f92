// Package ops serves the operational endpoints of every role: /metrics, /-/healthy,
// /-/ready and /debug/pprof/, with metrics and profiles on a separate listener. Input:
// a metrics registry and named readiness checks. It also runs HTTP servers with
// timeouts against slow clients.
package ops

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/giverny/giverny/internal/access"
	"github.com/giverny/giverny/internal/problem"
)

// checkTimeout bounds each readiness check.
const checkTimeout = 2 * time.Second

// Check returns nil if the part is working.
type Check func(ctx context.Context) error

// Ops has the metrics registry and the readiness checks of a process.
type Ops struct {
	Registry *prometheus.Registry

	mu     sync.Mutex // guards the fields below
	checks map[string]Check
	states map[string]func() string
}

// New returns an Ops with the metrics of the Go runtime, the process, and
// giverny_build_info.
func New(version string) *Ops {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	r.MustRegister(BuildInfo(version))
	return &Ops{Registry: r, checks: map[string]Check{}, states: map[string]func() string{}}
}

// BuildInfo is the metric that shows the version.
func BuildInfo(version string) prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "giverny_build_info", Help: "1; the version is in the label.",
		ConstLabels: prometheus.Labels{"version": version}})
	info.Set(1)
	return info
}

// AddCheck makes readiness depend on a part.
func (o *Ops) AddCheck(part string, c Check) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.checks[part] = c
}

// AddState adds the state of a part to the response of /-/ready, if it is not empty;
// readiness does not depend on it.
func (o *Ops) AddState(part string, state func() string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.states[part] = state
}

func (o *Ops) partStates() map[string]string {
	o.mu.Lock()
	all := maps.Clone(o.states)
	o.mu.Unlock()
	states := make(map[string]string, len(all))
	for part, state := range all {
		if word := state(); word != "" {
			states[part] = word
		}
	}
	return states
}

// Ready runs all checks in parallel and returns the errors by part; an empty map means
// ready.
func (o *Ops) Ready(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	o.mu.Lock()
	checks := maps.Clone(o.checks)
	o.mu.Unlock()
	var wg sync.WaitGroup
	var mu sync.Mutex
	faults := map[string]string{}
	for part, check := range checks {
		wg.Go(func() {
			if err := check(ctx); err != nil {
				mu.Lock()
				defer mu.Unlock()
				faults[part] = err.Error()
			}
		})
	}
	wg.Wait()
	return faults
}

// RegisterNoPage adds / to the mux of a role without the page: what answers here, and where health and metrics are.
// Unidentified clients do not get the address of the metrics.
func (o *Ops) RegisterNoPage(mux *http.ServeMux, role, metrics string) {
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		at := "http.metrics.listen"
		if access.Of(r.Context()).Role >= access.Viewer {
			at = "http://" + metrics
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "giverny %s has no page; giverny serve has it. Health: /-/healthy and /-/ready; metrics: %s/metrics\n", role, at)
	})
}

// RegisterHealth adds /-/healthy and /-/ready to mux. Unidentified clients get only the status, no details.
func (o *Ops) RegisterHealth(mux *http.ServeMux) {
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("healthy\n"))
	})
	mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, r *http.Request) {
		faults := o.Ready(r.Context())
		w.Header().Set("Content-Type", "application/json")
		if len(faults) > 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		answer := map[string]any{"ready": len(faults) == 0}
		if access.Of(r.Context()).Role >= access.Viewer {
			answer["faults"] = faults
			if states := o.partStates(); len(states) > 0 {
				answer["states"] = states
			}
		}
		json.NewEncoder(w).Encode(answer)
	})
}

// Own is the handler of the listener for metrics and profiles: health and metrics for everyone, profiles only
// for this host unless profilesForAll.
func (o *Ops) Own(profilesForAll bool) http.Handler {
	mux := http.NewServeMux()
	o.RegisterHealth(mux)
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	for path, handler := range map[string]http.HandlerFunc{"/debug/pprof/": pprof.Index, "/debug/pprof/profile": pprof.Profile,
		"/debug/pprof/symbol": pprof.Symbol, "/debug/pprof/trace": pprof.Trace} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			if host, _, err := net.SplitHostPort(r.RemoteAddr); !profilesForAll && (err != nil || !net.ParseIP(host).IsLoopback()) {
				problem.New(http.StatusForbidden, "profiles are available from this host only; see http.metrics.profiles").Write(w)
				return
			}
			handler(w, r)
		})
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := access.Identity{Name: "metrics", Role: access.Viewer, By: "listener"}
		mux.ServeHTTP(w, r.WithContext(access.With(r.Context(), who)))
	})
}
