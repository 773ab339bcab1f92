// Command extender serves the scheduler extender with fixed scores, for the recordings described in README.md.
package main

import (
	"log"
	"log/slog"
	"net/http"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/feedback/kubernetes"
	"github.com/giverny/giverny/feedback/policy"
	"github.com/giverny/giverny/feedback/reconcile"
	"github.com/giverny/giverny/feedback/record"
)

func main() {
	metrics, err := record.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		log.Fatal(err)
	}
	out := slog.New(slog.NewTextHandler(os.Stderr, nil))
	cfg := kubernetes.DefaultConfig().Extender
	cfg.Enabled, cfg.DryRun, cfg.Allow = true, false, []string{"host*"}
	e := kubernetes.NewExtender(cfg, record.New("kubernetes-extender", kubernetes.ExtenderReasons(), metrics, record.NewTrail(nil, metrics), out), out)
	e.Take(reconcile.Scores{Fabric: "ib0", Nodes: []policy.Score{{Node: "host1", Score: 95, Reason: "1 of its 1 links are congested"}, {Node: "host2", Score: 52}}})
	mux := http.NewServeMux()
	e.Register(mux)
	log.Fatal(http.ListenAndServe("127.0.0.1:18231", mux))
}
