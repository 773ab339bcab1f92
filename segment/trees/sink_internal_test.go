package trees

import "testing"

// A tree begins where a port to a host stalls nearly as much as what waits for it, or, if senders push and it stalls
// less, where its host does not wait to send.
func TestTreeBeginsAtAReceiver(t *testing.T) {
	for name, c := range map[string]struct {
		sink
		want bool
	}{
		"the port explains it":       {sink{link: -1, links: 8, stall: 60, ports: 1, port: 58}, true},
		"senders push a receiver":    {sink{link: -1, links: 8, stall: 77, ports: 1, port: 5, isReceiver: true}, true},
		"the host of the port sends": {sink{link: -1, links: 8, stall: 77, ports: 1, port: 5}, false},
		"many ports":                 {sink{link: -1, links: 8, stall: 60, ports: 6, hosts: 8, port: 58}, false},
	} {
		if got := c.beginsTree(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
