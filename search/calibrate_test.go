package search

import "testing"

// cpuBound is an engine whose CPU posts 86 of the 100 million packets per second in the
// description, and less with more queue pairs and longer batches: below 80 with both.
// It has one anomaly, at packet sizes that the CPU does not limit.
type cpuBound struct{}

func (cpuBound) describe() Description {
	values := func(v ...float64) (list []Value) {
		for _, x := range v {
			list = append(list, Number(x))
		}
		return list
	}
	return Description{Name: "cpu", LineRateGbps: 100, MessageRateMpps: 100, Dimensions: []Dimension{
		{Name: "qps", Ordered: true, Values: values(1, 2, 4, 8, 16, 32)},
		{Name: "bytes", Ordered: true, Values: values(64, 128, 256, 512, 1024, 2048, 4096)},
		{Name: "batch", Ordered: true, Values: values(1, 2, 4, 8, 16)},
		{Name: "depth", Ordered: true, Values: values(16, 32, 64, 128)},
	}}
}

func (cpuBound) measure(w Workload, description *Description) Measurement {
	at := func(d int) float64 { return description.Dimensions[d].Values[w.point[d][0]].Float() }
	size := at(1)
	rate := 86 * (1 - at(0)/32*.07 - at(2)/16*.07)
	mpps := min(rate, description.LineRateGbps*1000/8/size)
	if at(0) >= 16 && size >= 1024 && at(2) <= 2 {
		mpps /= 2
	}
	return Measurement{Status: OK, Seconds: 1, TxPausePercent: []float64{0, 0}, Directions: []Direction{{Gbps: mpps * size * 8 / 1000, Mpps: mpps, SizeBytes: size}}}
}

// TestSlowSizesAreNoAnomalies: the packet rate that hosts reach with small packets is
// learned.
func TestSlowSizesAreNoAnomalies(t *testing.T) {
	for _, algorithm := range []Algorithm{Lift, Random} {
		t.Run(string(algorithm), func(t *testing.T) {
			d := cpuBound{}.describe()
			space, err := NewSpace(d.Dimensions)
			if err != nil {
				t.Fatal(err)
			}
			s, err := New(d, space, Config{Algorithm: algorithm, Budget: 600, Seed: 3})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			withdrawn := 0
			for w, ok := s.Next(0); ok; w, ok = s.Next(0) {
				for _, f := range s.Observe(0, cpuBound{}.measure(w, &d)) {
					if f.Anomaly.MFS == nil {
						withdrawn++
					}
				}
			}
			real := 0
			for _, a := range s.Anomalies() {
				if a.base.result.Directions[0].SizeBytes >= 1024 {
					real++
				} else {
					t.Errorf("experiment %d stands: %v", a.Experiment, a.Workload)
				}
			}
			if real == 0 {
				t.Error("the anomaly of large packets was not found")
			}
			if withdrawn == 0 {
				t.Error("nothing was withdrawn: the engine shows no slow sizes")
			}
		})
	}
}

func TestReachable(t *testing.T) {
	d := Description{LineRateGbps: 100, MessageRateMpps: 100}
	slow := func(n int, size, mpps float64) (r sizeRates) {
		for range n {
			r.add(&d, &Measurement{Directions: []Direction{{Gbps: mpps * size * 8 / 1000, Mpps: mpps, SizeBytes: size}}})
		}
		return r
	}
	for _, c := range []struct {
		name  string
		rates sizeRates
		size  float64
		want  float64
	}{
		{"none", nil, 64, 0},
		{"size not known", slow(calibrating, 0, 40), 0, 0},
		{"too few", slow(calibrating-1, 64, 40), 64, 0},
		{"slow", slow(calibrating, 64, 40), 64, 40},
		{"the best of them", append(slow(calibrating, 64, 40), slow(1, 66, 50)...), 64, 50},
		{"one reaches the bound", append(slow(calibrating, 64, 40), slow(1, 62, 95)...), 64, 0},
		{"another size does", append(slow(calibrating, 64, 40), slow(1, 80, 95)...), 64, 40},
		{"line rate", slow(calibrating, 1024, 12), 1024, 0},
	} {
		if got := c.rates.reachable(c.size); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
