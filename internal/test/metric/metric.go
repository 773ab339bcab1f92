// Package metric reads metrics in tests. Input: a registry, the name of a metric and values of its labels. Output: the
// value; a metric that does not exist fails the test.
package metric

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// T is what *testing.T, *testing.B and *rapid.T have in common.
type T interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// Sum is the sum over the series that have all these label values: of counters and gauges the values, of histograms the
// number of observations.
func Sum(t T, from prometheus.Gatherer, name string, labels ...string) (sum float64) {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && hasAll(m, labels) {
				found = true
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	if !found {
		t.Fatalf("no metric %s with %q", name, labels)
	}
	return sum
}

func hasAll(m *dto.Metric, labels []string) bool {
	return !slices.ContainsFunc(labels, func(want string) bool {
		return !slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == want })
	})
}
