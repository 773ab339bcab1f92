package trees

import (
	"fmt"
	"os"
)

func (m *Method) zz(stage string) {
	if os.Getenv("ZZ") == "" {
		return
	}
	h, c, s := &m.shares, &m.causes, &m.sinks
	n := map[int32]int{}
	for i := range h.of {
		for _, p := range h.of[i].list() {
			n[c.sets.Find(p.cause)]++
		}
	}
	fmt.Fprintln(os.Stderr, "==", stage, "noise", m.noise)
	for a := range s.all {
		x := &s.all[a]
		cause := c.sets.Find(int32(a))
		fmt.Fprintf(os.Stderr, "sink %d dev %d odd %d links %d (h %d) stall %.0f port %.0f ports %d comp %d cause %d (%d links) fall %.2f thin %v exch %v guest %d double %v recv %v dev %.1f level %.0f\n", a, x.device, x.odd, x.links, x.hostLinks, x.stall, x.port, x.ports, x.first, cause, n[cause], h.fall[cause], c.thin[cause], c.exchange[cause], c.guest[a], c.double[a], x.isReceiver, x.deviation, x.level)
	}
}

func (c *causes) zzCount(s *sinks) int {
	n := 0
	for a := range s.all {
		if c.sets.Find(int32(a)) == int32(a) {
			n++
		}
	}
	return n
}
