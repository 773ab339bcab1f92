package tracking

import (
	"cmp"
	"slices"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/schema"
)

// matcher determines which regions continue which tracks: a greedy bipartite matching
// by Jaccard index. Its cost is proportional to the number of links in regions. Regions
// and tracks are identified by their index in the step.
type matcher struct {
	numLinks int
	links    [][]schema.LinkID // by region: ascending, valid links
	order    []int32           // regions in an order that depends only on their content
	rank     []int32           // by region: position in order

	successor []int32 // by track: the region that continues it, or -1
	ancestor  []int32 // by region: the track that it continues, or -1
	into      []int32 // by track: the region it merged into, or -1
	parent    []int32 // by region: the track it split from, or -1

	pairs   []pair
	first   []int32 // by region: its first pair, or -1
	head    []int32 // by link: the first of its holders, or -1
	holders []holder
	shared  []int32 // by track: links in common with the current region
	touched []int32
	arena   []schema.LinkID
	most    []int32
}

// holder is a track that has a link; the holders of a link form a linked list.
type holder struct{ track, next int32 }

// pair is a region and a track with links in common.
type pair struct {
	region, track int32
	shared        int32
	smaller       int32 // size of the smaller of the two
	next          int32 // next pair of the same region, or -1
	jaccard       float64
}

func newMatcher(links int) (m matcher) {
	m.setLinks(links)
	return m
}

// setLinks sets the number of links of the graph.
func (m *matcher) setLinks(links int) { m.numLinks, m.head = links, filled(m.head, links) }

// filled returns s with n elements, all -1.
func filled(s []int32, n int) []int32 {
	s = scratch.Slice(s, n)
	for i := range s {
		s[i] = -1
	}
	return s
}

// find lists the pairs of regions and tracks of one metric with common links.
func (m *matcher) find(tracks []*track, regions []schema.Region) {
	m.prepare(regions)
	m.holders, m.pairs = m.holders[:0], m.pairs[:0]
	for k, tr := range tracks {
		for _, l := range tr.links {
			m.holders = append(m.holders, holder{int32(k), m.head[l]})
			m.head[l] = int32(len(m.holders) - 1)
		}
	}
	m.shared = scratch.Slice(m.shared, len(tracks))
	clear(m.shared)
	for r := range regions {
		m.findPairsOf(int32(r), regions[r].Metric, tracks)
	}
	for _, tr := range tracks {
		for _, l := range tr.links {
			m.head[l] = -1
		}
	}
	slices.SortFunc(m.pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.jaccard, a.jaccard), cmp.Compare(a.track, b.track), cmp.Compare(m.rank[a.region], m.rank[b.region]))
	})
	m.successor, m.ancestor = filled(m.successor, len(tracks)), filled(m.ancestor, len(regions))
}

func (m *matcher) findPairsOf(r int32, metric schema.Metric, tracks []*track) {
	m.touched = m.touched[:0]
	for _, l := range m.links[r] {
		for e := m.head[l]; e >= 0; e = m.holders[e].next {
			k := m.holders[e].track
			if tracks[k].metric != metric {
				continue
			}
			if m.shared[k] == 0 {
				m.touched = append(m.touched, k)
			}
			m.shared[k]++
		}
	}
	for _, k := range m.touched {
		a, b, n := len(m.links[r]), len(tracks[k].links), int(m.shared[k])
		m.pairs = append(m.pairs, pair{r, k, int32(n), int32(min(a, b)), -1, float64(n) / float64(a+b-n)})
		m.shared[k] = 0
	}
}

// prepare cleans the regions' links and orders the regions.
func (m *matcher) prepare(regions []schema.Region) {
	m.links, m.order, m.rank, m.arena = scratch.Slice(m.links, len(regions)), scratch.Slice(m.order, len(regions)), scratch.Slice(m.rank, len(regions)), m.arena[:0]
	for r := range regions {
		m.order[r] = int32(r)
		m.links[r] = m.clean(regions[r].Links)
	}
	slices.SortFunc(m.order, func(a, b int32) int {
		x, y := &regions[a], &regions[b]
		if c := cmp.Or(cmp.Compare(x.Metric, y.Metric), cmp.Compare(len(m.links[b]), len(m.links[a])), cmp.Compare(y.Mean, x.Mean), cmp.Compare(y.Max, x.Max)); c != 0 {
			return c
		}
		return slices.Compare(m.links[a], m.links[b])
	})
	for i, r := range m.order {
		m.rank[r] = int32(i)
	}
}

// clean returns links if they are ascending and valid, as they should be; otherwise a
// copy for which this is true.
func (m *matcher) clean(links []schema.LinkID) []schema.LinkID {
	good := true
	for i, l := range links {
		good = good && int64(l) < int64(m.numLinks) && (i == 0 || links[i-1] < l)
	}
	if good {
		return links
	}
	begin := len(m.arena)
	for _, l := range links {
		if int64(l) < int64(m.numLinks) {
			m.arena = append(m.arena, l)
		}
	}
	slices.Sort(m.arena[begin:])
	own := slices.Compact(m.arena[begin:])
	return own[:len(own):len(own)]
}

// assign decides which region continues which track; see the package comment. Tracks
// are ordered by age. lastEnd is when the tracks of the last interval were seen.
func (m *matcher) assign(tracks []*track, lastEnd int64, minOverlap float64) {
	m.dropSmallOverlaps(minOverlap)
	m.matchGreedily()
	m.chainPairs()
	for _, r := range m.order { // of the tracks that merge, the oldest continues
		if k := m.ancestor[r]; k >= 0 {
			if oldest := m.oldestOf(r, k, tracks, lastEnd); oldest != k {
				m.successor[k], m.successor[oldest], m.ancestor[r] = -1, r, oldest
			}
		}
	}
	m.matchGreedily() // a track that was replaced may continue in another part
}

// oldestOf returns the track that r continues if k is the most similar: k, or an older one that would otherwise end in r,
// contributes at least half as many links, and was present in the last interval.
func (m *matcher) oldestOf(r, k int32, tracks []*track, lastEnd int64) int32 {
	oldest, brought := k, int32(0)
	for i := m.first[r]; i >= 0; i = m.pairs[i].next {
		if m.pairs[i].track == k {
			brought = m.pairs[i].shared
		}
	}
	for i := m.first[r]; i >= 0; i = m.pairs[i].next {
		p := &m.pairs[i]
		if p.track < oldest && m.successor[p.track] < 0 && tracks[p.track].seenNanos == lastEnd && 2*p.shared >= brought {
			oldest = p.track
		}
	}
	return oldest
}

// chainPairs links the pairs of each region.
func (m *matcher) chainPairs() {
	m.first = filled(m.first, len(m.ancestor))
	for i := range m.pairs {
		r := m.pairs[i].region
		m.pairs[i].next, m.first[r] = m.first[r], int32(i)
	}
}

// dropSmallOverlaps drops the pairs with too few common links.
func (m *matcher) dropSmallOverlaps(minOverlap float64) {
	m.pairs = slices.DeleteFunc(m.pairs, func(p pair) bool { return float64(p.shared) <= minOverlap*float64(p.smaller) })
}

// matchGreedily matches the pairs whose region and track are both free, most similar
// first.
func (m *matcher) matchGreedily() {
	for _, p := range m.pairs {
		if m.successor[p.track] < 0 && m.ancestor[p.region] < 0 {
			m.successor[p.track], m.ancestor[p.region] = p.region, p.track
		}
	}
}

// assignStored assigns regions with an identity to the tracks with the same, and
// matches the others greedily.
func (m *matcher) assignStored(tracks []*track, regions []schema.Region, minOverlap float64) {
	m.dropSmallOverlaps(minOverlap)
	for r := range regions {
		for k, tr := range tracks {
			if regions[r].ID == tr.id && regions[r].Metric == tr.metric {
				m.successor[k], m.ancestor[r] = int32(r), int32(k)
			}
		}
	}
	for _, p := range m.pairs {
		if regions[p.region].ID == 0 && m.successor[p.track] < 0 && m.ancestor[p.region] < 0 {
			m.successor[p.track], m.ancestor[p.region] = p.region, p.track
		}
	}
}

// relate determines which region each unmatched track merged into, and which track each
// unmatched region split from: the one with the most common links.
func (m *matcher) relate(tracks []*track, lastEnd int64) {
	m.into, m.parent = filled(m.into, len(tracks)), filled(m.parent, len(m.ancestor))
	m.most = scratch.Slice(m.most, len(tracks)+len(m.ancestor))
	clear(m.most)
	ofTrack, ofRegion := m.most[:len(tracks)], m.most[len(tracks):]
	for _, p := range m.pairs { // most similar first: on a tie the first is kept
		k, r := p.track, p.region
		if m.successor[k] < 0 && m.ancestor[r] >= 0 && tracks[k].seenNanos == lastEnd && p.shared > ofTrack[k] {
			m.into[k], ofTrack[k] = r, p.shared
		}
		if m.ancestor[r] < 0 && m.successor[k] >= 0 && p.shared > ofRegion[r] {
			m.parent[r], ofRegion[r] = k, p.shared
		}
	}
}
