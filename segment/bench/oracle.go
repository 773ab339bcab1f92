package bench

import (
	"cmp"
	"maps"
	"slices"

	"github.com/giverny/giverny/schema"
)

// Oracle scores the best known answer in which no link belongs to two regions: the
// upper bound for methods without overlap. The answer assigns each piece, the links
// covered by the same true regions, to one of these regions. Two initial answers, every
// piece to its largest region and every piece to its smallest, are improved greedily,
// and the better one counts. A method with overlap can reach 1.
func Oracle(truth []Truth) Result {
	pieces := piecesOf(truth)
	largest := func(of []int) int {
		return slices.MaxFunc(of, func(a, b int) int { return cmp.Compare(len(truth[a].Links), len(truth[b].Links)) })
	}
	smallest := func(of []int) int {
		return slices.MinFunc(of, func(a, b int) int { return cmp.Compare(len(truth[a].Links), len(truth[b].Links)) })
	}
	var best Result
	for _, choose := range []func([]int) int{largest, smallest} {
		for i := range pieces {
			pieces[i].to = choose(pieces[i].of)
		}
		if r := improve(truth, pieces); r.Score >= best.Score {
			best = r
		}
	}
	return best
}

// piece is the links that are covered by the same true regions.
type piece struct {
	of    []int // true regions
	to    int   // the region it is assigned to
	links []schema.LinkID
}

func piecesOf(truth []Truth) []piece {
	type place struct {
		metric schema.Metric
		link   schema.LinkID
	}
	cover := map[place][]int{}
	for i, t := range truth {
		for _, l := range t.Links {
			cover[place{t.Metric, l}] = append(cover[place{t.Metric, l}], i)
		}
	}
	var pieces []piece
	places := slices.SortedFunc(maps.Keys(cover), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.metric, b.metric), cmp.Compare(a.link, b.link))
	})
	for _, p := range places {
		of := cover[p]
		i := slices.IndexFunc(pieces, func(q piece) bool { return slices.Equal(q.of, of) })
		if i < 0 {
			i = len(pieces)
			pieces = append(pieces, piece{of: of})
		}
		pieces[i].links = append(pieces[i].links, p.link)
	}
	return pieces
}

// improve reassigns single pieces while the score rises.
func improve(truth []Truth, pieces []piece) Result {
	best := scoreOf(truth, pieces)
	for better := true; better; {
		better = false
		for i := range pieces {
			p := &pieces[i]
			if len(p.of) == 1 {
				continue
			}
			for _, to := range p.of {
				had := p.to
				p.to = to
				if r := scoreOf(truth, pieces); r.Score > best.Score {
					best, better = r, true
				} else {
					p.to = had
				}
			}
		}
	}
	return best
}

func scoreOf(truth []Truth, pieces []piece) Result {
	regions := make([]schema.Region, len(truth))
	for _, p := range pieces {
		regions[p.to].Links = append(regions[p.to].Links, p.links...)
	}
	for i := range regions {
		slices.Sort(regions[i].Links)
		regions[i].Metric, regions[i].Mean = truth[i].Metric, 100
	}
	regions = slices.DeleteFunc(regions, func(r schema.Region) bool { return len(r.Links) == 0 })
	return Score(truth, regions)
}
