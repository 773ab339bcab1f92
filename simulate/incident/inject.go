package incident

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/giverny/giverny/collective"
)

// decoys adds flows between free hosts of a leaf, which share nothing with the
// collective.
func (in *Incident) decoys(random *rand.Rand) {
	for leaf := range in.fabric.leaves {
		if random.IntN(2) == 0 {
			p := pair{host(leaf, 2), host(leaf, 3)}
			in.noise = append(in.noise, background{pair: p, path: in.fabric.path(p.from, p.to, 0),
				bytes: in.Spec.ChunkBytes * int64(1+random.IntN(6)), atNanos: random.Int64N(in.lengthNanos()/2 + 1)})
		}
	}
}

// victim is what a flow of the collective sends in one step.
type victim struct {
	pair
	rank, step int
	bytes      int64
}

// victims returns the sends that satisfy a condition.
func (in *Incident) victims(is func(v victim) bool) []victim {
	var all []victim
	for rank, steps := range in.prog {
		for s, send := range steps {
			if send.peer == collective.None {
				continue
			}
			v := victim{pair{rankHost(rank), rankHost(send.peer)}, rank, s + 1, send.bytes}
			if is(v) {
				all = append(all, v)
			}
		}
	}
	return all
}

func crossesLeaves(v victim) bool { return leafOf(v.from) != leafOf(v.to) }

// pick draws a victim among the largest sends: delaying a small one costs little.
func (in *Incident) pick(random *rand.Rand, is func(v victim) bool) victim {
	all := in.victims(is)
	var largest int64
	for _, v := range all {
		largest = max(largest, v.bytes)
	}
	all = slices.DeleteFunc(all, func(v victim) bool { return v.bytes < largest })
	return all[random.IntN(len(all))]
}

// at is the approximate begin of a step in a healthy run.
func (in *Incident) at(v victim) (nanos int64) {
	for s := range v.step - 1 {
		var longest int64
		for _, steps := range in.prog {
			longest = max(longest, steps[s].bytes)
		}
		nanos += longest * 8 * 1e9 / bitsPerSecond
	}
	return nanos
}

// flow adds a background flow as culprit, with 1 to 2.4 times the victim's bytes and
// beginning up to half a step before it.
func (in *Incident) flow(random *rand.Rand, v victim, p pair, spine int) {
	at := max(0, in.at(v)-v.bytes*8*1e9/bitsPerSecond*random.Int64N(50)/100)
	in.flows = append(in.flows, background{pair: p, path: in.fabric.path(p.from, p.to, spine), atNanos: at,
		bytes: v.bytes * int64(10+random.IntN(15)) / 10})
	in.truth.Flows = append(in.truth.Flows, p.String())
}

func (in *Incident) place(node, port int) {
	in.truth.Objects = append(in.truth.Objects, portName(node, port))
}

// free returns a random free host of a leaf.
func free(random *rand.Rand, leaf int) int {
	return host(leaf, ranksPerLeaf+random.IntN(hostsPerLeaf-ranksPerLeaf))
}

// inject draws the culprit.
func (in *Incident) inject(random *rand.Rand) error {
	switch in.Spec.Class {
	case collective.BackgroundFlow:
		in.backgroundFlow(random)
	case collective.SelfCollision:
		return in.selfCollision(random)
	case collective.HostNICContention:
		v := in.pick(random, crossesLeaves)
		in.flow(random, v, pair{v.from, free(random, leafOf(v.from))}, 0)
		in.truth.Objects = append(in.truth.Objects, "host "+nodeName(v.from))
	case collective.PFCRoot:
		in.pfcRoot(random)
	case collective.Incast:
		v := in.pick(random, crossesLeaves)
		for k, n := 0, 2+random.IntN(3); k < n; k++ {
			leaf := (leafOf(v.to) + k) % in.fabric.leaves
			in.flow(random, v, pair{host(leaf, 2+k%2), v.to}, (usualSpine(v.pair)+1+k)%in.fabric.spines)
		}
		in.place(in.fabric.leafNode(leafOf(v.to)), leafDownPort(v.to%hostsPerLeaf))
	case collective.Deadlock:
		in.deadlock(random)
	case collective.SlowLink:
		in.slowLink(random)
	case collective.SlowHost:
		v := in.pick(random, func(victim) bool { return true })
		in.slow = &slowing{host: v.from, share: 0.25 + 0.3*random.Float64()}
		in.truth.Objects = append(in.truth.Objects, "host "+nodeName(v.from))
	case collective.Straggler:
		v := in.pick(random, func(v victim) bool { return v.step > 1 })
		in.late = &delay{v.rank, v.step, v.step + random.IntN(3), v.bytes * 8 * 1e9 / bitsPerSecond * int64(50+random.IntN(150)) / 100}
		in.truth.Ranks = append(in.truth.Ranks, v.rank)
		in.truth.Objects = append(in.truth.Objects, "host "+nodeName(v.from))
	case collective.Hang:
		v := in.pick(random, func(v victim) bool { return v.step > 1 })
		in.hang = &delay{rank: v.rank, from: v.step}
		in.truth.Ranks = append(in.truth.Ranks, v.rank)
		in.truth.Objects = append(in.truth.Objects, "host "+nodeName(v.from))
	}
	return nil
}

// backgroundFlow adds a flow that shares the victim's spine, or its last link.
func (in *Incident) backgroundFlow(random *rand.Rand) {
	v := in.pick(random, crossesLeaves)
	spine := usualSpine(v.pair)
	from := free(random, leafOf(v.from))
	if random.IntN(2) == 0 {
		in.flow(random, v, pair{from, free(random, leafOf(v.to))}, spine)
		in.place(in.fabric.leafNode(leafOf(v.from)), leafUpPort(spine))
		return
	}
	other := (leafOf(v.to) + 1 + random.IntN(in.fabric.leaves-1)) % in.fabric.leaves
	in.flow(random, v, pair{free(random, other), v.to}, (spine+1)%in.fabric.spines)
	in.place(in.fabric.leafNode(leafOf(v.to)), leafDownPort(v.to%hostsPerLeaf))
	in.truth.Also = collective.PFCRoot
}

// maxOrders bounds the orders of the ranks that are tried.
const maxOrders = 1000

// selfCollision sends two flows of one step over one spine: from one leaf or, if no two leave one, to one. Not every
// order of the ranks has such flows, least that of a small tree: then the order by slots is tried, and random ones.
func (in *Incident) selfCollision(random *rand.Rand) error {
	if in.sameOrigin(random) {
		return nil
	}
	in.order = in.bySlots()
	for range maxOrders {
		in.prog = newProgram(in.Spec.Algorithm, in.order, in.Spec.ChunkBytes)
		if in.sameOrigin(random) || in.sameTarget(random) {
			return nil
		}
		in.order = random.Perm(in.fabric.ranks)
	}
	return fmt.Errorf("self collision in a %s of %d ranks: none of %d orders has two flows between leaves in one step; want more ranks", in.Spec.Algorithm, in.fabric.ranks, maxOrders)
}

// sameOrigin sends the flows of both ranks of a leaf over one spine, in a step in
// which both leave the leaf; false: there is no such step.
func (in *Incident) sameOrigin(random *rand.Rand) bool {
	leaving := func(v victim) (other victim, both bool) {
		rank := v.rank ^ 1
		if rank >= in.fabric.ranks { // the only one of its leaf
			return victim{}, false
		}
		s := in.prog[rank][v.step-1]
		if s.peer == collective.None || !crossesLeaves(v) {
			return victim{}, false
		}
		other = victim{pair{rankHost(rank), rankHost(s.peer)}, rank, v.step, s.bytes}
		return other, crossesLeaves(other)
	}
	both := func(v victim) bool { _, both := leaving(v); return both }
	if len(in.victims(both)) == 0 {
		return false
	}
	v := in.pick(random, both)
	other, _ := leaving(v)
	in.spine[other.pair] = usualSpine(v.pair)
	in.truth.Flows = append(in.truth.Flows, v.String(), other.String())
	in.place(in.fabric.leafNode(leafOf(v.from)), leafUpPort(usualSpine(v.pair)))
	in.meetsBelow(other)
	return true
}

// meetsBelow adds to the truth the flows that a flow moved to another spine meets on
// the way down, in the same step.
func (in *Incident) meetsBelow(moved victim) {
	spine := in.spine[moved.pair]
	for _, w := range in.victims(crossesLeaves) {
		if w.step == moved.step && w.pair != moved.pair && leafOf(w.to) == leafOf(moved.to) && usualSpine(w.pair) == spine {
			in.truth.Flows = append(in.truth.Flows, w.String())
			in.place(in.fabric.spineNode(spine), leafOf(moved.to)+1)
		}
	}
}

// bySlots orders the ranks by slot, so that ranks of the same slot follow each other.
func (in *Incident) bySlots() (order []int) {
	for slot := range ranksPerLeaf {
		for leaf := range in.fabric.leaves {
			if rank := leaf*ranksPerLeaf + slot; rank < in.fabric.ranks {
				order = append(order, rank)
			}
		}
	}
	return order
}

// sameTarget sends two flows of one step to different ranks of one leaf over the same
// spine; false: there are none.
func (in *Incident) sameTarget(random *rand.Rand) bool {
	all := in.victims(crossesLeaves)
	random.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	for _, v := range all {
		for _, w := range all {
			if v.step == w.step && v.to != w.to && leafOf(v.to) == leafOf(w.to) && v.from != w.from {
				in.spine[w.pair] = usualSpine(v.pair)
				in.truth.Flows = append(in.truth.Flows, v.String(), w.String())
				in.place(in.fabric.spineNode(usualSpine(v.pair)), leafOf(v.to)+1)
				return true
			}
		}
	}
	return false
}

// pfcRoot adds an incast to a free host of the victim's leaf. One of its flows comes
// over the victim's spine: its packets wait for the free host's port in the leaf's
// input from that spine, which pauses the spine, and with it the victim.
func (in *Incident) pfcRoot(random *rand.Rand) {
	in.control = false
	v := in.pick(random, crossesLeaves)
	leaf := leafOf(v.to)
	target := host(leaf, 2)
	spine := usualSpine(v.pair)
	in.flow(random, v, pair{free(random, (leaf+1+random.IntN(in.fabric.leaves-1))%in.fabric.leaves), target}, spine)
	in.flow(random, v, pair{host(leaf, 3), target}, 0)
	for k := range 2 + random.IntN(2) {
		p := pair{host((leaf+1+k)%in.fabric.leaves, 3), target}
		if slices.Contains(in.truth.Flows, p.String()) {
			p.from--
		}
		in.flow(random, v, p, (spine+ranksPerLeaf)%in.fabric.spines)
	}
	for i := range in.flows {
		in.flows[i].atNanos, in.flows[i].bytes = in.flows[0].atNanos, in.flows[0].bytes
	}
	in.place(in.fabric.leafNode(leaf), leafDownPort(2))
}

// slowLink slows a link that the victim crosses: one between switches, or one of a host.
// A host whose link sends slowly looks like a slow host.
func (in *Incident) slowLink(random *rand.Rand) {
	v := in.pick(random, crossesLeaves)
	path := in.pathOf(v.pair)
	at := 1 + random.IntN(2)
	if in.Spec.HostLink {
		at = (at - 1) * (len(path) - 1)
	}
	in.slow = &slowing{channel: path[at], host: -1, share: 0.25 + 0.3*random.Float64()}
	if at == 0 {
		in.truth.Also, in.truth.Objects = collective.SlowHost, []string{"host " + nodeName(v.from)}
		return
	}
	in.place(in.fabric.port(path[at]))
}

// deadlock closes a cycle of pauses over two leaves and two spines: flows that go down
// to a leaf and up again, as if misrouted, meet the collective's.
func (in *Incident) deadlock(random *rand.Rand) {
	in.control = false
	v := in.pick(random, crossesLeaves)
	a, b := leafOf(v.from), leafOf(v.to)
	s := usualSpine(v.pair)
	t := (s + 1 + random.IntN(in.fabric.spines-1)) % in.fabric.spines
	var others []int
	for leaf := range in.fabric.leaves {
		if leaf != a && leaf != b {
			others = append(others, leaf)
		}
	}
	c, d := others[0], others[1]
	A, B, C, D, S, T := in.fabric.leafNode(a), in.fabric.leafNode(b), in.fabric.leafNode(c), in.fabric.leafNode(d), in.fabric.spineNode(s), in.fabric.spineNode(t)
	valley := func(from, to int, switches ...int) {
		p := pair{from, to}
		in.flows = append(in.flows, background{pair: p, path: in.fabric.through(from, to, switches...), bytes: 64 * in.Spec.ChunkBytes,
			atNanos: max(0, in.at(v)-in.stepNanos()/2)})
		in.truth.Flows = append(in.truth.Flows, p.String())
	}
	valley(host(c, 2), host(d, 2), C, S, B, T, D)
	valley(host(d, 3), host(c, 3), D, T, A, S, C)
	valley(host(a, 2), host(b, 2), A, S, B)
	valley(host(b, 3), host(a, 3), B, T, A)
	in.place(A, leafUpPort(s))
	in.place(S, b+1)
	in.place(B, leafUpPort(t))
	in.place(T, a+1)
}
