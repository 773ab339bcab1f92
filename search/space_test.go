package search_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/search"
)

// smallSpace has a dimension of every kind, one with a single value and one with units.
const smallSpace = `[
	{"name":"direction","values":["uni","bi","loopback"]},
	{"name":"only","values":[true]},
	{"name":"qps","ordered":true,"values":[1,2,4,8,16]},
	{"name":"region","ordered":true,"values":["4KB","64KB","1MB"]},
	{"name":"sizes","pattern":true,"values":[64,1024,65536,1048576],"max_length":3}]`

func spaceOf(t testing.TB, dimensions string) *search.Space {
	t.Helper()
	var dims []search.Dimension
	if err := json.Unmarshal([]byte(dimensions), &dims); err != nil {
		t.Fatal(err)
	}
	s, err := search.NewSpace(dims)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewSpaceRefuses(t *testing.T) {
	for _, c := range []struct{ dimensions, want string }{
		{`[]`, "0 dimensions"},
		{`[{"name":"","values":[1]}]`, "it has no name"},
		{`[{"name":"a","values":[]}]`, "0 values"},
		{`[{"name":"a","values":[1,1.0]}]`, "value 1.0 is duplicated"},
		{`[{"name":"a","values":[1]},{"name":"a","values":[1]}]`, `"a" is duplicated`},
		{`[{"name":"a","pattern":true,"values":[1]}]`, "max_length 0"},
	} {
		var dims []search.Dimension
		if err := json.Unmarshal([]byte(c.dimensions), &dims); err != nil {
			t.Fatal(err)
		}
		if _, err := search.NewSpace(dims); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.dimensions, err, c.want)
		}
	}
}

func TestWorkloadRoundTrip(t *testing.T) {
	s := spaceOf(t, smallSpace)
	r := rand.New(rand.NewPCG(1, 1))
	for range 100 {
		w := s.Random(r, nil)
		text, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.ParseWorkload(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if other, _ := json.Marshal(again); string(other) != string(text) {
			t.Fatalf("%s came back as %s", text, other)
		}
	}
	for _, c := range []struct{ workload, want string }{
		{`{"direction":"bi"}`, `it lacks only, qps, region, sizes; a workload`},
		{`{"dirction":"bi","only":true,"zone":1,"qps":1,"region":"4KB","sizes":[64]}`, `the engine has no dimension "dirction", the engine has no dimension "zone", it lacks direction; a workload`},
		{`{"direction":"up","only":true,"qps":1,"region":"4KB","sizes":[64]}`, "up is not one of its values"},
		{`{"direction":"bi","only":true,"qps":1,"region":"4KB","sizes":[]}`, "a list of 0"},
		{`{"direction":"bi","only":true,"qps":1,"region":"4KB","sizes":[64],"x":1}`, `no dimension "x"`},
	} {
		if _, err := s.ParseWorkload([]byte(c.workload)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.workload, err, c.want)
		}
	}
}

func TestRestrict(t *testing.T) {
	s := spaceOf(t, smallSpace)
	for _, c := range []struct{ yaml, want string }{
		{"direction: bi\nqps: {max: 4}\nsizes: {min: 1024, max_length: 1}", "1 1 3 3 3"},
		{"direction: [bi, uni]\nregion: {except: [64KB]}", "2 1 5 2 4"},
		{"", "3 1 5 3 4"},
		{"sizes: {max: 64KB, max_length: 1}\nregion: {min: 5KB}", "3 1 5 2 3"},
		{"sizes: {min: 1KiB, max: 1.5 MB}\nregion: 4096", "3 1 5 1 3"},
		{"sizes: [64KiB, 64]\nregion: {except: 64KiB, max: 1048577}", "3 1 5 2 2"},
	} {
		r, err := search.ParseRestriction([]byte(c.yaml))
		if err != nil {
			t.Fatal(err)
		}
		left, err := s.Restrict(r)
		if err != nil {
			t.Fatal(err)
		}
		var counts []string
		for _, d := range left.Dimensions() {
			counts = append(counts, fmt.Sprint(len(d.Values)))
		}
		if got := strings.Join(counts, " "); got != c.want {
			t.Errorf("%q leaves %s values, want %s", c.yaml, got, c.want)
		}
	}
}

func TestRestrictRefuses(t *testing.T) {
	s := spaceOf(t, smallSpace)
	for _, c := range []struct{ yaml, want string }{
		{"dirction: bi", `no dimension "dirction"`},
		{"direction: up", "up is not one of its values"},
		{"qps: {min: 32}", "no value lies within"},
		{"qps: {min: 4, max: 2}", "no value lies within the bounds: it has [1 2 4 8 16]"},
		{"sizes: {max: 4Kb}", `"sizes": 4Kb is not one of its values [64 1024 65536 1048576], and neither a number nor a size such as 4KB`},
		{"region: {max: big}", "big is not one of its values [4KB 64KB 1MB], and neither"},
		{"sizes: 4KB", "4KB is not one of its values"},
		{"qps: []", "the list is empty"},
		{"qps: {least: 4}", `unknown key "least"`},
		{"qps: {max_length: 4}", "max_length is for message patterns"},
		{"direction: {min: bi}", "min and max are for ordered dimensions"},
		{"direction: {except: [uni, bi, loopback]}", "is left"},
		{"- qps", "want a mapping"},
		{"direction: bi\n---\nqps: 4", "more than one YAML document"},
		{"qps:", "it is empty"},
		{"qps: {}", "it is empty"},
		{"qps: '4'", `"4" is not one of its values [1 2 4 8 16]`},
	} {
		r, err := search.ParseRestriction([]byte(c.yaml))
		if err == nil {
			_, err = s.Restrict(r)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.yaml, err, c.want)
		}
	}
}

func TestParseKnown(t *testing.T) {
	s := spaceOf(t, smallSpace)
	known, err := s.ParseKnown([]byte(`{"type":"anomaly","experiment":3,"mfs":{"qps":{"min":8}}}
{"type":"anomaly","experiment":5,"mfs":{"direction":{"in":["bi"]}}}
{"type":"revised","experiment":9,"of":3,"mfs":{"qps":{"min":4}}}
{"type":"revised","experiment":9,"of":5,"mfs":null}
{"type":"summary"}
[{"region":{"max":"64KB"}}]`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range known {
		got = append(got, f.String())
	}
	if want := []string{"qps 4 or more", "region 64KB or less"}; !slices.Equal(got, want) {
		t.Errorf("known %q, want %q", got, want)
	}
	restricted, err := s.Restrict(search.Restriction{"qps": {In: []search.Value{search.Number(1), search.Number(16)}}, "region": {Min: ptr(search.Text("1MB"))}})
	if err != nil {
		t.Fatal(err)
	}
	known, err = restricted.ParseKnown([]byte(`{"qps":{"min":4}} {"region":{"max":"64KB"}}`))
	if err != nil || len(known) != 1 || known[0].String() != "qps 16" {
		t.Errorf("known of the restricted space: %v, %v", known, err)
	}
	known, err = s.ParseKnown([]byte(`{"type":"known","mfs":{"qps":{"min":8}}} {"type":"anomaly","experiment":1,"mfs":{}}`)) // from giverny search check; a finding without conditions is valid
	if err != nil || len(known) != 2 {
		t.Errorf("%v, %v", known, err)
	}
	known, err = s.ParseKnown([]byte(`{"search_id":"S1","agent":"n1","experiment":1,"symptom":"pause","workload":{},"mfs":{"qps":{"min":8}}}`)) // from giverny search list ID --json
	if err != nil || len(known) != 1 || known[0].String() != "qps 8 or more" {
		t.Errorf("%v, %v", known, err)
	}
	for _, bad := range []string{`{"nodim":{"min":1}}`, `{"type":"revised","of":1,"mfs":null}`, `{"type":"x"}`, `{`,
		`{}`, `[null]`, `[{}]`, `{"type":"anomaly"}`, `{"type":"anomaly","experiment":3,"mfs":null}`} { // which would hold for every workload

		if _, err := s.ParseKnown([]byte(bad)); err == nil {
			t.Errorf("%s is no error", bad)
		}
	}
}

func ptr(v search.Value) *search.Value { return &v }

// anyMFS draws conditions of the small space as JSON.
func anyMFS(t *rapid.T) string {
	qps := rapid.SampledFrom([]string{"", `,"qps":{"min":4}`, `,"qps":{"max":8}`, `,"qps":{"min":2,"max":8}`}).Draw(t, "qps")
	region := rapid.SampledFrom([]string{"", `,"region":{"min":"64KB"}`, `,"region":{"max":"4KB"}`}).Draw(t, "region")
	sizes := rapid.SampledFrom([]string{"", `,"sizes":{"all":{"max":1024}}`, `,"sizes":{"any":[{"max":64},{"min":65536}]}`, `,"sizes":{"all":{"min":1024},"any":[{"min":1048576}]}`,
		`,"sizes":{"all":{"max":65536},"any":[{"min":1024}]}`}).Draw(t, "sizes")
	in := rapid.SampledFrom([]string{`["bi"]`, `["uni","loopback"]`}).Draw(t, "in")
	return `{"direction":{"in":` + in + `}` + qps + region + sizes + `}`
}

func TestMFSProperties(t *testing.T) {
	s := spaceOf(t, smallSpace)
	rapid.Check(t, func(t *rapid.T) {
		text := anyMFS(t)
		f, err := s.ParseMFS([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		g, err := s.ParseMFS(again)
		if err != nil {
			t.Fatal(err)
		}
		if dims, exact := search.Compare(f, g); !dims || !exact {
			t.Fatalf("%s came back as %s", text, again)
		}
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		member := s.Random(r, f)
		if !f.Covers(member) {
			t.Fatalf("%s does not cover its member", text)
		}
		for _, c := range f.Changes(member) {
			if changed := change(t, s, member, c); f.Covers(changed) {
				t.Fatalf("%s still covers with %s = %v", text, c.Dimension, c.To)
			}
		}
	})
}

// Unsatisfiable conditions are an error that names the dimension.
func TestMFSThatNothingMeets(t *testing.T) {
	s := spaceOf(t, smallSpace)
	for _, sizes := range []string{`{"all":{"max":64},"any":[{"min":1024}]}`, `{"any":[` + strings.Repeat(`{"max":64},`, 40) + `{"max":64}]}`} {
		if _, err := s.ParseMFS([]byte(`{"sizes":` + sizes + `}`)); err == nil || !strings.Contains(err.Error(), `mfs: "sizes": no value can meet it`) {
			t.Errorf("%.60s: %v", sizes, err)
		}
	}
}

func change(t *rapid.T, s *search.Space, w search.Workload, c search.Change) search.Workload {
	text, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	var named map[string]any
	if err := json.Unmarshal(text, &named); err != nil {
		t.Fatal(err)
	}
	named[c.Dimension] = c.To[0]
	if c.Dimension == "sizes" {
		named[c.Dimension] = c.To
	}
	if text, err = json.Marshal(named); err != nil {
		t.Fatal(err)
	}
	changed, err := s.ParseWorkload(text)
	if err != nil {
		t.Fatal(err)
	}
	return changed
}

func FuzzParseMFS(f *testing.F) {
	s := spaceOf(f, smallSpace)
	f.Add(`{"qps":{"min":4},"sizes":{"any":[{"max":64}]}}`)
	f.Add(`{"direction":{"in":["bi",1]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		m, err := s.ParseMFS([]byte(text))
		if err != nil {
			return
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.ParseMFS(again); err != nil {
			t.Fatalf("%q became %s: %v", text, again, err)
		}
	})
}

func FuzzDescription(f *testing.F) {
	f.Add(`{"line_rate_gbps":200,"message_rate_mpps":200,"dimensions":` + smallSpace + `,"counters":["c"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var d search.Description
		if json.Unmarshal([]byte(text), &d) != nil || len(text) > 2000 {
			return
		}
		s, err := search.NewSpace(d.Dimensions)
		if err != nil {
			return
		}
		search, err := search.New(d, s, search.Config{Algorithm: search.Lift, Budget: 3})
		if err != nil {
			return
		}
		defer search.Close()
		for range 3 {
			w, ok := search.Next(0)
			if !ok {
				break
			}
			if _, err := json.Marshal(w); err != nil {
				t.Fatal(err)
			}
			search.Observe(0, healthy)
		}
	})
}

func FuzzParseRestriction(f *testing.F) {
	s := spaceOf(f, smallSpace)
	f.Add("direction: bi\nqps: {max: 4}")
	f.Fuzz(func(t *testing.T, text string) {
		if r, err := search.ParseRestriction([]byte(text)); err == nil {
			_, _ = s.Restrict(r) // an error or a space
		}
	})
}

// Integers are written without exponents, which programs that parse integers reject.
func TestNumbersAreWrittenWithoutExponents(t *testing.T) {
	for n, want := range map[float64]string{4 << 20: "4194304", 1e15: "1000000000000000", .5: "0.5", -2e6: "-2000000", 0: "0", 1e21: "1e+21", 1e-7: "1e-07"} {
		v := search.Number(n)
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var back float64
		if err := json.Unmarshal(text, &back); err != nil || back != n {
			t.Errorf("%g: %s is read as %g, %v", n, text, back, err)
		}
		if v.String() != want {
			t.Errorf("%g is written %s, want %s", n, v, want)
		}
	}
}
