package diagnose

import "testing"

// TestFilesCongestByWhatTheyAdd: where neither the region nor its end on a grid carries more than before, file traffic is not the cause,
// whatever it did at the onset.
func TestFilesCongestByWhatTheyAdd(t *testing.T) {
	file := suspect{file: true, known: true}
	for name, c := range map[string]struct {
		suspect       suspect
		load, arrives float64
		against       float64
	}{
		"less everywhere":     {file, .8, .6, jobTooLittle},
		"as much as before":   {file, 1, .6, jobTooLittle / 2},
		"more at the end":     {file, .8, 1.2, 0},
		"more in the region":  {file, 1.3, 0, 0},
		"no load is measured": {file, 0, 0, 0},
		"an exchange":         {suspect{known: true}, .8, .6, 0},
	} {
		rc := regionCase{load: c.load, arrives: c.arrives}
		if got := rc.addsNone(&c.suspect); got < c.against-1e-9 || got > c.against+1e-9 {
			t.Errorf("%s: %.2f against it, want %.2f", name, got, c.against)
		}
	}
}
