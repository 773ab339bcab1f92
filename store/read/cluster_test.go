//go:build engine || integration

package read

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store"
	"github.com/giverny/giverny/store/engine/enginetest"
)

func newClusterModel(t *testing.T) testModel {
	t.Helper()
	cfg := store.DefaultConfig()
	cfg.Cluster = enginetest.Cluster
	return modelOf(t, enginetest.ClusterOptions(shared.Options("distributed")), cfg)
}

// Every query gives the same result over distributed tables.
func TestAClusterAnswersAlike(t *testing.T) {
	alone, cluster := newModel(t), newClusterModel(t)
	for _, n := range []int64{1, 2, 3, 4, 200} {
		for _, version := range []uint64{1<<63 + 7, 9} {
			r := someResult("bw", n, 1000)
			r.Snapshot.GraphVersion = version
			alone.store(t, r)
			cluster.store(t, r)
		}
	}
	if made, err := cluster.db.RollUp(t.Context(), "bw", 0); made != 1 || err != nil { // without a cluster it counts everything
		t.Fatalf("rolled up %d hours, %v", made, err)
	}
	empty := map[string]bool{}
	ctx, span, m := t.Context(), minutes(0, 220), schema.CreditStall
	for name, ask := range map[string]func(testModel) (any, error){
		"LastStored":         func(q testModel) (any, error) { return q.LastStored(ctx, "bw") },
		"Intervals":          func(q testModel) (any, error) { return q.Intervals(ctx, "bw", span) },
		"Regions":            func(q testModel) (any, error) { return q.Regions(ctx, "bw", span) },
		"RegionHistory":      func(q testModel) (any, error) { return q.RegionHistory(ctx, "bw", 1<<63+5, span) },
		"Events":             func(q testModel) (any, error) { return q.Events(ctx, "bw", span) },
		"SevereRegions":      func(q testModel) (any, error) { return q.SevereRegions(ctx, "bw", span, schema.Low) },
		"NetworkStates":      func(q testModel) (any, error) { return q.NetworkStates(ctx, "bw", span) },
		"Network":            func(q testModel) (any, error) { return q.Network(ctx, "bw", span) },
		"HotEpisodes":        func(q testModel) (any, error) { return q.Figures("bw", span).HotEpisodes(ctx, schema.InqStall) },
		"RegionSizes":        func(q testModel) (any, error) { return q.Figures("bw", span).RegionSizes(ctx, m) },
		"RegionDurations":    func(q testModel) (any, error) { return q.Figures("bw", span).RegionDurations(ctx, m) },
		"RegionTransitions":  func(q testModel) (any, error) { return q.Figures("bw", span).RegionTransitions(ctx, m) },
		"NetworkTransitions": func(q testModel) (any, error) { return q.Figures("bw", span).NetworkTransitions(ctx, m) },
		"LinkTime":           func(q testModel) (any, error) { return q.Figures("bw", span).LinkTime(ctx, m) },
		"Congestion":         func(q testModel) (any, error) { return q.Figures("bw", span).Congestion(ctx) },
		"ForecastSkill":      func(q testModel) (any, error) { return q.Figures("bw", span).ForecastSkill(ctx) },
		"Mitigations":        func(q testModel) (any, error) { return q.Figures("bw", span).Mitigations(ctx, time.Minute) },
		"LinkSeries":         func(q testModel) (any, error) { return q.Figures("bw", span).LinkSeries(ctx, 9, m, 7) },
		"LinkHistory":        func(q testModel) (any, error) { return q.Figures("bw", span).LinkHistory(ctx, 9, m, 7, ByMinutes) },
		"TopLinks":           func(q testModel) (any, error) { return q.Figures("bw", span).TopLinks(ctx, 9, m, 5) },
		"Result": func(q testModel) (any, error) {
			last, err := q.LastStored(ctx, "bw")
			if err != nil {
				return nil, err
			}
			return q.Result(ctx, "bw", last)
		},
	} {
		want, err := ask(alone)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := ask(cluster)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Stored{}, "StoredAtNanos"), cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
		empty[name] = fmt.Sprint(want) == "[]"
	}
	if empty["Intervals"] || empty["Regions"] || empty["NetworkStates"] || empty["Congestion"] || empty["TopLinks"] {
		t.Errorf("nothing is compared: %v", empty)
	}
}
