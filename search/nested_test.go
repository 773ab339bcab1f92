package search

import "testing"

// TestNestedIsWithdrawn: of two MFS with the same symptom, one within the other, the outer one stays.
func TestNestedIsWithdrawn(t *testing.T) {
	space, err := NewSpace([]Dimension{
		{Name: "op", Values: []Value{Text("get"), Text("put")}},
		{Name: "flows", Ordered: true, Values: []Value{Number(8), Number(32), Number(128)}},
		{Name: "sizes", Pattern: true, MaxLength: 2, Values: []Value{Number(64), Number(1024), Number(65536)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const wide, narrow = `{"op":{"in":["get"]},"flows":{"min":32}}`, `{"op":{"in":["get"]},"flows":{"min":128}}`
	for _, c := range []struct {
		name, first, second string
		change              func(first, second *Anomaly)
		atEnd               bool
		want                [2]bool // stands
	}{
		{"the later lies within", wide, narrow, nil, false, [2]bool{true, false}},
		{"the earlier lies within", narrow, wide, nil, false, [2]bool{false, true}},
		{"the same", wide, wide, nil, false, [2]bool{true, false}},
		{"they overlap", narrow, `{"flows":{"min":32},"sizes":{"all":{"max":64}}}`, nil, true, [2]bool{true, true}},
		{"all of a size are some of it", `{"sizes":{"any":[{"max":1024}]}}`, `{"sizes":{"all":{"max":64}}}`, nil, false, [2]bool{true, false}},
		{"some of a size are not all of it", `{"sizes":{"all":{"max":1024}}}`, `{"sizes":{"any":[{"max":64}]}}`, nil, true, [2]bool{true, true}},
		{"another symptom", wide, narrow, func(_, b *Anomaly) { b.Symptom = Throughput }, true, [2]bool{true, true}},
		{"not refined yet", wide, narrow, func(a, _ *Anomaly) { a.open = &minimizer{} }, false, [2]bool{true, true}},
		{"not refined at the end", wide, narrow, func(a, _ *Anomaly) { a.open = &minimizer{} }, true, [2]bool{true, false}},
		{"being audited", wide, narrow, func(_, b *Anomaly) { b.busy = true }, false, [2]bool{true, true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newFindings(newEvidence(Description{}, space), nil)
			s.experiments = 9
			for i, text := range []string{c.first, c.second} {
				f, err := space.ParseMFS([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				s.anomalies = append(s.anomalies, &Anomaly{Experiment: i + 1, Symptom: Pause, MFS: f})
			}
			if c.change != nil {
				c.change(s.anomalies[0], s.anomalies[1])
			}
			s.withdrawNested(c.atEnd)
			for i, a := range s.anomalies {
				if (a.MFS != nil) != c.want[i] {
					t.Errorf("anomaly %d: %s, stands: want %v", i+1, a.MFS, c.want[i])
				}
			}
			withdrawn := 0
			for _, f := range s.news {
				if f.Revised == 9 && f.Anomaly.MFS == nil {
					withdrawn++
				}
			}
			if stand := len(s.Anomalies()); stand+withdrawn != 2 {
				t.Errorf("%d stand and %d are reported as withdrawn, want 2 together", stand, withdrawn)
			}
		})
	}
}
