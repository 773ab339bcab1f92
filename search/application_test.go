package search_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// Bounds of an MFS are thresholds: an application's values between and beyond the
// tested ones are compared with them, but changes only name tested values.
func TestParseApplication(t *testing.T) {
	const untestedQPs = `[{"dimension":"qps","value":6,"above":4,"below":8}]`
	for _, c := range []struct{ qps, region, sizes, mfs, covered, untested, changes string }{
		{`6`, `"4KB"`, `[64]`, `{"qps":{"min":4}}`, "yes", untestedQPs, `[{"dimension":"qps","to":[2]}]`},
		{`6`, `"4KB"`, `[64]`, `{"qps":{"min":8}}`, "no", untestedQPs, ""},
		{`6`, `"4KiB"`, `[64]`, `{"qps":{"max":4}}`, "no", untestedQPs, ""},
		{`6`, `4096`, `[64]`, `{"qps":{"min":4,"max":8},"region":{"max":"4KB"}}`, "yes", untestedQPs, `[{"dimension":"qps","to":[2]},{"dimension":"region","to":["64KB"]}]`},
		{`1000`, `"4KB"`, `[64]`, `{"qps":{"min":8}}`, "yes", `[{"dimension":"qps","value":1000,"above":16}]`, `[{"dimension":"qps","to":[4]}]`},
		{`0.5`, `"4KB"`, `[64]`, `{"qps":{"max":1}}`, "yes", `[{"dimension":"qps","value":0.5,"below":1}]`, `[{"dimension":"qps","to":[2]}]`},
		{`1`, `"100KB"`, `[64]`, `{"region":{"min":"64KB"}}`, "yes", `[{"dimension":"region","value":"100KB","above":"64KB","below":"1MB"}]`, `[{"dimension":"region","to":["4KB"]}]`},
		{`1`, `"4KB"`, `["100KB",64]`, `{"sizes":{"any":[{"max":1024},{"min":65536}]}}`, "yes", `[{"dimension":"sizes","value":"100KB","above":65536,"below":1048576}]`, `[{"dimension":"sizes","to":[1024,64]}]`},
		{`1`, `"4KB"`, `[2000,64]`, `{"sizes":{"any":[{"max":1024},{"min":65536}]}}`, "no", `[{"dimension":"sizes","value":2000,"above":1024,"below":65536}]`, ""},
		{`1`, `"4KB"`, `[2000,64,2000]`, `{"sizes":{"all":{"max":1024}}}`, "no", `[{"dimension":"sizes","value":2000,"above":1024,"below":65536}]`, ""},
	} {
		text := `{"direction":"bi","only":true,"qps":` + c.qps + `,"region":` + c.region + `,"sizes":` + c.sizes + `}`
		space, w, untested, err := spaceOf(t, smallSpace).ParseApplication([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		mfs, err := space.ParseMFS([]byte(c.mfs))
		if err != nil {
			t.Fatal(err)
		}
		if got := mfs.Covers(w); got != (c.covered == "yes") {
			t.Errorf("%s covers %s: %v, want %s", c.mfs, text, got, c.covered)
		}
		if got, _ := json.Marshal(untested); string(got) != c.untested {
			t.Errorf("%s: untested %s, want %s", text, got, c.untested)
		}
		if c.changes == "" {
			continue
		}
		if got, _ := json.Marshal(mfs.Changes(w)); string(got) != c.changes {
			t.Errorf("%s, %s: changes %s, want %s", text, c.mfs, got, c.changes)
		}
	}
}

func TestParseApplicationRefuses(t *testing.T) {
	s := spaceOf(t, smallSpace)
	const sound = `{"direction":"bi","only":true,"qps":1,"region":"4KB","sizes":[64]}`
	for _, c := range []struct{ old, replaced, want string }{
		{`"bi"`, `"both"`, `"direction": both is not one of its values`},
		{`1`, `"many"`, `"qps": many is not one of its values [1 2 4 8 16], and neither a number`},
		{`"4KB"`, `"4Kb"`, `"region": 4Kb is not one of its values`},
		{`[64]`, `[]`, "a list of 0"},
		{`[64]`, `64`, "want a list"},
		{`"qps":1,`, ``, `it lacks qps; a workload has a value of every dimension: direction, only, qps, region, sizes`},
	} {
		text := strings.Replace(sound, c.old, c.replaced, 1)
		if _, _, _, err := s.ParseApplication([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", text, err, c.want)
		}
	}
	if _, _, _, err := s.ParseApplication([]byte(strings.Replace(sound, "1", "3", 1))); err != nil {
		t.Error(err)
	}
	if d := s.Dimensions()[2]; len(d.Values) != 5 {
		t.Errorf("the engine's space was changed: %v", d.Values)
	}
}
