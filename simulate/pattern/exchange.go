package pattern

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/internal/csvfault"
)

// Exchange is how processes exchange a recorded, irregular list of puts, as in the
// paper's domain decomposition: each packs what it sends, all synchronise at a barrier,
// and each puts one piece per receiver and completes them.
type Exchange struct {
	Processes        int     // 0: the largest number in the list plus one
	PerNode          int     // processes per node; 0: 1
	PackNanosPerByte float64 // 0: no packing
	BarrierFirst     bool    // the barrier is before the packing, not after
	NoBarrier        bool
}

// Piece is what one process sends to another.
type Piece struct {
	From, To int
	Bytes    int64
}

// ReadPieces reads a list of puts: a header from,to,bytes and one line each.
func ReadPieces(r io.Reader, name string) ([]Piece, error) {
	reader := csvfault.NewReader(r)
	reader.Comment, reader.TrimLeadingSpace = '#', true
	header, err := reader.Read()
	switch {
	case errors.Is(err, io.EOF) || err == nil && strings.Join(header, ",") != "from,to,bytes":
		return nil, fmt.Errorf("%s: want a header from,to,bytes", name)
	case err != nil:
		return nil, located(name, err, reader, header)
	}
	var pieces []Piece
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, located(name, err, reader, row)
		}
		piece, err := parsePiece(row)
		if err != nil {
			line, _ := reader.FieldPos(0)
			return nil, fmt.Errorf("%s: line %d: %w", name, line, err)
		}
		pieces = append(pieces, piece)
	}
	return pieces, nil
}

func parsePiece(row []string) (Piece, error) {
	var ends [2]int
	for i, column := range []string{"from", "to"} {
		n, err := strconv.Atoi(row[i])
		if err != nil || n < 0 || n >= 1<<20 {
			return Piece{}, fmt.Errorf("%s %q: want a process, numbered from 0 to 2^20-1", column, row[i])
		}
		ends[i] = n
	}
	size, err := parseSize(row[2])
	return Piece{ends[0], ends[1], size}, err
}

// Program returns the processes' program for the pieces.
func (x Exchange) Program(name string, pieces []Piece) (*Program, error) {
	n := x.Processes
	for _, p := range pieces {
		if top := max(p.From, p.To) + 1; top > n {
			if x.Processes > 0 {
				return nil, fmt.Errorf("%s: a put from %d to %d among %d processes", name, p.From, p.To, n)
			}
			n = top
		}
	}
	if n == 0 {
		return nil, fmt.Errorf("%s: no puts", name)
	}
	lists := make([][]Call, n)
	each := func(calls func(id int) []Call) {
		for id := range lists {
			lists[id] = append(lists[id], calls(id)...)
		}
	}
	barrier := func(int) []Call { return []Call{{Op: Barrier}} }
	if x.BarrierFirst && !x.NoBarrier {
		each(barrier)
	}
	each(func(id int) []Call { return x.pack(id, pieces) })
	if !x.BarrierFirst && !x.NoBarrier {
		each(barrier)
	}
	for _, p := range pieces {
		lists[p.From] = append(lists[p.From], Call{Op: Put, Peer: p.To, Bytes: p.Bytes})
	}
	prog := &Program{Name: name}
	for id, calls := range lists {
		calls = append(calls, Call{Op: Complete, Tag: AnyTag})
		prog.Processes = append(prog.Processes, Process{ID: id, Node: nodeOf(id, x.PerNode), Meets: meets(calls), Start: list(calls).start})
	}
	return prog, nil
}

// pack returns the calls for gathering what a process sends.
func (x Exchange) pack(id int, pieces []Piece) []Call {
	bytes := int64(0)
	for _, p := range pieces {
		if p.From == id {
			bytes += p.Bytes
		}
	}
	if nanos := int64(float64(bytes) * x.PackNanosPerByte); nanos > 0 {
		return []Call{{Op: Compute, Bytes: nanos}}
	}
	return nil
}

func meets(calls []Call) bool {
	return slices.ContainsFunc(calls, func(c Call) bool { return c.Op == Barrier })
}
