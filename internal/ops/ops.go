// Package ops serves what operators and machines ask of every part of Giverny:
// /metrics, /-/healthy, /-/ready and /debug/pprof/. It takes a metrics registry
// and named readiness checks; it decides nothing itself.
package ops

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/giverny/giverny/internal/faults"
)

// Config says where the HTTP server listens.
type Config struct {
	// Address and port; port 0 takes a free one.
	Listen string `yaml:"listen"`
}

// DefaultConfig listens to this host alone.
func DefaultConfig() Config { return Config{Listen: "127.0.0.1:9401"} }

// Validate names every fault.
func (c *Config) Validate() error {
	var f faults.List
	_, port, err := net.SplitHostPort(c.Listen)
	_, portErr := net.LookupPort("tcp", port)
	f.Check(err == nil && port != "" && portErr == nil, "listen", "%q: want ADDRESS:PORT, such as 127.0.0.1:9401 or :9401", c.Listen)
	return f.Err()
}

// checkTimeout bounds each readiness check.
const checkTimeout = 2 * time.Second

// Check reports nil when the part can do its work now.
type Check func(ctx context.Context) error

// Ops is the registry of one process and its readiness checks.
type Ops struct {
	Registry *prometheus.Registry

	mu     sync.Mutex // guards what follows
	checks map[string]Check
	states map[string]func() string
}

// New makes a registry with the Go runtime's and the process's own metrics and
// giverny_build_info.
func New(version string) *Ops {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "giverny_build_info", Help: "1; the version is in the label.",
		ConstLabels: prometheus.Labels{"version": version}})
	info.Set(1)
	r.MustRegister(info)
	return &Ops{Registry: r, checks: map[string]Check{}, states: map[string]func() string{}}
}

// AddCheck makes readiness depend on a part.
func (o *Ops) AddCheck(part string, c Check) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.checks[part] = c
}

// AddState adds a word on a part to what /-/ready answers, where it is not empty;
// readiness does not depend on it.
func (o *Ops) AddState(part string, state func() string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.states[part] = state
}

func (o *Ops) partStates() map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	states := make(map[string]string, len(o.states))
	for part, state := range o.states {
		if word := state(); word != "" {
			states[part] = word
		}
	}
	return states
}

// Ready runs every check side by side and returns the faults by part; an empty
// map means ready.
func (o *Ops) Ready(ctx context.Context) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	o.mu.Lock()
	defer o.mu.Unlock()
	var wg sync.WaitGroup
	var mu sync.Mutex
	faults := map[string]string{}
	for part, check := range o.checks {
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

// Register adds the endpoints to mux.
func (o *Ops) Register(mux *http.ServeMux) {
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("healthy\n"))
	})
	mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, r *http.Request) {
		faults := o.Ready(r.Context())
		w.Header().Set("Content-Type", "application/json")
		if len(faults) > 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		answer := map[string]any{"ready": len(faults) == 0, "faults": faults}
		if states := o.partStates(); len(states) > 0 {
			answer["states"] = states
		}
		json.NewEncoder(w).Encode(answer)
	})
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
}

// Serve answers on l until ctx is cancelled, then lets running requests end for
// at most grace.
func Serve(ctx context.Context, l net.Listener, handler http.Handler, grace time.Duration) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if server.Shutdown(stop) != nil {
		server.Close()
	}
	<-failed
	return nil
}
