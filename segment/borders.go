package segment

import (
	"cmp"
	"container/heap"
	"slices"
)

// borders is where pieces touch: by root of the union find, its neighbours and
// the lengths of the borders to them.
type borders struct {
	of    map[int32]map[int32]float64
	queue borderQueue
}

// border is a candidate for removal, by what it cost when it was last looked at.
type border struct {
	cost float64
	a, b int32 // links of the two pieces
}

type borderQueue []border

func (q borderQueue) Len() int { return len(q) }
func (q borderQueue) Less(i, j int) bool {
	if q[i].cost != q[j].cost {
		return q[i].cost < q[j].cost
	}
	return cmp.Or(cmp.Compare(q[i].a, q[j].a), cmp.Compare(q[i].b, q[j].b)) < 0
}
func (q borderQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *borderQueue) Push(x any)   { *q = append(*q, x.(border)) }
func (q *borderQueue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}

// collect finds the borders between the pieces; their length is the number of
// pairs of links that share a switch and are of two pieces.
func (b *borders) collect(m *statisticalMethod) {
	b.of = map[int32]map[int32]float64{}
	for s := range int32(m.adj.numSwitches()) {
		links := m.adj.links(s)
		for i, x := range links {
			p := m.sets.find(x)
			for _, y := range links[i+1:] {
				if q := m.sets.find(y); p != q {
					b.lengthen(p, q, 1)
				}
			}
		}
	}
}

func (b *borders) lengthen(p, q int32, by float64) {
	for _, end := range [2][2]int32{{p, q}, {q, p}} {
		if b.of[end[0]] == nil {
			b.of[end[0]] = map[int32]float64{}
		}
		b.of[end[0]][end[1]] += by
	}
}

// price is what it costs to remove a border, and whether it may go: gain is the
// rise of the squared error if the pieces were one, length the border's, apart
// the square of the difference of the means, smaller the size of the smaller
// piece.
type price func(gain, length, apart, smaller float64) (cost float64, may bool)

// remove removes borders, the cheapest first, until none may go. A border's cost
// changes as its pieces grow: it is looked at again when its turn comes.
func (b *borders) remove(m *statisticalMethod, of price) {
	for removed := true; removed; {
		removed = false
		b.fill(m, of)
		for len(b.queue) > 0 {
			c := heap.Pop(&b.queue).(border)
			p, q := m.sets.find(c.a), m.sets.find(c.b)
			if p == q {
				continue
			}
			cost, may := b.cost(m, p, q, of)
			switch {
			case !may:
			case cost > c.cost && len(b.queue) > 0 && cost > b.queue[0].cost:
				heap.Push(&b.queue, border{cost, c.a, c.b})
			default:
				b.join(m, p, q)
				removed = true
			}
		}
	}
}

// fill queues all borders that may go.
func (b *borders) fill(m *statisticalMethod, of price) {
	b.queue = b.queue[:0]
	for p, neighbours := range b.of {
		for q := range neighbours {
			if p < q {
				if cost, may := b.cost(m, p, q, of); may {
					b.queue = append(b.queue, border{cost, p, q})
				}
			}
		}
	}
	slices.SortFunc(b.queue, func(x, y border) int { // a heap, and the same one each time
		return cmp.Or(cmp.Compare(x.cost, y.cost), cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b))
	})
}

func (b *borders) cost(m *statisticalMethod, p, q int32, of price) (cost float64, may bool) {
	np, nq := m.size[p], m.size[q]
	apart := 0.
	if np > 0 && nq > 0 {
		apart = m.sum[p]/np - m.sum[q]/nq
		apart *= apart
	}
	return of(np*nq/max(1, np+nq)*apart, b.of[p][q], apart, min(np, nq))
}

// join makes one piece of two. The one with more borders keeps its name.
func (b *borders) join(m *statisticalMethod, stays, goes int32) {
	if x, y := len(b.of[stays]), len(b.of[goes]); x < y || x == y && goes < stays {
		stays, goes = goes, stays
	}
	m.join(stays, goes)
	for q, length := range b.of[goes] {
		delete(b.of[q], goes)
		if q != stays {
			b.lengthen(stays, q, length)
		}
	}
	delete(b.of, goes)
}
