package segment

import (
	"cmp"
	"math"
	"slices"

	"github.com/giverny/giverny/schema"
)

// experiment v1
type statisticalMethod struct {
	adj *adjacency
	cfg Config

	slot  []int32 // by link: index of active or -1
	hotAt []int32 // by switch
	cand  []int32

	active []int32 // links
	label  []int32 // by active: piece or -1 (background)
	v      []float32
	u      []float32
	w      []float32

	sets  unionFind
	n     []float64
	wt    []float64
	sum   []float64
	noise noise
}

type noise struct{ base, a, b float64 } // background level, sigma = a + b*level

func (n noise) sigma(level float64) float64 { return n.a + n.b*math.Max(0, level-n.base) }

var Tune = map[string]float64{"z": 3, "B": 2.2, "C": 9, "slack": 0.06, "zm": 3.5, "minjump": 1, "kappa": 4, "sweeps": 4, "K": 5, "lam": .8, "tau": 0, "edge": .3, "we": .1, "ramp": .5, "edgetouch": .4, "halotouch": .6}

func newStatisticalMethod(adj *adjacency, cfg Config) *statisticalMethod {
	m := &statisticalMethod{adj: adj, cfg: cfg, slot: make([]int32, adj.numLinks()), hotAt: make([]int32, adj.numSwitches())}
	for i := range m.slot {
		m.slot[i] = -1
	}
	return m
}

func quantile(x []float64, q float64) float64 {
	if len(x) == 0 {
		return 0
	}
	slices.Sort(x)
	return x[min(len(x)-1, int(q*float64(len(x))))]
}

func (m *statisticalMethod) estimate(values []float32) {
	var all, diff, pos []float64
	zeros := 0
	for i, v := range values {
		if v < 0 {
			continue
		}
		all = append(all, float64(v))
		if v == 0 {
			zeros++
		} else {
			pos = append(pos, float64(v))
		}
		if i > 0 && values[i-1] >= 0 && m.adj.ends[i][0] == m.adj.ends[i-1][0] {
			diff = append(diff, math.Abs(float64(v-values[i-1])))
		}
	}
	m.noise.base = quantile(all, .5)
	m.noise.a = quantile(diff, .5) / .954
	if float64(zeros) > .2*float64(len(all)) {
		m.noise.a = max(m.noise.a, quantile(pos, .5)/.674)
	}
	m.noise.b = 0
	m.noise.base = min(m.noise.base, 2.5)
	m.noise.a = max(m.noise.a, .2)
}

func (m *statisticalMethod) threshold() float32 {
	return float32(max(m.cfg.MinMeanPercent, m.noise.base+2*m.noise.a))
}

func (m *statisticalMethod) segment(values []float32, out *partition) {
	m.estimate(values)
	t := m.threshold()
	// candidates
	m.cand = m.cand[:0]
	for i, v := range values {
		if v >= t {
			m.cand = append(m.cand, int32(i))
			for _, s := range m.adj.ends[i] {
				if s >= 0 {
					m.hotAt[s]++
				}
			}
		}
	}
	m.active, m.v = m.active[:0], m.v[:0]
	for _, l := range m.cand {
		k, c := -2, int32(-2)
		for _, s := range m.adj.ends[l] {
			if s >= 0 {
				k += len(m.adj.links(s))
				c += m.hotAt[s]
			} else {
				k++
				c++
			}
		}
		p := .025 * float64(k)
		if float64(c) >= p+3*math.Sqrt(p)+1 {
			m.slot[l] = int32(len(m.active))
			m.active = append(m.active, l)
			m.v = append(m.v, values[l])
		}
	}
	for _, l := range m.cand {
		for _, s := range m.adj.ends[l] {
			if s >= 0 {
				m.hotAt[s] = 0
			}
		}
	}
	defer func() {
		for _, l := range m.active {
			m.slot[l] = -1
		}
	}()
	if len(m.active) == 0 {
		return
	}
	hot := len(m.active)
	m.smooth(hot)
	m.levelNoise(hot)
	m.lift(values, hot)
	m.srm(values, hot)
	pieces := m.merge(values, hot)
	m.ring(values, hot)
	m.refine(values, pieces)
	m.merge2(values, pieces)
	m.refine(values, pieces)
	m.emit(out)
}

func (m *statisticalMethod) eachSwitch(hot int, f func(s int32, members []int32)) {
	seen := map[int32]bool{}
	var mem []int32
	for i := range hot {
		for _, s := range m.adj.ends[m.active[i]] {
			if s < 0 || seen[s] {
				continue
			}
			seen[s] = true
			mem = mem[:0]
			for _, l := range m.adj.links(s) {
				if k := m.slot[l]; k >= 0 && int(k) < hot {
					mem = append(mem, k)
				}
			}
			f(s, mem)
		}
	}
}

// eachBridge gives the hot links on the two sides of a missing link.
func (m *statisticalMethod) eachBridge(values []float32, hot int, f func(members []int32)) {
	dead := func(s int32) bool {
		for _, l := range m.adj.links(s) {
			if values[l] >= 0 {
				return false
			}
		}
		return true
	}
	done := map[int32]bool{}
	var mem []int32
	has := map[int32]bool{}
	add := func(s int32) {
		for _, l := range m.adj.links(s) {
			if k := m.slot[l]; k >= 0 && int(k) < hot && !has[k] {
				has[k] = true
				mem = append(mem, k)
			}
		}
	}
	bridge := func(l int32) {
		if done[l] {
			return
		}
		done[l] = true
		mem = mem[:0]
		clear(has)
		for _, s := range m.adj.ends[l] {
			if s < 0 {
				continue
			}
			if !dead(s) {
				add(s)
				continue
			}
			for _, x := range m.adj.links(s) {
				if t := m.adj.far(x, s); t >= 0 {
					add(t)
				}
			}
		}
		if len(mem) > 1 {
			f(mem)
		}
	}
	for i := range hot {
		for _, s := range m.adj.ends[m.active[i]] {
			if s < 0 {
				continue
			}
			for _, l := range m.adj.links(s) {
				if values[l] >= 0 {
					continue
				}
				bridge(l)
				if t := m.adj.far(l, s); t >= 0 && dead(t) {
					for _, l2 := range m.adj.links(t) {
						bridge(l2)
					}
				}
			}
		}
	}
}

func (m *statisticalMethod) smooth(hot int) {
	m.u = resize(m.u, hot)
	var w []float64
	for i := range hot {
		w = append(w[:0], float64(m.v[i]))
		l := m.active[i]
		for _, s := range m.adj.ends[l] {
			if s < 0 {
				continue
			}
			for _, x := range m.adj.links(s) {
				if k := m.slot[x]; k >= 0 && x != l {
					w = append(w, float64(m.v[k]))
				}
			}
		}
		slices.Sort(w)
		if len(w)%2 == 1 {
			m.u[i] = float32(w[len(w)/2])
		} else {
			m.u[i] = float32((w[len(w)/2] + w[len(w)/2-1]) / 2)
		}
	}
}

// levelNoise: scale of v-u by level
func (m *statisticalMethod) levelNoise(hot int) {
	var r []float64
	for i := range hot {
		d := math.Abs(float64(m.v[i]-m.u[i])) / .674 * 1.05
		r = append(r, (d-0)/1)
		_ = d
	}
	// choose b such that median(|v-u|/(a+b*lvl)) = .674/1.05
	lo, hi := 0., .5
	for range 12 {
		mid := (lo + hi) / 2
		var q []float64
		for i := range hot {
			q = append(q, math.Abs(float64(m.v[i]-m.u[i]))/(m.noise.a+mid*max(0, float64(m.u[i])-m.noise.base)))
		}
		if quantile(q, .5) > .64 {
			lo = mid
		} else {
			hi = mid
		}
	}
	m.noise.b = lo
}

// lift
func (m *statisticalMethod) lift(values []float32, hot int) {
	m.wt = resize(m.wt, hot)
	edge := make([]bool, hot)
	for i := range hot {
		m.wt[i] = 1
		for _, s := range m.adj.ends[m.active[i]] {
			if s < 0 {
				continue
			}
			for _, x := range m.adj.links(s) {
				k := m.slot[x]
				if k >= 0 {
					if m.u[k] < .5*m.u[i] {
						edge[i] = true
					}
				} else if values[x] >= 0 && values[x] < .5*m.u[i] && !m.hole(values, x, hot) {
					edge[i] = true
				}
			}
		}
	}
	core := make([]bool, hot)
	for i := range core {
		core[i] = !edge[i]
	}
	lifted := make([]float32, hot)
	for round := 0; round < 2; round++ {
		var done []int
		for i := range hot {
			if core[i] {
				continue
			}
			best := float32(1e9)
			for _, s := range m.adj.ends[m.active[i]] {
				if s < 0 {
					continue
				}
				for _, x := range m.adj.links(s) {
					k := m.slot[x]
					if k >= 0 && int(k) < hot && core[k] && k != int32(i) {
						sg := float32(m.noise.sigma(float64(m.u[k]))) * .5
						if m.u[i] >= float32(1-Tune["edge"])*m.u[k]-sg && m.u[i] <= m.u[k]+sg {
							if abs32x(m.u[k]-m.u[i]) < abs32x(best-m.u[i]) {
								best = m.u[k]
							}
						}
					}
				}
			}
			if best < 1e9 {
				lifted[i] = best
				done = append(done, i)
			}
		}
		for _, i := range done {
			m.u[i] = lifted[i]
			core[i] = true
			m.wt[i] = Tune["we"]
		}
	}
}

func abs32x(x float32) float32 { return max(x, -x) }

func (m *statisticalMethod) hole(values []float32, l int32, hot int) bool {
	k, c := 0, 0
	for _, s := range m.adj.ends[l] {
		if s < 0 {
			continue
		}
		for _, x := range m.adj.links(s) {
			if x != l && values[x] >= 0 {
				k++
				if m.slot[x] >= 0 && int(m.slot[x]) < hot {
					c++
				}
			}
		}
	}
	return 10*c >= 7*k
}

func (m *statisticalMethod) srm(values []float32, hot int) {
	type edge struct {
		i, j int32
		d    float32
	}
	var edges []edge
	m.eachSwitch(hot, func(s int32, mem []int32) {
		slices.SortFunc(mem, func(a, b int32) int { return cmp.Compare(m.u[a], m.u[b]) })
		for k := 1; k < len(mem); k++ {
			edges = append(edges, edge{mem[k-1], mem[k], m.u[mem[k]] - m.u[mem[k-1]]})
		}
	})
	m.eachBridge(values, hot, func(mem []int32) {
		slices.SortFunc(mem, func(a, b int32) int { return cmp.Compare(m.u[a], m.u[b]) })
		for k := 1; k < len(mem); k++ {
			edges = append(edges, edge{mem[k-1], mem[k], m.u[mem[k]] - m.u[mem[k-1]]})
		}
	})
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Compare(a.d, b.d) })
	m.sets.reset(hot)
	m.n, m.sum = resize(m.n, hot), resize(m.sum, hot)
	m.w = resize(m.w, hot)
	for i := range hot {
		w := m.v[i]
		sg := float32(2.5 * m.noise.sigma(float64(m.u[i])))
		w = min(max(w, m.u[i]-sg), m.u[i]+sg)
		m.n[i], m.sum[i] = m.wt[i], m.wt[i]*float64(w)
		m.w[i] = w
	}
	z := Tune["z"]
	for _, e := range edges {
		a, b := m.sets.find(e.i), m.sets.find(e.j)
		if a == b {
			continue
		}
		ma, mb := m.sum[a]/m.n[a], m.sum[b]/m.n[b]
		sg := m.noise.sigma((ma + mb) / 2)
		lim := z * sg * math.Sqrt(1/m.n[a]+1/m.n[b])
		if math.Abs(ma-mb) <= lim {
			m.sets.union(a, b)
			r := m.sets.find(a)
			o := a + b - r
			m.n[r] += m.n[o]
			m.sum[r] += m.sum[o]
		}
	}
}

type contact struct {
	w     float64
	diff  float64 // weighted sum of (mean of this - mean of that)
	touch float64 // links of this that share a switch with that
}

type piece struct {
	size, n, sum float64
	calm         float64 // links that share a switch with a calm one
	adj          map[int32]contact
	cov, pairs   float64
}

// rag builds the graph of pieces from labels 0..k-1 (negative: none).
func (m *statisticalMethod) rag(values []float32, hot int, pieces int) []piece {
	ps := make([]piece, pieces)
	for i := range ps {
		ps[i].adj = map[int32]contact{}
	}
	for i := range hot {
		l := m.label[i]
		if l < 0 {
			continue
		}
		ps[l].size++
		ps[l].n += m.wt[i]
		ps[l].sum += m.wt[i] * float64(m.w[i])
		calm := false
		touched := map[int32]bool{}
		for _, s := range m.adj.ends[m.active[i]] {
			if s < 0 {
				continue
			}
			for _, x := range m.adj.links(s) {
				k := m.slot[x]
				if k < 0 || int(k) >= hot || m.label[k] < 0 {
					if values[x] >= 0 {
						calm = true
					}
				} else if m.label[k] != l {
					touched[m.label[k]] = true
				}
			}
		}
		if calm {
			ps[l].calm++
		}
		for q := range touched {
			c := ps[l].adj[q]
			c.touch++
			ps[l].adj[q] = c
		}
	}
	m.eachSwitch(hot, func(s int32, mem []int32) {
		type t struct {
			l   int32
			n   float64
			sum float64
			sq  float64
		}
		var ts []t
	outer:
		for _, k := range mem {
			if m.label[k] < 0 {
				continue
			}
			w := float64(m.w[k])
			p := &ps[m.label[k]]
			r := w - p.sum/p.n
			for x := range ts {
				if ts[x].l == m.label[k] {
					ts[x].n += m.wt[k]
					ts[x].sum += m.wt[k] * r
					continue outer
				}
			}
			ts = append(ts, t{m.label[k], m.wt[k], r * m.wt[k], 0})
		}
		for x := range ts {
			p := &ps[ts[x].l]
			for y := range ts {
				if x != y {
					q := &ps[ts[y].l]
					c := p.adj[ts[y].l]
					w := ts[x].n * ts[y].n / (ts[x].n + ts[y].n) // harmonic: 1/var
					c.w += w
					c.diff += w * (ts[x].sum/ts[x].n + p.sum/p.n - ts[y].sum/ts[y].n - q.sum/q.n)
					p.adj[ts[y].l] = c
				}
			}
		}
	})
	m.eachBridge(values, hot, func(mem []int32) {
		for _, a := range mem {
			for _, b := range mem {
				la, lb := m.label[a], m.label[b]
				if la >= 0 && lb >= 0 && la != lb {
					if _, ok := ps[la].adj[lb]; !ok {
						d := ps[la].sum/ps[la].n - ps[lb].sum/ps[lb].n
						ps[la].adj[lb] = contact{w: .01, diff: .01 * d, touch: .5}
						ps[lb].adj[la] = contact{w: .01, diff: -.01 * d, touch: .5}
					}
				}
			}
		}
	})
	return ps
}

func (m *statisticalMethod) mergePieces(ps []piece, round int) []int32 {
	parent := make([]int32, len(ps))
	for i := range parent {
		parent[i] = int32(i)
	}
	// pooled slow variation, relative to level
	num, den, pr := 0., 0., 0.
	for i := range ps {
		if ps[i].pairs > 0 && ps[i].n >= 20 {
			mean := ps[i].sum / ps[i].n
			sg := m.noise.sigma(mean)
			num += ps[i].cov / (mean * mean)
			den += ps[i].pairs
			pr += ps[i].pairs * math.Pow(sg/mean, 4)
		}
	}
	tau2 := 0.
	if den > 0 {
		tau2 = max(0, num/den-2*math.Sqrt(pr)/den)
	}
	if Debug {
		println("round", round, "tau", int(1000*math.Sqrt(tau2)), "noise a", int(1000*m.noise.a), "b", int(1000*m.noise.b), "base", int(1000*m.noise.base))
	}
	cost := func(a, b int32, c contact) float64 {
		p, q := &ps[a], &ps[b]
		ma, mb := p.sum/p.n, q.sum/q.n
		if ma < mb {
			p, q, ma, mb = q, p, mb, ma
			c.diff = -c.diff
			c.touch = ps[b].adj[a].touch
		}
		lvl := (ma + mb) / 2
		sg := m.noise.sigma(lvl)
		w := c.w / 2
		slack2 := 0.
		if round == 2 {
			slack2 = Tune["tau"] * Tune["tau"] * tau2 * lvl * lvl
		}
		p1 := w / (sg * sg)
		p2 := 1 / (sg*sg*(1/p.n+1/q.n) + slack2)
		jump := (p1*(c.diff/c.w) + p2*(ma-mb)) / (p1 + p2)
		// an edge: q is thin, all its links border something calmer and touch p
		if round == 2 {
			touch := ps[a].adj[b]
			if p == &ps[a] {
				touch = ps[b].adj[a]
			}
			if q.calm > .8*q.size && touch.touch > Tune["edgetouch"]*q.size {
				jump = max(0, math.Abs(jump)-Tune["edge"]*(ma-m.noise.base))
			}
		}
		t1, t2 := ps[a].adj[b].touch, ps[b].adj[a].touch
		t1, t2 = min(t1, ps[a].size), min(t2, ps[b].size)
		return (.5*jump*jump*(p1+p2) - Tune["K"]) / (t1 + t2)
	}
	zm := Tune["lam"]
	for {
		best, bi, bj := math.Inf(1), int32(-1), int32(-1)
		for i := range ps {
			for j, c := range ps[i].adj {
				if int32(i) < j {
					if z := cost(int32(i), j, c); z < best || z == best && (int32(i) < bi || int32(i) == bi && j < bj) {
						best, bi, bj = z, int32(i), j
					}
				}
			}
		}
		if bi < 0 || best > zm {
			break
		}
		parent[bj] = bi
		a, b := &ps[bi], &ps[bj]
		a.n += b.n
		a.size += b.size
		a.sum += b.sum
		a.calm += b.calm
		for k, c := range b.adj {
			back := ps[k].adj[bj]
			delete(ps[k].adj, bj)
			if k == bi {
				continue
			}
			d, e := a.adj[k], ps[k].adj[bi]
			d.w += c.w
			d.diff += c.diff
			d.touch += c.touch
			e.w, e.diff = d.w, -d.diff
			e.touch += back.touch
			a.adj[k], ps[k].adj[bi] = d, e
		}
		delete(a.adj, bj)
		b.adj = nil
	}
	for i := range parent {
		l := int32(i)
		for parent[l] != l {
			l = parent[l]
		}
		parent[i] = l
	}
	return parent
}

var Debug bool

// border is the level of piece p at its border with q, by regression on the distance from it, and its squared error.
func (m *statisticalMethod) border(values []float32, p, q int32) (at, se2 float64) {
	dist := map[int32]int{}
	var queue []int32
	near := func(i int32, f func(k int32)) {
		for _, s := range m.adj.ends[m.active[i]] {
			if s < 0 {
				continue
			}
			for _, x := range m.adj.links(s) {
				if k := m.slot[x]; k >= 0 {
					f(k)
				}
			}
		}
	}
	for i, l := range m.label {
		if l != p {
			continue
		}
		hit := false
		near(int32(i), func(k int32) { hit = hit || m.label[k] == q })
		if hit {
			dist[int32(i)] = 0
			queue = append(queue, int32(i))
		}
	}
	for h := 0; h < len(queue); h++ {
		i := queue[h]
		near(i, func(k int32) {
			if _, ok := dist[k]; !ok && m.label[k] == p {
				dist[k] = dist[i] + 1
				queue = append(queue, k)
			}
		})
	}
	var s0, s1, s2, y0, y1 float64
	for _, i := range queue {
		d := float64(dist[i])
		if d == 0 {
			continue
		}
		w := m.wt[i]
		s0 += w
		s1 += w * d
		s2 += w * d * d
		y0 += w * float64(m.w[i])
		y1 += w * d * float64(m.w[i])
	}
	det := s0*s2 - s1*s1
	if s0 < 3 || det < 1e-6*s0*s2 {
		return 0, math.Inf(1)
	}
	at = (s2*y0 - s1*y1) / det
	slope := (s0*y1 - s1*y0) / det
	at += .25 * slope
	sg := m.noise.sigma(at)
	return at, sg * sg * s2 / det
}

func (m *statisticalMethod) ramps(values []float32, pieces int) {
	for {
		ps := m.rag(values, len(m.active), pieces)
		best, bi, bj := Tune["ramp"], int32(-1), int32(-1)
		for i := range ps {
			for j, c := range ps[i].adj {
				if int32(i) > j || min(ps[i].size, ps[j].size) < 10 || c.touch < 3 {
					continue
				}
				d := math.Abs(ps[i].sum/ps[i].n - ps[j].sum/ps[j].n)
				if d > .5*max(ps[i].sum/ps[i].n, ps[j].sum/ps[j].n) {
					continue
				}
				a, sa := m.border(values, int32(i), j)
				b, sb := m.border(values, j, int32(i))
				if Debug {
					println("ramp", i, j, "diff", int(10*d), "jump", int(10*(a-b)), "se", int(10*math.Sqrt(sa+sb)))
				}
				if r := (math.Abs(a-b) + math.Sqrt(sa+sb)) / d; r < best {
					best, bi, bj = r, int32(i), j
				}
			}
		}
		if bi < 0 {
			return
		}
		for i := range m.label {
			if m.label[i] == bj {
				m.label[i] = bi
			}
		}
	}
}

func (m *statisticalMethod) merge(values []float32, hot int) int {
	id := map[int32]int32{}
	m.label = resize(m.label, hot)
	for i := range hot {
		r := m.sets.find(int32(i))
		k, ok := id[r]
		if !ok {
			k = int32(len(id))
			id[r] = k
		}
		m.label[i] = k
	}
	pieces := len(id)
	ps := m.rag(values, hot, pieces)
	parent := m.mergePieces(ps, 1)
	cnt := make([]int, pieces)
	for i := range m.label {
		m.label[i] = parent[m.label[i]]
		cnt[m.label[i]]++
	}
	for i, l := range m.label {
		if cnt[l] < 8 {
			m.label[i] = -2 // unassigned
		}
	}
	return pieces
}

func (m *statisticalMethod) merge2(values []float32, pieces int) {
	m.w = m.w[:0]
	for i, l := range m.label {
		_ = l
		m.w = append(m.w, m.v[i])
	}
	ps := m.rag(values, len(m.active), pieces)
	// robust: clip to piece mean
	for i, l := range m.label {
		if l >= 0 {
			mean := ps[l].sum / ps[l].n
			sg := float32(3 * m.noise.sigma(mean))
			m.w[i] = min(max(m.v[i], float32(mean)-sg), float32(mean)+sg)
		}
	}
	ps = m.rag(values, len(m.active), pieces)
	dbg := func() {
		if !Debug {
			return
		}
		for i := range ps {
			if ps[i].n > 0 {
				print("piece ", i, " size ", int(ps[i].size), " n ", int(ps[i].n), " mean ", int(10*ps[i].sum/ps[i].n), " calm ", int(ps[i].calm), " :")
				for q, c := range ps[i].adj {
					print(" ", q, "/", int(c.touch), "/", int(10*c.diff/c.w))
				}
				println()
			}
		}
	}
	dbg()
	parent := m.mergePieces(ps, 2)
	for i, l := range m.label {
		if l >= 0 {
			m.label[i] = parent[l]
		}
	}
	m.ramps(values, pieces)
	// dissolve
	ps = m.rag(values, len(m.active), pieces)
	for i, l := range m.label {
		if l < 0 {
			continue
		}
		p := &ps[l]
		if int(p.size) < m.cfg.MinLinks*3/4 {
			m.label[i] = -2
			continue
		}
		mean := p.sum / p.n
		hotter := 0.
		for q, c := range p.adj {
			mq := ps[q].sum / ps[q].n
			if mq > 2*mean {
				hotter += c.touch
			}
		}
		if hotter > Tune["halotouch"]*p.size && mean < 8 {
			m.label[i] = -1
		}
	}
}

type tally struct {
	label int32
	n     float64
	sum   float64
}

func (m *statisticalMethod) ring(values []float32, hot int) {
	// ring
	for i := 0; i < len(m.active[:hot]); i++ {
		if m.label[i] < 0 {
			continue
		}
		for _, s := range m.adj.ends[m.active[i]] {
			if s < 0 {
				continue
			}
			for _, x := range m.adj.links(s) {
				if m.slot[x] < 0 && values[x] >= 0 {
					m.slot[x] = int32(len(m.active))
					m.active = append(m.active, x)
					m.v = append(m.v, values[x])
					m.wt = append(m.wt, Tune["we"])
					m.label = append(m.label, -1)
				}
			}
		}
	}
}

func (m *statisticalMethod) refine(values []float32, pieces int) {
	B, C, kappa := Tune["B"], Tune["C"], Tune["kappa"]
	next := make([]int32, len(m.active))
	for sweep := 0; sweep < int(Tune["sweeps"]); sweep++ {
		// piece means
		n, sum := make([]float64, pieces), make([]float64, pieces)
		for i, l := range m.label {
			if l >= 0 {
				n[l]++
				sum[l] += float64(m.v[i])
			}
		}
		tallies := map[int32][]tally{}
		add := func(s, l int32, v float64) {
			t := tallies[s]
			for i := range t {
				if t[i].label == l {
					t[i].n++
					t[i].sum += v
					return
				}
			}
			tallies[s] = append(t, tally{l, 1, v})
		}
		deg := map[int32]float64{}
		for i, l := range m.label {
			for _, s := range m.adj.ends[m.active[i]] {
				if s >= 0 {
					if _, ok := deg[s]; !ok {
						for _, x := range m.adj.links(s) {
							if values[x] >= 0 {
								deg[s]++
								if m.slot[x] < 0 {
									add(s, -1, float64(values[x]))
								}
							}
						}
					}
					if l != -2 {
						add(s, l, float64(m.v[i]))
					}
				}
			}
		}
		changed := 0
		for i, l := range m.label {
			v := float64(m.v[i])
			type opt struct {
				l       int32
				frac    float64
				n, sumv float64
			}
			var opts []opt
			for _, s := range m.adj.ends[m.active[i]] {
				if s < 0 {
					continue
				}
				for _, t := range tallies[s] {
					tn, ts := t.n, t.sum
					if t.label == l {
						tn--
						ts -= v
					}
					if deg[s] < 2 {
						continue
					}
					f := tn / (deg[s] - 1)
					found := false
					for k := range opts {
						if opts[k].l == t.label {
							opts[k].frac += f
							opts[k].n += tn
							opts[k].sumv += ts
							found = true
						}
					}
					if !found {
						opts = append(opts, opt{t.label, f, tn, ts})
					}
				}
			}
			best, bl := math.Inf(1), int32(-1)
			for _, o := range opts {
				if o.n <= 0 {
					continue
				}
				mean := m.noise.base
				if o.l >= 0 {
					mean = sum[o.l] / n[o.l]
				}
				loc := (o.sumv + kappa*mean) / (o.n + kappa)
				sg := m.noise.sigma(loc)
				d := (v - loc) / sg
				e := C*d*d/(d*d+2*C) + math.Log(sg) - B*o.frac
				if e < best {
					best, bl = e, o.l
				}
			}
			next[i] = bl
			if bl != l {
				changed++
			}
		}
		copy(m.label, next)
		if changed == 0 {
			break
		}
	}
}

func (m *statisticalMethod) emit(out *partition) {
	by := map[int32][]schema.LinkID{}
	for i, l := range m.label {
		if l >= 0 {
			by[l] = append(by[l], schema.LinkID(m.active[i]))
		}
	}
	for _, links := range by {
		slices.Sort(links)
		out.links = append(out.links, links...)
		out.ends = append(out.ends, int32(len(out.links)))
	}
}
