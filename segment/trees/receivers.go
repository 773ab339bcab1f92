package trees

import (
	"cmp"
	"slices"
)

// receiverRatio is the lowest ratio of the mean port stalls of two leaves of a pod whose hosts exchange.
const receiverRatio = .6

// joinReceivers joins leaves of a pod or group at which many hosts receive too much from other leaves and stall about
// as much: so many receivers at several leaves of one pod are one exchange, even if the senders hardly wait.
func (c *causes) joinReceivers(t *trees, s *sinks) {
	group := func(a int32) int32 { return t.waits.group[s.all[a].device] }
	c.met = c.met[:0]
	for a := range int32(len(s.all)) {
		if s.all[a].receives() && group(a) >= 0 && c.double[a][0] == noDouble {
			c.met = append(c.met, a)
		}
	}
	slices.SortFunc(c.met, func(a, b int32) int { return cmp.Or(cmp.Compare(group(a), group(b)), cmp.Compare(a, b)) })
	for k, a := range c.met {
		for _, b := range c.met[k+1:] {
			if group(a) != group(b) {
				break
			}
			if ratio(s.all[a].portMean(), s.all[b].portMean()) >= receiverRatio {
				c.sets.Union(a, b)
			}
		}
	}
}
