package diagnose

import (
	"slices"

	"github.com/giverny/giverny/diagnose/root"
	"github.com/giverny/giverny/schema"
)

// rootKey is what distinguishes roots: the link, whichever end of a cable names it, or a device.
type rootKey struct {
	link         schema.LinkID
	device, port string // without a link
}

func keyOf(r *schema.Root) rootKey {
	if r.Link != schema.NoLink {
		return rootKey{link: r.Link}
	}
	return rootKey{r.Link, r.Device, r.Port}
}

// sameRoot gives a region of which no cause is known that of the regions of the interval whose back pressure begins at the
// same port or host, if these hold most of the stall that does: they are parts of one tree.
func (s *Stage) sameRoot(cases []regionCase) {
	if len(cases) < 2 {
		return
	}
	at := map[rootKey][]*regionCase{}
	for i := range cases {
		rc := &cases[i]
		if root := s.rootPort(rc, &rc.verdict); root != nil && rc.back.Kind != schema.RootDeadlock {
			at[keyOf(root)] = append(at[keyOf(root)], rc)
		}
	}
	for _, list := range at {
		best, known, all := (*regionCase)(nil), 0., 0.
		for _, rc := range list {
			all += rc.total
			if rc.verdict.class == schema.CauseUnknown {
				continue
			}
			if known += rc.total; best == nil || rc.total > best.total {
				best = rc
			}
		}
		for _, rc := range list {
			if 2*known > all && rc.verdict.class == schema.CauseUnknown {
				s.take(rc, best)
			}
		}
	}
}

// take gives a region the verdict of another one, if it knows what that blames.
func (s *Stage) take(rc, of *regionCase) {
	v := of.verdict
	switch {
	case v.accused > 0:
		i := slices.IndexFunc(rc.jobs, func(c suspect) bool { return c.job == of.jobs[0].job })
		if i < 0 {
			return
		}
		first(rc.jobs, i)
		rc.jobs[0].blame, v.accused = of.jobs[0].blame, 1
		class, right := s.classOf(rc, 1)
		v.class, v.confidence = class, min(v.confidence, right)
	case v.blamed > 0:
		i := slices.IndexFunc(rc.failures, func(f nearFailure) bool { return f.failure == of.failures[0].failure })
		if i < 0 {
			return
		}
		first(rc.failures, i)
		v.blamed = 1
	case v.class == schema.CauseFailure && rc.slowLink() == schema.NoLink:
		rc.neck = root.Neck{Link: of.slowLink(), Slower: true}
	}
	rc.verdict = v
}

// first moves an element to the front.
func first[T any](list []T, at int) {
	x := list[at]
	copy(list[1:at+1], list[:at])
	list[0] = x
}
