package linkscsv

import (
	"fmt"
	"math"
	"strings"

	"github.com/giverny/giverny/schema"
)

// extent is the part of the fabric covered by the rows of a table.
type extent struct {
	seen schema.Bitmap // by link: has a row in some interval
	upTo []int         // highest link number plus one, or highest coordinate plus one of each dimension
}

// note records a row. at is the link's number, or its coordinates rounded down.
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
	unlikely = 1e-6 // maximum probability of a false report
	fewRows  = 16   // at most so many rows are not a whole fabric
)

// smaller returns a warning if the table seems to be of a smaller fabric: it has so many of the links within its
// bounds that it is improbable that all links beyond are missing by chance; otherwise it is empty.
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
	missing := max(1-float64(rows)/float64(within), 1/float64(within+1)) // not 0, since seeing none missing does not prove that none ever is
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
	return fmt.Sprintf("rows of %d links, all of them with %s; the topology has %d links, and the others are taken as not measured. If this table is of a "+
		"smaller fabric, give the topology of that one; giverny topology links lists the links of a topology", rows, bounds, links)
}
