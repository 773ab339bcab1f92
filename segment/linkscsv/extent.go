package linkscsv

import (
	"fmt"
	"math"
	"strings"

	"github.com/giverny/giverny/schema"
)

// extent is how far into the fabric the rows of a table reach.
type extent struct {
	seen schema.Bitmap // by link: had a row in some interval
	upTo []int         // one more than the highest link number, or than the highest coordinate of each dimension
}

// note takes a row. at is the link's number, or its coordinates rounded down.
func (e *extent) note(links int, link schema.LinkID, at ...int) {
	if e.seen == nil {
		e.seen, e.upTo = schema.NewBitmap(links), make([]int, len(at))
	}
	e.seen.Set(int(link))
	for d, v := range at {
		e.upTo[d] = max(e.upTo[d], v+1)
	}
}

const (
	unlikely = 1e-6 // how rarely chance may be taken for another fabric
	fewRows  = 16   // that are no table of a whole fabric
)

// smaller says so if the table ends where a smaller fabric's would: of the links within its bounds it has so many that
// chance does not leave out all that are beyond; else it is empty.
func (t *table) smaller() string {
	e, links := &t.extent, t.graph.NumLinks()
	within, rows := 1, 0
	if e.seen != nil {
		rows = e.seen.Count()
	}
	if rows < fewRows {
		return ""
	}
	for _, n := range e.upTo {
		within *= n
	}
	if t.grid != nil {
		within = min(within*len(t.grid.Dims), links)
	}
	missing := max(1-float64(rows)/float64(within), 1/float64(within+1)) // that none is missing does not say that none ever is
	if beyond := float64(links - within); beyond == 0 || beyond*math.Log(missing) > math.Log(unlikely) {
		return ""
	}
	bounds := fmt.Sprintf("numbers up to %d", e.upTo[0]-1)
	if t.grid != nil {
		var list []string
		for d, n := range e.upTo {
			list = append(list, fmt.Sprintf("%s up to %d", axes[d], n-1))
		}
		bounds = strings.Join(list, ", ")
	}
	return fmt.Sprintf("rows of %d links, all of them with %s; the topology has %d links, and the others count as not measured. Is this a table of a smaller fabric? "+
		"Then give the topology of that one; giverny topology links lists the links of a topology", rows, bounds, links)
}
