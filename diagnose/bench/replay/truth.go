package replay

import (
	"cmp"
	"maps"
	"slices"

	"github.com/giverny/giverny/diagnose/bench"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/credits"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// Thresholds of the truth. A cause's effect on a region is the share of the stall of its links that is gone if the scene is
// replayed without it.
const (
	stalled      = 5.  // percent of time: a link that truly waits
	leastStalled = .3  // share of a region's links that must wait; otherwise the region is noise
	mainEffect   = .5  // a cause that takes away less is not clear: "unknown" is right too
	alikeEffect  = .7  // share of the leading job's effect from which on another job is right too
	faultEffect  = .6  // a fault that takes away as much is the only cause, although without its traffic nothing would wait either
	someFault    = .3  // a fault that takes away as much is one of the right answers
	hurts        = .2  // by so much more another job moves without the culprit: it hurts others
	hurtsNoOther = .08 // less is noise of the replay; between both, either answer is right
	fewHurt      = .15 // share of the traffic on the waiting links; if those that it hurts have less, either is right
	mostlyOwn    = .65 // the same; if a culprit that hurts no other has less, either is right
	alikeRoot    = .5  // share of the leading root's waits from which on another root is right too
	leadRoots    = .4  // share of the region's waits that the right roots must have together to be scored
	leadRoot     = .2  // the same, of the leading one: below, none stands out
)

// truthOf derives the truth of a region in a minute, from replays of its two halves:
//
//   - What takes away most of the region's stall when left out is its cause. A fault comes before the jobs whose traffic meets
//     it, because without the traffic nothing waits at a fault either; but not before one whose traffic rose after the part
//     failed: then both are right. If most waits begin at a fault, it is one of the right answers in any case: jobs that are
//     rid of it may move so much more that they wait as long.
//   - A job is system if others with traffic on the region's waiting links move more without it, or if its traffic there is
//     mostly file traffic; otherwise it is intra_application. Either is right if it hurts no other with traffic that mostly
//     leads to hosts of others, or beside others that have much of the traffic there and wait with it, and if those that it
//     hurts have little: nearly all that waits there is its own.
//   - A culprit that is missing from the job table makes the class unknown, and no job may be accused for it.
//   - Roots are the ports or hosts where the waits of the region's links begin.
func (s *scene) truthOf(region *schema.Region, in *minute) (bench.Truth, error) {
	links, all := waiting(region, in)
	if len(links) == 0 || float64(len(links)) < leastStalled*float64(len(region.Links)) {
		return bench.Truth{}, nil
	}
	effects := map[int]float64{}
	for _, c := range s.suspects(links, in) {
		left := 0.
		for _, st := range in.states {
			o, err := s.replay(st, c)
			if err != nil {
				return bench.Truth{}, err
			}
			for _, l := range links {
				left += o.stall[l] / halves
			}
		}
		effects[c] = 1 - left/all
	}
	truth := bench.Truth{Scored: true}
	s.findRoots(&truth, links, in)
	for i := range s.faults {
		f := &s.faults[i]
		if c := len(s.jobs) + f.group; effects[c] > 0 && effects[c] < someFault && slices.Contains(truth.Roots, s.placesOf(f)[0]) {
			effects[c] = someFault
		}
	}
	s.answer(&truth, effects, links, in)
	return truth, nil
}

// minute is a minute being scored.
type minute struct {
	half     int // its first
	channels *routing.Channels
	states   [halves]*state
	stall    []float64 // by link: percent, true
}

// waiting lists the links of a region that truly wait, and the sum of their stalls.
func waiting(region *schema.Region, in *minute) (links []schema.LinkID, sum float64) {
	for _, l := range region.Links {
		if in.stall[l] >= stalled {
			links = append(links, l)
			sum += in.stall[l]
		}
	}
	return links, sum
}

// suspects are the jobs with traffic on the waiting links or where their waits begin, and all faults.
func (s *scene) suspects(links []schema.LinkID, in *minute) (causes []int) {
	on := schema.NewBitmap(in.channels.Len())
	for _, l := range links {
		for _, ch := range in.channels.Of(l) {
			on.Set(int(ch))
		}
	}
	with, hosts := slices.Clone(on), map[topology.DeviceID]bool{}
	for _, st := range in.states {
		for _, w := range st.all.waits {
			switch {
			case !on.Has(int(w.Channel)):
			case w.At == routing.NoChannel:
				hosts[w.Host] = true
			default:
				with.Set(int(w.At))
			}
		}
	}
	for j := range s.jobs {
		if s.load(j, in, func(f *credits.Flow) bool {
			return hosts[f.To] || slices.ContainsFunc(f.Path, func(ch routing.Channel) bool { return with.Has(int(ch)) })
		}, anyFile) > 0 {
			causes = append(causes, j)
		}
	}
	for i := range s.faults {
		if c := len(s.jobs) + s.faults[i].group; (in.states[0].faults[i] || in.states[1].faults[i]) && !slices.Contains(causes, c) {
			causes = append(causes, c)
		}
	}
	return causes
}

func anyFile(file) bool  { return true }
func isFile(f file) bool { return f != noFile }

// load is what a job moves of some kinds of traffic over flows, cells per step in both halves together.
func (s *scene) load(j int, in *minute, over func(*credits.Flow) bool, of func(file) bool) (cells float64) {
	for i := range s.jobs[j].traffic {
		if !of(s.jobs[j].traffic[i].file) {
			continue
		}
		t := s.firstTraffic(j) + i
		for _, st := range in.states {
			flows := 0
			for k := range st.flows[t] {
				if over(&st.flows[t][k]) {
					flows++
				}
			}
			if flows > 0 {
				cells += st.all.delivered[t] * float64(flows) / float64(len(st.flows[t]))
			}
		}
	}
	return cells
}

// firstTraffic is the number of a job's first traffic.
func (s *scene) firstTraffic(j int) (n int) {
	for i := range j {
		n += len(s.jobs[i].traffic)
	}
	return n
}

// answer adds the right classes and jobs for the effects of the causes.
func (s *scene) answer(t *bench.Truth, effects map[int]float64, links []schema.LinkID, in *minute) {
	bestFault, bestJob := noCause, noCause
	for _, c := range slices.Sorted(maps.Keys(effects)) {
		best := &bestJob
		if c >= len(s.jobs) {
			best = &bestFault
		}
		if *best == noCause || effects[c] > effects[*best] {
			*best = c
		}
	}
	if bestFault != noCause && effects[bestFault] >= someFault {
		s.answerFault(t, bestFault, effects[bestFault])
		switch {
		case effects[bestFault] < faultEffect:
			defer t.Also(schema.CauseUnknown)
		case bestJob == noCause || effects[bestJob] < faultEffect || s.jobs[bestJob].roseAt(in.half) <= s.failedAt(bestFault, in.half)+oneEvent:
			return
		}
	}
	if bestJob == noCause || effects[bestJob] <= 0 {
		t.Also(schema.CauseUnknown)
		return
	}
	if t.Share = max(t.Share, effects[bestJob]); t.Object == "" {
		t.Object = "job " + s.jobs[bestJob].id
	}
	for j := range s.jobs {
		switch e, known := effects[j]; {
		case !known || e < alikeEffect*effects[bestJob]:
		case s.jobs[j].unlisted:
			t.Also(schema.CauseUnknown)
		default:
			t.Jobs = append(t.Jobs, s.jobs[j].id)
			s.answerJob(t, j, links, in)
		}
	}
	if effects[bestJob] < mainEffect {
		t.Also(schema.CauseUnknown)
	}
}

// oneEvent is up to how many halves later what happens is of the same event.
const oneEvent = 2 * halves

// roseAt is the last half up to a minute in which the load of a job rose.
func (j *job) roseAt(half int) int {
	last := j.start
	for i := range j.traffic {
		for at := half + halves - 1; at > last; at-- {
			if j.traffic[i].level(at) > j.traffic[i].level(at-1) {
				last = at
			}
		}
	}
	return last
}

// failedAt is the last half up to a minute in which a part of a group of faults failed.
func (s *scene) failedAt(cause, half int) (last int) {
	for i := range s.faults {
		for at := half + halves - 1; at > last && len(s.jobs)+s.faults[i].group == cause; at-- {
			if s.faults[i].active(at) && !s.faults[i].active(at-1) {
				last = at
			}
		}
	}
	return last
}

func (s *scene) answerFault(t *bench.Truth, cause int, effect float64) {
	t.Share = effect
	for i := range s.faults {
		f := &s.faults[i]
		if len(s.jobs)+f.group != cause {
			continue
		}
		t.Object += " " + s.graph.Device(f.device).Name + " " + f.port
		if f.kind == slowHost {
			t.Also(schema.CauseSlowHost)
			continue
		}
		t.Also(schema.CauseFailure)
		if f.kind == degraded && s.atHost(f) { // its host takes less either way
			t.Also(schema.CauseSlowHost)
		}
		t.Roots = append(t.Roots, s.placesOf(f)...)
	}
}

// atHost reports whether a cable leads to a host.
func (s *scene) atHost(f *fault) bool {
	c := routing.NewChannels(s.graph)
	from, to := c.Ends(f.channels[0])
	return !s.graph.IsSwitch(from) || !s.graph.IsSwitch(to)
}

// placesOf are the ports of both ends of a cable, or a device.
func (s *scene) placesOf(f *fault) (places []bench.Place) {
	if f.port == "" {
		return bench.PlacesOf(s.graph, s.graph.Device(f.device).Name)
	}
	c := routing.NewChannels(s.graph)
	for _, ch := range f.channels {
		places = append(places, bench.PlacesOf(s.graph, c.Name(ch))...)
	}
	return places
}

// answerJob adds the class of a job that is to blame: whom it hurts.
func (s *scene) answerJob(t *bench.Truth, j int, links []schema.LinkID, in *minute) {
	on := schema.NewBitmap(s.graph.NumLinks())
	for _, l := range links {
		on.Set(int(l))
	}
	over := func(f *credits.Flow) bool {
		return slices.ContainsFunc(f.Path, func(ch routing.Channel) bool { return on.Has(int(in.channels.Link(ch))) })
	}
	all := s.load(j, in, over, anyFile)
	if s.load(j, in, over, isFile) >= mainEffect*all {
		t.Also(schema.CauseSystem)
		return
	}
	own := map[topology.DeviceID]bool{}
	for _, h := range s.jobs[j].hosts {
		for _, d := range s.ports.devices[h] {
			own[d] = true
		}
	}
	outside := func(f *credits.Flow) bool { return !(own[f.From] && own[f.To]) && over(f) }
	if s.load(j, in, outside, anyFile) >= mainEffect*all { // the host at the other end is not the application's own
		t.Also(schema.CauseSystem)
	}
	most, hurt, together := 0., 0., all
	for v := range s.jobs {
		load := s.load(v, in, over, anyFile)
		if v == j || load == 0 {
			continue
		}
		together += load
		gains := s.gain(v, j, in)
		if most = max(most, gains); gains >= hurts {
			hurt += load
		}
	}
	if most >= hurtsNoOther || all < mostlyOwn*together {
		t.Also(schema.CauseSystem)
	}
	if hurt < fewHurt*together {
		t.Also(schema.CauseIntraApplication)
	}
}

// leastCells of a replay make a job's gain measurable.
const leastCells = 100

// gain is by what share a job moves more without another.
func (s *scene) gain(victim, without int, in *minute) float64 {
	with, free := 0., 0.
	for _, st := range in.states {
		for i := range s.jobs[victim].traffic {
			t := s.firstTraffic(victim) + i
			with += st.all.rate[t]
			free += st.spared[without].rate[t]
		}
	}
	if free*replaySteps < leastCells {
		return 0
	}
	return free/max(with, 1e-9) - 1
}

// findRoots adds the ports and hosts where most of the waits of the links begin.
func (s *scene) findRoots(t *bench.Truth, links []schema.LinkID, in *minute) {
	times, total := map[string]float64{}, 0.
	for _, st := range in.states {
		for _, w := range st.all.waits {
			if _, in := slices.BinarySearch(links, in.channels.Link(w.Channel)); !in {
				continue
			}
			name := s.graph.Device(w.Host).Name
			if w.At != routing.NoChannel {
				name = in.channels.Name(w.At)
			}
			times[name] += float64(w.Times)
			total += float64(w.Times)
		}
	}
	order := slices.SortedFunc(maps.Keys(times), func(a, b string) int { return cmp.Or(cmp.Compare(times[b], times[a]), cmp.Compare(a, b)) })
	together := 0.
	for _, root := range order {
		if times[root] < alikeRoot*times[order[0]] {
			break
		}
		together += times[root]
		t.Roots = append(t.Roots, bench.PlacesOf(s.graph, root)...)
	}
	if together < leadRoots*total || len(order) > 0 && times[order[0]] < leadRoot*total {
		t.Roots = nil
	}
}
