package scenario

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/fluid"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// truthBuilder collects blame over the steps of an interval.
type truthBuilder struct {
	r       *Runner
	causes  []Cause
	byKey   map[causeKey]int
	byRoot  map[fluid.Resource]int // for one step
	lost    map[[2]*job]float64    // for one step: bytes/s that the full resources of the first job hold back of the second
	blames  []blame
	offered []streamOffer
}

// causeKey identifies a cause.
type causeKey struct {
	class       Class
	object, job string
}

type blame struct {
	link   schema.LinkID
	cause  int
	root   fluid.Resource
	weight float64
}

type streamOffer struct {
	link   schema.LinkID
	owner  int
	weight float64
}

func newTruthBuilder(r *Runner) truthBuilder {
	return truthBuilder{r: r, byKey: map[causeKey]int{}, byRoot: map[fluid.Resource]int{}, lost: map[[2]*job]float64{}}
}

func (b *truthBuilder) reset() {
	b.causes, b.blames, b.offered = nil, b.blames[:0], b.offered[:0]
	clear(b.byKey)
}

// add adds the solution of a step.
func (b *truthBuilder) add() {
	clear(b.byRoot)
	r := b.r
	b.addLosses()
	for i := range r.state.CreditStall {
		if max(r.state.CreditStall[i], r.state.InqStall[i])*100 < schema.LowPercent {
			continue
		}
		ch := routing.Channel(i)
		link := r.channels.Link(ch)
		r.model.EachBlocked(ch, func(f fluid.Blame) {
			if f.HeldBackPerSecond > 0 {
				b.blames = append(b.blames, blame{link, b.causeOf(f.Root), f.Root, f.HeldBackPerSecond})
			}
		})
		r.model.EachUse(resourceOf(ch), func(u fluid.Use) {
			b.offered = append(b.offered, streamOffer{link, u.Owner, u.OfferedPerSecond})
		})
	}
}

// dominantShare is one job's share of a full resource's load from which the cause is
// that job alone.
const dominantShare = .7

// victimShare is the share of its traffic that another job must lose to a job's full resources for that job to be in the way of
// others, and not only in its own.
const victimShare = .2

// addLosses finds what each job that alone fills resources holds back of each other job.
func (b *truthBuilder) addLosses() {
	clear(b.lost)
	r := b.r
	culprits := map[fluid.Resource]*job{} // nil: several jobs
	r.model.EachHeldBack(func(f fluid.Blame) {
		culprit, known := culprits[f.Root]
		if !known {
			offers, total := map[int]float64{}, 0.
			r.model.EachUse(f.Root, func(u fluid.Use) {
				offers[u.Owner] += u.OfferedPerSecond
				total += u.OfferedPerSecond
			})
			if first := byOffer(offers)[0]; offers[first] >= dominantShare*total {
				culprit = r.streams[first].job
			}
			culprits[f.Root] = culprit
		}
		if of := r.streams[f.Owner].job; culprit != nil && of != culprit {
			b.lost[[2]*job{culprit, of}] += f.HeldBackPerSecond
		}
	})
}

// hasVictim reports whether a job's full resources hold back much of the traffic of another.
func (b *truthBuilder) hasVictim(culprit *job) bool {
	for pair, lost := range b.lost {
		if pair[0] != culprit {
			continue
		}
		all := 0.
		for _, f := range pair[1].flows {
			offered, _ := b.r.model.Sent(f)
			all += offered
		}
		if lost >= victimShare*all {
			return true
		}
	}
	return false
}

// causeOf returns why a resource is full.
func (b *truthBuilder) causeOf(root fluid.Resource) int {
	if c, known := b.byRoot[root]; known {
		return c
	}
	r := b.r
	offers := map[int]float64{}
	var total, detoured float64
	r.model.EachUse(root, func(u fluid.Use) {
		offers[u.Owner] += u.OfferedPerSecond
		total += u.OfferedPerSecond
		if u.DetouredByAFailure {
			detoured += u.OfferedPerSecond
		}
	})
	streams := byOffer(offers)
	c := Cause{Pattern: r.streams[streams[0]].pattern}
	c.Jobs, c.Shares = r.jobShares(streams, offers, total)
	_, slow := r.slowed[root]
	device, isEndpoint := r.model.Endpoint(root)
	switch {
	case slow && isEndpoint:
		c.Class, c.Object = SlowHostCause, r.graph.Device(device).Name
	case !isEndpoint && len(r.failed[routing.Channel(root)]) > 0:
		c.Class, c.Object = FailureCause, r.failureName(r.failed[routing.Channel(root)][0])
	case slow:
		c.Class, c.Object = FailureCause, r.channels.Name(routing.Channel(root))
	case detoured > 0 && total-detoured <= r.model.Capacity(root) && !isEndpoint && !r.isOnlyWay(routing.Channel(root)):
		c.Class, c.Object = FailureCause, r.downNow()
	case offers[streams[0]] >= dominantShare*total:
		c.Class, c.Jobs, c.Shares = IntraApplicationCause, c.Jobs[:1], c.Shares[:1]
		if c.Pattern == ReadFS || c.Pattern == WriteFS || b.hasVictim(r.streams[streams[0]].job) {
			c.Class = SystemCause
		}
	default:
		n := min(4, len(c.Jobs))
		c.Class, c.Jobs, c.Shares = SystemCause, c.Jobs[:n], c.Shares[:n]
	}
	i := b.intern(c, r.resourceName(root))
	b.byRoot[root] = i
	return i
}

// isOnlyWay reports whether a channel belongs to a host with one cable, which its
// traffic must cross regardless of failures.
func (r *Runner) isOnlyWay(ch routing.Channel) bool {
	from, to := r.graph.Ends(r.channels.Link(ch))
	for _, d := range [2]topology.DeviceID{from, to} {
		if !r.graph.IsSwitch(d) {
			return len(r.graph.LinksAt(d)) <= 2
		}
	}
	return false
}

// intern returns the number of a cause, adding it if it is new; roots with the same
// cause share it.
func (b *truthBuilder) intern(c Cause, root string) int {
	key := causeKey{class: c.Class, object: c.Object}
	if c.Class == IntraApplicationCause || c.Class == SystemCause {
		key.job = c.Jobs[0]
	}
	i, known := b.byKey[key]
	if !known {
		i = len(b.causes)
		b.byKey[key] = i
		b.causes = append(b.causes, c)
	}
	if at := &b.causes[i]; !slices.Contains(at.Roots, root) && len(at.Roots) < 8 {
		at.Roots = append(at.Roots, root)
	}
	return i
}

func (b *truthBuilder) finish(interval schema.Interval, mean *fluid.State) *Truth {
	t := &Truth{Interval: interval, Links: []LinkTruth{}}
	slices.SortFunc(b.blames, func(x, y blame) int { // cmp.Or would always compare all three, in a hot path
		switch {
		case x.link != y.link:
			return int(x.link) - int(y.link)
		case x.cause != y.cause:
			return x.cause - y.cause
		}
		return int(x.root) - int(y.root)
	})
	slices.SortFunc(b.offered, func(x, y streamOffer) int {
		if x.link != y.link {
			return int(x.link) - int(y.link)
		}
		return x.owner - y.owner
	})
	blames, offered := b.blames, b.offered
	for l := range b.r.graph.NumLinks() {
		link := LinkTruth{Link: schema.LinkID(l), Cause: -1}
		for _, ch := range b.r.channels.Of(link.Link) {
			link.CreditPercent = max(link.CreditPercent, 100*mean.CreditStall[ch])
			link.InqPercent = max(link.InqPercent, 100*mean.InqStall[ch])
		}
		var root fluid.Resource
		link.Roots = b.rootShares(blames, link.Link)
		if link.Cause, root, blames = b.heaviest(blames, link.Link); root != fluid.NoResource {
			link.Root = b.r.resourceName(root)
		}
		link.Jobs, offered = b.shares(offered, link.Link)
		if max(link.CreditPercent, link.InqPercent) < schema.LowPercent {
			continue
		}
		t.Links = append(t.Links, link)
		if link.Cause >= 0 {
			b.causes[link.Cause].Links = append(b.causes[link.Cause].Links, link.Link)
		}
	}
	t.orderCauses(b.causes)
	return t
}

// heaviest sums the blames of a link, which come first, and returns the cause with the
// most, the root with the most of that cause, and the blames of the following links.
func (b *truthBuilder) heaviest(blames []blame, link schema.LinkID) (cause int, root fluid.Resource, rest []blame) {
	cause, root = -1, fluid.NoResource
	most := 0.
	for len(blames) > 0 && blames[0].link == link {
		c, sum, top, topSum := blames[0].cause, 0., fluid.NoResource, 0.
		for len(blames) > 0 && blames[0].link == link && blames[0].cause == c {
			r, held := blames[0].root, 0.
			for len(blames) > 0 && blames[0].link == link && blames[0].cause == c && blames[0].root == r {
				held += blames[0].weight
				blames = blames[1:]
			}
			if sum += held; held > topSum {
				top, topSum = r, held
			}
		}
		b.causes[c].Weight += sum
		if sum > most {
			cause, root, most = c, top, sum
		}
	}
	return cause, root, blames
}

// rootShares lists what holds back a link's traffic, whose blames come first, by amount.
func (b *truthBuilder) rootShares(blames []blame, link schema.LinkID) []RootShare {
	type key struct {
		cause int
		root  fluid.Resource
	}
	held, total := map[key]float64{}, 0.
	for _, of := range blames {
		if of.link != link {
			break
		}
		held[key{of.cause, of.root}] += of.weight
		total += of.weight
	}
	var out []RootShare
	for k, weight := range held {
		if weight >= leastRootShare*total {
			out = append(out, RootShare{b.r.resourceName(k.root), k.cause, weight / total})
		}
	}
	slices.SortFunc(out, func(x, y RootShare) int {
		return cmp.Or(cmp.Compare(y.Share, x.Share), cmp.Compare(x.Root, y.Root), x.Cause-y.Cause)
	})
	return out
}

func (b *truthBuilder) shares(offered []streamOffer, link schema.LinkID) (shares []JobShare, rest []streamOffer) {
	total := 0.
	for len(offered) > 0 && offered[0].link == link {
		owner, sum := offered[0].owner, 0.
		for len(offered) > 0 && offered[0].link == link && offered[0].owner == owner {
			sum += offered[0].weight
			offered = offered[1:]
		}
		total += sum
		shares = append(shares, JobShare{b.r.streams[owner].job.ID, b.r.streams[owner].pattern, sum})
	}
	for i := range shares {
		shares[i].Share /= total
	}
	slices.SortStableFunc(shares, func(a, b JobShare) int { return cmp.Compare(b.Share, a.Share) })
	return shares, offered
}

// orderCauses sorts the causes, heaviest first, and renumbers the links' references.
func (t *Truth) orderCauses(causes []Cause) {
	order := make([]int, len(causes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(causes[b].Weight, causes[a].Weight) })
	place := make([]int, len(causes))
	t.Causes = make([]Cause, len(causes))
	for to, from := range order {
		place[from] = to
		t.Causes[to] = causes[from]
	}
	for i := range t.Links {
		if c := &t.Links[i].Cause; *c >= 0 {
			*c = place[*c]
		}
		for r := range t.Links[i].Roots {
			c := &t.Links[i].Roots[r].Cause
			*c = place[*c]
		}
	}
}

// byOffer lists streams by offered load, largest first.
func byOffer(offers map[int]float64) []int {
	return slices.SortedFunc(maps.Keys(offers), func(a, b int) int { return cmp.Or(cmp.Compare(offers[b], offers[a]), a-b) })
}

// jobShares lists the jobs of streams once each, by total offered load, largest first,
// with each one's share of the total.
func (r *Runner) jobShares(streams []int, offers map[int]float64, total float64) (ids []string, shares []float64) {
	sums := map[string]float64{}
	for _, s := range streams {
		id := r.streams[s].job.ID
		if _, known := sums[id]; !known {
			ids = append(ids, id)
		}
		sums[id] += offers[s]
	}
	slices.SortStableFunc(ids, func(a, b string) int { return cmp.Compare(sums[b], sums[a]) })
	for _, id := range ids {
		shares = append(shares, sums[id]/total)
	}
	return ids, shares
}

// downNow names everything that is currently down.
func (r *Runner) downNow() string {
	var names []string
	for _, all := range r.failed {
		for _, d := range all {
			names = append(names, r.failureName(d))
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

func (r *Runner) failureName(d *scheduledAction) string {
	if d.do == FailSwitch {
		return r.graph.Device(d.device).Name
	}
	return r.channels.Name(d.channels[0])
}

func (r *Runner) resourceName(res fluid.Resource) string {
	if d, ok := r.model.Endpoint(res); ok {
		return r.graph.Device(d).Name
	}
	return r.channels.Name(routing.Channel(res))
}
