package search_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/giverny/giverny/search"
)

// patternSpace has a message pattern and other dimensions that an anomaly may depend on.
func patternSpace() search.Description {
	return search.Description{Name: "pattern", LineRateGbps: 200, MessageRateMpps: 200, Dimensions: []search.Dimension{
		{Name: "mode", Values: search.Texts("a", "b", "c")}, {Name: "memory", Values: search.Texts("near", "far")},
		{Name: "load", Ordered: true, Values: search.Numbers(1, 2, 4, 8, 16, 32, 64)}, {Name: "depth", Ordered: true, Values: search.Numbers(16, 64, 256)},
		{Name: "messages", Pattern: true, MaxLength: 4, Values: search.Numbers(64, 256, 1024, 4096, 16384, 65536, 262144, 1048576)}}}
}

// Every form of a condition on a message pattern ends as one report with exactly that condition: a range of "any"
// stays in "any", alone and with other conditions, in a search and in a report that is read back.
func TestPatternConditionsAreFoundExactly(t *testing.T) {
	for _, messages := range []string{
		`{"all":{"max":1024}}`, `{"all":{"min":65536}}`, `{"all":{"min":1024,"max":16384}}`,
		`{"any":[{"max":256}]}`, `{"any":[{"min":262144}]}`, `{"any":[{"max":1024},{"min":65536}]}`,
	} {
		for _, others := range []string{"", `,"mode":{"in":["b"]}`, `,"mode":{"in":["b"]},"load":{"min":16}`} {
			text := `{"messages":` + messages + others + `}`
			t.Run(text, func(t *testing.T) {
				for seed := range uint64(2) {
					foundExactly(t, text, seed)
				}
			})
		}
	}
}

func foundExactly(t *testing.T, truth string, seed uint64) {
	t.Helper()
	d := patternSpace()
	space, err := search.NewSpace(d.Dimensions)
	if err != nil {
		t.Fatal(err)
	}
	mfs, err := space.ParseMFS([]byte(truth))
	if err != nil {
		t.Fatal(err)
	}
	c := &conjunction{d, mfs}
	s, err := search.New(d, space, search.Config{Algorithm: search.Lift, Budget: 250, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var report []byte
	for {
		w, ok := s.Next(0)
		if !ok {
			break
		}
		for _, f := range s.Observe(0, c.Measure(w)) {
			line, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			report = append(append(report, line...), '\n')
		}
	}
	known, err := space.ParseKnown(report) // what stands after all revisions
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, report)
	}
	got := "nothing"
	for i, f := range known {
		text, _ := json.Marshal(f)
		if _, exact := search.Compare(f, mfs); exact && len(known) == 1 {
			return
		}
		if i == 0 {
			got = ""
		}
		got += fmt.Sprintf("%s ", text)
	}
	t.Errorf("seed %d: %s, want one report with %s", seed, got, truth)
}
