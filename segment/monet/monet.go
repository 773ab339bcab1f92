// Package monet finds regions by Monet's algorithm as published (NSDI'20, section 4.2). Input: percentages by link and
// three thresholds. Output: disjoint groups of near links with similar stalls.
package monet

import (
	"math"

	"github.com/giverny/giverny/internal/scratch"
	"github.com/giverny/giverny/segment/linkset"
	"github.com/giverny/giverny/topology"
)

// Method is Monet's segmentation (NSDI'20, section 4.2), stage by stage:
//
//  1. near links (d_delta <= delta) with similar stalls (difference <= theta_p)
//     form the classes of a reflexive, transitive closure;
//  2. the same over those classes, by their means and theta_r;
//  3. regions under sigma links are merged into the nearest within delta;
//  4. regions still under sigma links are dropped.
//
// The text leaves some details open, and the authors' released program contradicts it
// in some. This implementation:
//   - The distance wraps around a torus. (Released: 33 of the 100 nearest
//     points in a cube; wraparound is patched on afterwards.)
//   - Values stay percentages in floating point. (Released: integer colours, and
//     means truncated to integers.)
//   - Both thresholds include equality. (Released: points <=, regions <.)
//   - Stage 2 is one closure over the means of stage 1, as "repetition of the
//     previous step" says. (Released: one greedy pass with moving means.)
//   - Stage 3: nearest is by d_delta; ties go to the closer mean, then to the
//     region with the smallest link. Only regions of at least sigma links
//     receive, and all small ones are merged at once, so that order does not
//     matter. (Released: the nearest, at any distance.)
//   - A missing link belongs to no region, and near means within delta across
//     it.
type Method struct {
	near         nearness
	theta        [2]float32 // points, regions
	minLinks     int32
	sets         linkset.UnionFind
	size         []int32   // by root
	mean         []float64 // by root
	level        []float32 // by link: mean of its region
	target       []int32   // by root of a small region: the region it is merged into
	offer        []absorption
	neighbours   []nearLink
	regionOfRoot []int32
}

// absorption is the best receiver found so far for a small region.
type absorption struct {
	distance   int8
	difference float64
	root       int32
}

func (a absorption) better(b absorption) bool {
	if a.distance != b.distance {
		return a.distance < b.distance
	}
	if a.difference != b.difference {
		return a.difference < b.difference
	}
	return a.root < b.root
}

// New returns the method for a graph; regions have at least minLinks links (sigma).
func New(g *topology.Graph, cfg Config, minLinks int) *Method {
	return &Method{near: newNearness(g, cfg.Distance), theta: [2]float32{float32(cfg.PointPercent), float32(cfg.RegionPercent)}, minLinks: int32(minLinks)}
}

// Segment appends the regions of one series: percent by link in [0, 100], or linkset.Missing.
func (p *Method) Segment(values []float32, out *linkset.Groups) {
	p.sets.Reset(len(values))
	p.near.joinSimilar(values, p.theta[0], &p.sets)
	p.measure(values)

	p.level = scratch.Slice(p.level, len(values))
	for i, v := range values {
		p.level[i] = linkset.Missing
		if v >= 0 {
			p.level[i] = float32(p.mean[p.sets.Find(int32(i))])
		}
	}
	p.near.joinSimilar(p.level, p.theta[1], &p.sets)
	p.measure(values)

	p.absorbSmall(values)
	p.collect(values, out)
}

// measure computes the size and mean of every set.
func (p *Method) measure(values []float32) {
	p.size, p.mean = scratch.Slice(p.size, len(values)), scratch.Slice(p.mean, len(values))
	clear(p.size)
	clear(p.mean)
	for i, v := range values {
		if v >= 0 {
			r := p.sets.Find(int32(i))
			p.size[r]++
			p.mean[r] += float64(v)
		}
	}
	for r, n := range p.size {
		if n > 0 {
			p.mean[r] /= float64(n)
		}
	}
}

// absorbSmall is stage 3. Roots are the smallest links of their sets.
func (p *Method) absorbSmall(values []float32) {
	p.offer = scratch.Slice(p.offer, len(values))
	for r := range p.offer {
		p.offer[r] = absorption{math.MaxInt8, 0, -1}
	}
	for i, v := range values {
		r := p.sets.Find(int32(i))
		if v < 0 || p.size[r] >= p.minLinks {
			continue
		}
		p.neighbours = p.near.appendNear(p.neighbours[:0], int32(i))
		for _, n := range p.neighbours {
			if n.distance > p.offer[r].distance {
				break
			}
			to := p.sets.Find(n.link)
			if values[n.link] < 0 || p.size[to] < p.minLinks {
				continue
			}
			if a := (absorption{n.distance, math.Abs(p.mean[to] - p.mean[r]), to}); a.better(p.offer[r]) {
				p.offer[r] = a
			}
		}
	}
}

// collect is stage 4.
func (p *Method) collect(values []float32, out *linkset.Groups) {
	p.regionOfRoot = scratch.Slice(p.regionOfRoot, len(values))
	clear(p.regionOfRoot)
	p.target = scratch.Slice(p.target, len(values))
	for i, v := range values {
		r := p.sets.Find(int32(i))
		if p.size[r] < p.minLinks {
			r = p.offer[r].root
		}
		if v < 0 {
			r = -1
		}
		p.target[i] = r
	}
	out.FromLabels(p.target, p.regionOfRoot)
}
