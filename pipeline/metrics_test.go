package pipeline

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/internal/test/journal"
	"github.com/giverny/giverny/schema"
)

// gauges are the values of a registry, by name and last label.
func gauges(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := m.GetLabel()
			values[f.GetName()+" "+labels[max(0, len(labels)-1)].GetValue()] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return values
}

func TestTrackingMetrics(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := registered(reg)
	m.declare("f", nil)
	want := map[string]float64{"giverny_tracking_brier_score 1": .2, "giverny_tracking_brier_score 5": .6, "giverny_tracking_persistence_brier_score 1": .3,
		"giverny_tracking_persistence_brier_score 5": .9, "giverny_tracking_forecasts 1": 7, "giverny_tracking_forecasts 5": 4, "giverny_tracking_congestion_event f": 1,
		"giverny_pipeline_faults_total analysis": 0, "giverny_pipeline_up analysis": 0, "giverny_tracking_longest_hot_seconds f": 120, "giverny_tracking_state_refused_total f": 0, "giverny_regions High": 1}
	before := gauges(t, reg)
	for name := range want {
		if v, there := before[name]; !there || v != 0 {
			t.Errorf("at the start %s is %v (%v), want 0", name, v, there)
		}
	}
	if v := before["giverny_tracking_network_state f"]; v != -1 {
		t.Errorf("at the start the state is %v, want -1", v)
	}
	const minute = int64(60e9)
	m.stored(&schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "f", Interval: schema.Interval{StartNanos: 5 * minute, DurationNanos: minute}},
		Regions: []schema.Region{{Severity: schema.High}}, Network: schema.NetworkForecast{Severity: schema.High}, Congestion: &schema.CongestionEvent{},
		Hot:   []schema.HotLink{{SinceNanos: 5 * minute}, {SinceNanos: 4 * minute}},
		Skill: schema.ForecastSkills{Next: schema.ForecastSkill{Forecasts: 7, Brier: .2, Persistence: .3}, Later: schema.ForecastSkill{Forecasts: 4, Brier: .6, Persistence: .9}}}, false)
	after := gauges(t, reg)
	for name, v := range want {
		if after[name] != v {
			t.Errorf("%s is %v, want %v", name, after[name], v)
		}
	}
	m.stored(&schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "f"}}, false)
	if after = gauges(t, reg); after["giverny_tracking_congestion_event f"] != 0 || after["giverny_tracking_longest_hot_seconds f"] != 0 {
		t.Errorf("when all is calm: %v", after)
	}
}

// What is not used is counted by counters, named as such, which follow the totals of the analysis.
func TestCountersOfWhatIsNotUsed(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := registered(reg)
	m.declare("f", map[string]uint64{"late": 0})
	for _, total := range []uint64{0, 3, 3, 8} {
		m.drops("f", discarded{map[string]uint64{"late": total}, 2 * total})
		if v := gauges(t, reg); v["giverny_analyse_dropped_total late"] != float64(total) || v["giverny_analyse_batches_missing_total f"] != float64(2*total) {
			t.Errorf("of %d readings and %d batches: %v", total, 2*total, v)
		}
	}
	faults, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		t.Errorf("%s: %s", f.Metric, f.Text)
	}
}

// The counters of a sink are present from the start, at zero.
func TestSinkMetricsAtTheStart(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	registered(reg).declareSink("f", "topic")
	if n, err := testutil.GatherAndCount(reg, "giverny_pipeline_refused_total", "giverny_pipeline_sink_dropped_total"); n != 4 || err != nil {
		t.Errorf("%d series, %v: want one of refused results and one for each of three reasons to drop one", n, err)
	}
}

// The state in the metrics is that of now at every moment: one that a stored interval of the past would set for an instant ends
// the time for which an alert waits.
func TestIntervalsOfThePastAreNotTheStateOfTheNetwork(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	m := registered(reg)
	m.declare("f", nil)
	w := newWatch("f", 10*time.Second, 5*time.Second, m, slog.New(slog.DiscardHandler))
	w.live()
	for _, lag := range []time.Duration{time.Hour, 0} {
		now := time.Now()
		w.readings("a", now.Add(-lag).UnixNano())
		r := &schema.IntervalResult{Snapshot: &schema.Snapshot{Fabric: "f", Interval: schema.Interval{StartNanos: now.Add(-lag - 10*time.Second).UnixNano(), DurationNanos: 10e9}},
			Network: schema.NetworkForecast{Severity: schema.High}}
		m.stored(r, false)
		w.stored(r)
		behind, state := 0., 3.
		if lag > 0 {
			behind, state = 1, -1
		}
		after := gauges(t, reg)
		if after["giverny_network_unknown behind"] != behind || after["giverny_tracking_network_state f"] != state {
			t.Errorf("%v behind: unknown is %v and the state %v, want %v and %v", lag, after["giverny_network_unknown behind"], after["giverny_tracking_network_state f"], behind, state)
		}
	}
}

// The log says once that an analysis is behind, and once more when it turns out that it does not catch up; how the pace varies
// after that is for the metrics.
func TestTheLogSaysWhetherAnAnalysisCatchesUp(t *testing.T) {
	log := &journal.Journal{}
	w := newWatch("f", 10*time.Second, 5*time.Second, registered(prometheus.NewPedanticRegistry()), slog.New(slog.NewTextHandler(log, nil)))
	w.live()
	now := time.Now().UnixNano()
	appended := now - int64(time.Hour)
	play := func(pace float64) (said []string) {
		before := len(log.String())
		for range 40 {
			now, appended = now+2*second, appended+int64(pace*2*float64(second))
			w.fresh.read("a", now)
			w.fresh.backlog.took(appended, now)
			w.fresh.storedNanos, w.fresh.endNanos = now, appended
			w.look(now)
		}
		return strings.Split(strings.TrimSpace(log.String()[before:]), "\n")
	}
	said := play(0.5)
	if len(said) != 2 || !strings.Contains(said[0], "behind the readings") || strings.Contains(said[0], "catch up") || !strings.Contains(said[1], "does not catch up: a minute is enough for 30 s") {
		t.Errorf("while it does not catch up: %q", said)
	}
	for _, pace := range []float64{5, 0.5} {
		if said := play(pace); len(said) != 1 || said[0] != "" {
			t.Errorf("at a pace of %v: %q", pace, said)
		}
	}
}
