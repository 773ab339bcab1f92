package merging

import "github.com/giverny/giverny/internal/scratch"

// edgeList lists the edges of every node except the background.
type edgeList struct {
	begin []int32 // by node; one extra
	all   []edge
}

// edge leads to another node across a boundary of the given length.
type edge struct {
	to     int32
	length uint32 // in edgeUnit
}

func (e *edgeList) reset() {
	e.begin, e.all = append(e.begin[:0], 0, 0), e.all[:0]
}

// reserve allocates memory for as many edges as other has.
func (e *edgeList) reserve(other *edgeList) {
	e.begin, e.all = scratch.Slice(e.begin, len(other.begin)), scratch.Slice(e.all, len(other.all))
}

func (e *edgeList) add(to int32, length uint32) { e.all = append(e.all, edge{to, length}) }

func (e *edgeList) endNode() { e.begin = append(e.begin, int32(len(e.all))) }

func (e *edgeList) of(node int32) []edge { return e.all[e.begin[node]:e.begin[node+1]] }
