package trees

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/trees/backpressure"
	"github.com/giverny/giverny/segment/trees/index"
)

// patches finds stalled links in no region: no root explains them, or their cause is too small. Links that leave or
// enter one switch the same way, or of which one may wait for the other, are a patch. Patches of one pod without a
// root that lead the same way and are level are joined, as are those at leaves that exchange (see exchanging). A
// patch is a region if lone hot links are unlikely to form it by chance; next to a region it is part of that.
type patches struct {
	region      index.By[index.Node, patchID] // the last region that has it (index in all), or none
	left        []index.Node                  // nodes: those of the regions, then those in none
	places      []index.Device                // switches that nodes leave or enter, see ends
	votes       []patchID                     // regions next to a patch, one per link of theirs there
	batch       []index.Node                  // nodes at one of places
	sets        index.UnionFind[patchID]
	spots       index.UnionFind[index.Node]   // nodes that are one patch
	odds        index.By[index.Node, float64] // by set of nodes: log of its number of ways times the chance that its links are level
	chains      []chain
	all         index.By[patchID, patch]
	byPod       []podPatch
	exchanging  []exchanging
	isWaiting   index.By[index.Node, bool]
	adapters    []railAdapter
	onRails     []railRegion
	hasReceiver index.By[patchID, bool] // by set of all
	order       []patchID               // of all, by set
	nodes       []index.Node            // of one region
	deadEnds    deadEnds
	unfed       unfed
}

// chain is a node that may wait for another, and the log-odds that both are hot by chance.
type chain struct {
	i, j index.Node
	odds float64
}

// patch is a set of nodes of left that belong together.
type patch struct {
	begin, end int32   // in left
	isRegion   bool    // already a region when added
	beside     patchID // the region that it is part of, or none
	way        int8    // 1: all links lead up, -1: down, 0: neither, or not to be joined within a pod
	mean       float64
	root       backpressure.Root
}

// podPatch records that a patch has links in a pod.
type podPatch struct {
	pod   index.Group
	patch patchID
}

const noRegion = patchID(-1)

// nodesOf are the nodes of a patch.
func (p *patches) nodesOf(x *patch) []index.Node { return p.left[x.begin:x.end] }

// begin prepares for the nodes of a snapshot.
func (p *patches) begin(nodes int) {
	p.region, p.odds = scratch.Filled(p.region, nodes, noRegion), scratch.Zeroed(p.odds, nodes)
	p.spots.Reset(nodes)
	p.left, p.all = p.left[:0], p.all[:0]
}

// take makes a region of some nodes. It may be joined with others of a pod if it has no root, all its links lead one
// way, and none of them has a second cause.
func (p *patches) take(m *Method, members []index.Node, r backpressure.Root) {
	x := patch{begin: int32(len(p.left)), end: int32(len(p.left) + len(members)), isRegion: true, beside: noRegion, root: r}
	for _, i := range members {
		p.region[i] = p.all.Len()
	}
	p.left = append(p.left, members...)
	if r.Device == backpressure.NoDevice && !slices.ContainsFunc(members, func(i index.Node) bool { return m.shares.of[i].n > 1 }) {
		x.way = m.wayOf(members)
	}
	p.all = append(p.all, x)
}

// wayOf is 1 if the links of all nodes lead up, -1 if all lead down, 0 otherwise.
func (t *trees) wayOf(nodes []index.Node) int8 {
	way := 0
	for k, i := range nodes {
		from, to := t.Graph.Level[t.From[i]], t.Graph.Level[t.To[i]]
		if from < 0 || to < 0 {
			return 0
		}
		if own := cmp.Compare(to, from); k == 0 {
			way = own
		} else if own != way {
			return 0
		}
	}
	return int8(way)
}

// find finds the patches, and joins those of one pod or exchange.
func (p *patches) find(m *Method) {
	regions := len(p.left)
	for i := range p.region.Len() {
		if p.region[i] == noRegion {
			p.left = append(p.left, i)
		}
	}
	left := p.left[regions:]
	p.join(&m.trees, left)
	slices.SortFunc(left, func(a, b index.Node) int {
		return cmp.Or(cmp.Compare(p.spots.Find(a), p.spots.Find(b)), cmp.Compare(a, b))
	})
	spots := 0
	for begin := regions; begin < len(p.left); spots++ {
		end := begin + 1
		for end < len(p.left) && p.spots.Find(p.left[end]) == p.spots.Find(p.left[begin]) {
			end++
		}
		if end > begin+1 {
			p.all = append(p.all, patch{begin: int32(begin), end: int32(end), beside: noRegion, way: m.wayOf(p.left[begin:end]), root: m.rootOfPatch(p.left[begin:end])})
		}
		begin = end
	}
	for k := range p.all {
		p.measure(m, &p.all[k])
	}
	n := patchID(0)
	for k := range p.all {
		if x := p.all[k]; x.isRegion || p.isPart(m, spots, &x) {
			p.all[n] = x
			n++
		}
	}
	p.all = p.all[:n]
	p.sets.Reset(len(p.all))
	for k := range p.all.Len() {
		if beside := p.all[k].beside; beside != noRegion {
			p.sets.Union(k, beside)
		}
	}
	p.joinPods(m)
	p.joinExchanging(m)
	p.joinUnfed(m)
	p.joinRails(m)
}

// measure finds the mean stall of a patch.
func (p *patches) measure(m *Method, x *patch) {
	x.mean = 0
	for _, i := range p.nodesOf(x) {
		x.mean += m.Stall[i]
	}
	x.mean /= float64(x.end - x.begin)
}

// join joins the nodes left: links from or to one switch with their other ends on one level, and links of which one
// may wait for the other.
func (p *patches) join(t *trees, left []index.Node) {
	p.ends(t, left)
	w := t.Graph
	for _, d := range p.places {
		p.joinBeside(t, t.Leaving.Of(d), t.To, w.Out.Of(d), w.To)
		p.joinBeside(t, t.Into.Of(d), t.From, w.In.Of(d), w.From)
	}
	p.joinAtHosts(t, left)
	p.joinWaiting(t)
}

// joinAtHosts joins the nodes left that lead to one host by several ports: none of them has room for what it does not
// take.
func (p *patches) joinAtHosts(t *trees, left []index.Node) {
	r := &t.Graph.Rails
	if len(r.Host) == 0 {
		return
	}
	p.batch = p.batch[:0]
	for _, i := range left {
		if t.ToHost(i) {
			p.batch = append(p.batch, i)
		}
	}
	slices.SortFunc(p.batch, func(a, b index.Node) int {
		return cmp.Or(cmp.Compare(r.Host[t.To[a]], r.Host[t.To[b]]), cmp.Compare(t.Stall[a], t.Stall[b]), cmp.Compare(t.Graph.ByName[t.From[a]], t.Graph.ByName[t.From[b]]))
	})
	for begin, end := 0, 0; begin < len(p.batch); begin = end {
		host := r.Host[t.To[p.batch[begin]]]
		for end = begin + 1; end < len(p.batch) && r.Host[t.To[p.batch[end]]] == host; end++ {
		}
		p.joinRow(t, p.batch[begin:end], r.Ports[host])
	}
}

// joinWaiting joins nodes of which one may wait for the other, the least likely by chance first, so that the
// resulting odds do not depend on the numbering of links.
func (p *patches) joinWaiting(t *trees) {
	p.chains = p.chains[:0]
	for _, d := range p.places {
		ways := math.Log(float64(len(t.Graph.Out.Of(d))))
		for _, i := range t.Into.Of(d) {
			if p.region[i] != noRegion {
				continue
			}
			for _, j := range t.MayWaitFor(i) {
				if p.region[j] == noRegion {
					p.chains = append(p.chains, chain{i, j, ways + t.oddsOfLevel(i, j)})
				}
			}
		}
	}
	slices.SortFunc(p.chains, func(a, b chain) int {
		return cmp.Or(cmp.Compare(a.odds, b.odds), cmp.Compare(a.i, b.i), cmp.Compare(a.j, b.j))
	})
	for _, c := range p.chains {
		p.joinTwo(c.i, c.j, c.odds)
	}
}

// joinBeside joins the nodes left at a switch whose far ends are on one level.
func (p *patches) joinBeside(t *trees, nodes []index.Node, far []index.Device, links []index.Link, ends []index.Device) {
	p.batch = p.batch[:0]
	for _, i := range nodes {
		if p.region[i] == noRegion {
			p.batch = append(p.batch, i)
		}
	}
	level := t.Graph.Level
	slices.SortFunc(p.batch, func(a, b index.Node) int {
		return cmp.Or(cmp.Compare(level[far[a]], level[far[b]]), cmp.Compare(t.Stall[a], t.Stall[b]), cmp.Compare(t.Graph.ByName[far[a]], t.Graph.ByName[far[b]]))
	})
	for begin, end := 0, 0; begin < len(p.batch); begin = end {
		to := level[far[p.batch[begin]]]
		for end = begin + 1; end < len(p.batch) && level[far[p.batch[end]]] == to; end++ {
		}
		if end > begin+1 {
			p.joinRow(t, p.batch[begin:end], countEnds(links, ends, level, to))
		}
	}
}

// joinRow joins nodes, by stall, that are some of n links. There are n choose m ways for m of them to be hot.
func (p *patches) joinRow(t *trees, row []index.Node, n int) {
	for m := 1; m < len(row); m++ {
		p.joinTwo(row[m-1], row[m], math.Log(float64(n-m)/float64(m+1))+t.oddsOfLevel(row[m-1], row[m]))
	}
}

// countEnds counts the links whose far ends are on a level.
func countEnds(links []index.Link, ends []index.Device, levels []int8, level int8) (n int) {
	for _, l := range links {
		if levels[ends[l]] == level {
			n++
		}
	}
	return n
}

// joinTwo joins the sets of two nodes, adding log-odds.
func (p *patches) joinTwo(i, j index.Node, odds float64) {
	if a, b := p.spots.Find(i), p.spots.Find(j); a != b {
		odds += p.odds[a] + p.odds[b]
		p.odds[p.spots.Union(a, b)] = odds
	}
}

// oddsOfLevel is the log of the chance that two lone hot links are as level as these, 0 if they are not level. Their
// stall is assumed log-uniform, from the least that counts to 100%.
func (t *trees) oddsOfLevel(i, j index.Node) float64 {
	stall := max(t.Stall[i], t.Stall[j])
	between := t.Noise.MeanError(stall, 1, 1)
	if math.Abs(t.Stall[i]-t.Stall[j]) > between {
		return 0
	}
	return min(0, math.Log(2*between/(logStalls*stall)))
}

const (
	logStalls = 3 // log of the range of lone hot links' stall, 5% to 100%
	// A patch next to a region is part of it if fewer than that are expected by chance in a snapshot.
	falsePartsPerInterval = .1
	kindsOfNear           = 4 // links from the same switch, into the same switch, waiting for it, or waited for
)

// rootOfPatch is the root of the one cause that a patch is part of. A switch whose hosts all send is no root: any of
// its ports may be the reason, or none.
func (m *Method) rootOfPatch(nodes []index.Node) backpressure.Root {
	own := m.shares.main(nodes[0])
	if own < 0 || slices.ContainsFunc(nodes, func(i index.Node) bool { return m.shares.main(i) != own }) {
		return backpressure.NoRoot
	}
	r := m.rootOf(own)
	if r.Device != backpressure.NoDevice && r.Link == schema.NoLink && m.StalledHosts(r.Device) >= int(m.Graph.Hosts[r.Device]) {
		return backpressure.NoRoot
	}
	return r
}

// oddsOf is the log of the number of such patches that lone hot links are expected to form in a snapshot. If a share
// p of N links is hot by chance, so is each neighbour of a hot link, with d neighbours of a kind: N p prod(p d)
// patches, times the chances that the level ones are level. p is estimated from the snapshot's number of spots,
// including this patch, plus one standard error.
func (p *patches) oddsOf(m *Method, spots int, x *patch) float64 {
	n, k, others := float64(len(m.Node)), float64(x.end-x.begin), float64(spots-1)
	hot := (1 + others + math.Sqrt(others)) / n
	return math.Log(n*hot) + (k-1)*math.Log(kindsOfNear*hot) + p.odds[p.spots.Find(p.left[x.begin])]
}

// isPart reports whether a patch counts: as a region, or, where its switches or their neighbours are a region's, as
// part of that (which explains it badly, or is separated by links that read zero). Of several such regions, the one
// with most links there is chosen; a tie counts as none.
func (p *patches) isPart(m *Method, spots int, x *patch) bool {
	odds := p.oddsOf(m, spots, x)
	if p.listNear(&m.trees, p.nodesOf(x)); len(p.votes) == 0 {
		return odds <= math.Log(FalseRegionsPerDay/intervalsPerDay)
	}
	if odds > math.Log(falsePartsPerInterval) {
		return false
	}
	slices.Sort(p.votes)
	most := 0
	for i := 0; i < len(p.votes); {
		j := i
		for ; j < len(p.votes) && p.votes[j] == p.votes[i]; j++ {
		}
		if j-i > most {
			most, x.beside = j-i, p.votes[i]
		} else if j-i == most {
			x.beside = noRegion
		}
		i = j
	}
	if x.beside != noRegion {
		x.way, x.root = 0, p.all[x.beside].root
	}
	return x.beside != noRegion
}

// listNear lists the regions with links at switches of some nodes or at neighbours of these.
func (p *patches) listNear(t *trees, nodes []index.Node) {
	p.votes = p.votes[:0]
	for _, d := range p.ends(t, nodes) {
		p.listAt(t, d)
	}
	for _, d := range p.places {
		for _, l := range t.Graph.Out.Of(d) {
			if to := t.Graph.To[l]; t.Graph.IsSwitch[to] {
				p.listAt(t, to)
			}
		}
	}
}

// ends lists the switches at the ends of some nodes' links.
func (p *patches) ends(t *trees, nodes []index.Node) []index.Device {
	p.places = p.places[:0]
	for _, i := range nodes {
		for _, d := range [2]index.Device{t.From[i], t.To[i]} {
			if t.Graph.IsSwitch[d] {
				p.places = append(p.places, d)
			}
		}
	}
	slices.Sort(p.places)
	p.places = slices.Compact(p.places)
	return p.places
}

// listAt lists the regions of the links at a device.
func (p *patches) listAt(t *trees, d index.Device) {
	for _, nodes := range [2][]index.Node{t.Leaving.Of(d), t.Into.Of(d)} {
		for _, i := range nodes {
			if p.region[i] != noRegion {
				p.votes = append(p.votes, p.region[i])
			}
		}
	}
}

// areBeside reports whether any node is at a switch of a region.
func (p *patches) areBeside(t *trees, nodes []index.Node) bool {
	return slices.ContainsFunc(nodes, func(i index.Node) bool { return p.touches(t, t.From[i]) || p.touches(t, t.To[i]) })
}

// touches reports whether a region has links at a device.
func (p *patches) touches(t *trees, d index.Device) bool {
	isTaken := func(i index.Node) bool { return p.region[i] != noRegion }
	return slices.ContainsFunc(t.Leaving.Of(d), isTaken) || slices.ContainsFunc(t.Into.Of(d), isTaken)
}

// joinPods joins patches of one pod that have no root, lead the same way and are level.
func (p *patches) joinPods(m *Method) {
	p.byPod = p.byPod[:0]
	for k := range p.all.Len() {
		x := &p.all[k]
		if x.way == 0 || x.root.Device != backpressure.NoDevice {
			continue
		}
		for _, i := range p.nodesOf(x) {
			for _, d := range [2]index.Device{m.From[i], m.To[i]} {
				if pod := m.Graph.Group[d]; pod >= 0 {
					p.byPod = append(p.byPod, podPatch{pod, k})
				}
			}
		}
	}
	slices.SortFunc(p.byPod, func(a, b podPatch) int {
		x, y := &p.all[a.patch], &p.all[b.patch]
		return cmp.Or(cmp.Compare(a.pod, b.pod), cmp.Compare(x.way, y.way), cmp.Compare(x.mean, y.mean), cmp.Compare(a.patch, b.patch))
	})
	for k := 1; k < len(p.byPod); k++ {
		a, b := p.byPod[k-1], p.byPod[k]
		x, y := &p.all[a.patch], &p.all[b.patch]
		if a.pod == b.pod && x.way == y.way && y.mean-x.mean <= m.Noise.MeanError(y.mean, int(x.end-x.begin), int(y.end-y.begin)) {
			p.sets.Union(a.patch, b.patch)
		}
	}
}
