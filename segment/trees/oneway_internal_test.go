package trees

import "testing"

// TestReceiversThatSendShowAnExchange: a leaf at which a cause ends shows an exchange if most of its hosts send into others, or if it
// sends into a cause whose leaf does so in turn. Each end must.
func TestReceiversThatSendShowAnExchange(t *testing.T) {
	for name, c := range map[string]struct {
		sent []sending
		ends int
		want bool
	}{
		"it sends nothing":           {nil, 1, false},
		"a few of its hosts send":    {[]sending{{leaf: 1, cause: 0, other: 1}}, 1, false},
		"most of its hosts send":     {[]sending{{leaf: 1, cause: 0, other: 1, isMost: true}}, 1, true},
		"the other sends back":       {[]sending{{leaf: 1, cause: 0, other: 1}, {leaf: 2, cause: 1, other: 0, isMost: true}}, 1, true},
		"few of the other send back": {[]sending{{leaf: 1, cause: 0, other: 1}, {leaf: 2, cause: 1, other: 0}}, 1, false},
		"the other sends elsewhere":  {[]sending{{leaf: 1, cause: 0, other: 1}, {leaf: 2, cause: 1, other: 2, isMost: true}}, 1, false},
		"one of two ends":            {[]sending{{leaf: 1, cause: 0, other: 1, isMost: true}, {leaf: 1, cause: 0, other: 2, isMost: true}}, 2, false},
		"both ends":                  {[]sending{{leaf: 1, cause: 0, other: 1, isMost: true}, {leaf: 3, cause: 0, other: 2, isMost: true}}, 2, true},
	} {
		o := oneWay{leaves: make([]int, 3), ends: []int{c.ends, 1, 1}, sent: c.sent}
		o.countBoth()
		if got := o.exchanges(0); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
