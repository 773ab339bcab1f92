package search

import "testing"

// yieldSearch is a search that knows one anomaly: a is 2 or more, and b is 2 or more.
func yieldSearch(t *testing.T) *Search {
	t.Helper()
	d := Description{Name: "nic", LineRateGbps: 100, MessageRateMpps: 100}
	for _, name := range []string{"a", "b", "c"} {
		d.Dimensions = append(d.Dimensions, Dimension{Name: name, Ordered: true, Values: []Value{Number(0), Number(1), Number(2), Number(3)}})
	}
	space, err := NewSpace(d.Dimensions)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(d, space, Config{Algorithm: Lift, Budget: 100, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.anomalies = []*Anomaly{{Symptom: Pause, MFS: boxOf(space, 2, 2, 0), base: &experiment{point: point{{3}, {3}, {0}}}}}
	return s
}

// boxOf is an MFS with a lower bound for each dimension; 0: it does not matter.
func boxOf(space *Space, least ...int) *MFS {
	f := newMFS(space)
	for d, lo := range least {
		if lo > 0 {
			f.conds[d] = condition{span: span{lo, 3}}
		}
	}
	return f
}

func sick(p ...int) *experiment {
	e := &experiment{symptom: Pause, origin: probe}
	for _, i := range p {
		e.point = append(e.point, []int{i})
	}
	return e
}

func TestEdgeWaitsWhileProposalsYieldMore(t *testing.T) {
	s := yieldSearch(t)
	edge, far := sick(3, 1, 0), sick(0, 0, 3)
	s.yields[proposal], s.yields[probe] = yield{1, 20}, yield{1, 10}
	if !s.worthwhile(edge) {
		t.Error("probes yield more than proposals: want the edge of a known anomaly taken apart")
	}
	s.yields[probe].add(0, 30)
	if s.worthwhile(edge) {
		t.Error("probes yield less than proposals: want the edge of a known anomaly to wait")
	}
	if !s.worthwhile(far) {
		t.Error("want what is far from all that is known taken apart in any case")
	}
	s.yields[proposal].add(0, 10*int(yieldMemory))
	if !s.worthwhile(edge) {
		t.Error("proposals yield nothing any more: want the edge of a known anomaly taken apart")
	}
	s.flaky = true
	s.yields[proposal] = yield{1, 1}
	if !s.worthwhile(edge) {
		t.Error("the engine is flaky: want the edge of a known anomaly taken apart")
	}
}

func TestUnexplainedIsTheFarthest(t *testing.T) {
	s := yieldSearch(t)
	edge, far, later := sick(3, 1, 0), sick(0, 0, 3), sick(1, 0, 3)
	s.history = append(s.history, edge, far, later)
	if got := s.unexplained(); got != far {
		t.Errorf("unexplained: %v, want %v", got.point, far.point)
	}
	far.apart, later.apart = true, true
	if got := s.unexplained(); got != edge {
		t.Errorf("unexplained: %v, want %v", got, edge.point)
	}
}

func TestNewness(t *testing.T) {
	for _, c := range []struct {
		least []int // of the MFS that was found
		want  float64
	}{
		{[]int{1, 3, 0}, 0},                 // the same dimensions: part of it
		{[]int{0, 0, 1}, 1},                 // none shared
		{[]int{0, 2, 2}, .8888888888888888}, // one of three
	} {
		s := yieldSearch(t)
		e := sick(3, 3, 3)
		s.anomalies = append(s.anomalies, &Anomaly{Symptom: Pause, MFS: boxOf(s.space, c.least...), base: e})
		if got := s.newness(e); got != c.want {
			t.Errorf("conditions from %v: newness %v, want %v", c.least, got, c.want)
		}
	}
	s := yieldSearch(t)
	if got := s.newness(sick(3, 3, 3)); got != 0 {
		t.Errorf("what was not reported: newness %v, want 0", got)
	}
}
