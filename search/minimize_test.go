package search_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/search"
)

// conjunction is a subsystem with one anomaly, without noise.
type conjunction struct {
	description search.Description
	mfs         *search.MFS
}

func (c *conjunction) Measure(w search.Workload) search.Measurement {
	m := search.Measurement{Status: search.OK, Seconds: 1, Directions: []search.Direction{{Gbps: 195, Mpps: 25, SizeBytes: 1000}}, TxPausePercent: []float64{0, 0}}
	if c.mfs.Covers(w) {
		m.TxPausePercent[1], m.Directions[0].Gbps = 12, 90
	}
	return m
}

// anyConjunction draws a conjunction of one to four conditions on ten dimensions.
func anyConjunction(t *rapid.T) (*conjunction, *search.Space) {
	d := search.Description{Name: "one", LineRateGbps: 200, MessageRateMpps: 200}
	for i := range 5 {
		d.Dimensions = append(d.Dimensions,
			search.Dimension{Name: fmt.Sprint("kind", i), Values: []search.Value{search.Text("a"), search.Text("b"), search.Text("c")}},
			search.Dimension{Name: fmt.Sprint("size", i), Ordered: true, Values: search.Numbers(1, 2, 4, 8, 16, 32, 64)})
	}
	space, err := search.NewSpace(d.Dimensions)
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 1, 4, rapid.ID[int]).Draw(t, "dimensions") {
		of := `"size%d":{"min":%d}`
		if i%2 == 0 {
			of = `"kind%d":{"in":["b"]}`
			parts = append(parts, fmt.Sprintf(of, i/2))
			continue
		}
		v := rapid.SampledFrom([]int{8, 16, 32}).Draw(t, "bound")
		if rapid.Bool().Draw(t, "below") {
			of, v = `"size%d":{"max":%d}`, v/4
		}
		parts = append(parts, fmt.Sprintf(of, i/2, v))
	}
	mfs, err := space.ParseMFS([]byte("{" + strings.Join(parts, ",") + "}"))
	if err != nil {
		t.Fatal(err)
	}
	return &conjunction{d, mfs}, space
}

// TestConjunctionsAreFoundExactly: the one anomaly of a subsystem without noise ends as
// one report with the right MFS.
func TestConjunctionsAreFoundExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, space := anyConjunction(t)
		s, err := search.New(c.description, space, search.Config{Algorithm: search.Lift, Budget: 500, Seed: rapid.Uint64().Draw(t, "seed")})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for {
			w, ok := s.Next(0)
			if !ok {
				break
			}
			s.Observe(0, c.Measure(w))
		}
		found := s.Anomalies()
		if len(found) != 1 {
			t.Fatalf("%d anomalies, want one with %s", len(found), c.mfs)
		}
		if _, exact := search.Compare(found[0].MFS, c.mfs); !exact {
			t.Errorf("mfs %s, want %s", found[0].MFS, c.mfs)
		}
	})
}

func TestMonitor(t *testing.T) {
	d := search.Description{LineRateGbps: 200, MessageRateMpps: 100, PacketRates: []search.PacketRate{{SizeBytes: 64, Mpps: 10}, {SizeBytes: 4096, Mpps: 100}}}
	for _, c := range []struct {
		name, measurement string
		want              search.Symptom
	}{
		{"line rate", `{"status":"ok","directions":[{"gbps":181,"mpps":22,"size_bytes":1024}],"tx_pause_percent":[0,0.1]}`, search.Healthy},
		{"pause at one host", `{"status":"ok","directions":[{"gbps":181,"mpps":22,"size_bytes":1024}],"tx_pause_percent":[0,0.11]}`, search.Pause},
		{"one direction of two", `{"status":"ok","directions":[{"gbps":181,"mpps":22,"size_bytes":1024},{"gbps":95,"mpps":11,"size_bytes":1024}]}`, search.Throughput},
		{"small packets at their calibrated rate", `{"status":"ok","directions":[{"gbps":5,"mpps":9,"size_bytes":64}]}`, search.Healthy},
		{"small packets below it", `{"status":"ok","directions":[{"gbps":4,"mpps":7,"size_bytes":64}]}`, search.Throughput},
		{"no set-up", `{"status":"setup_failed","tx_pause_percent":[50]}`, search.Healthy},
		{"not quiet", `{"status":"not_quiet","tx_pause_percent":[50]}`, search.Healthy},
	} {
		var m search.Measurement
		if err := json.Unmarshal([]byte(c.measurement), &m); err != nil {
			t.Fatal(err)
		}
		if got := d.Judge(&m); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestSamplesAreStable(t *testing.T) {
	sample := func(gbps float64) search.Measurement {
		return search.Measurement{Status: search.OK, Seconds: 2, Directions: []search.Direction{{Gbps: gbps}}, TxPausePercent: []float64{gbps / 10}, Counters: map[string]float64{"c": gbps}}
	}
	var s search.Samples
	for i, gbps := range []float64{20, 100, 101, 99, 100} { // the first is of the set-up
		if done := s.Add(sample(gbps)); done != (i == 4) {
			t.Errorf("after %d samples: done %v", i+1, done)
		}
	}
	if m := s.Measurement(); m.Seconds != 10 || m.Directions[0].Gbps != 100 || m.TxPausePercent[0] != 10 || m.Counters["c"] != 100 {
		t.Errorf("mean %+v", m)
	}
	var never search.Samples
	n := 1
	for ; !never.Add(sample(float64(50 * (1 + n%2)))); n++ {
	}
	if n != 12 {
		t.Errorf("unstable: %d samples, want 12", n)
	}
	if !never.Add(search.Measurement{Status: search.NotQuiet}) || never.Measurement().Status != search.NotQuiet {
		t.Error("a sample on a busy fabric is no end")
	}
}
