package pattern

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/internal/csvfault"
)

var columns = []string{"process", "node", "op", "peer", "bytes", "tag"}

// row is one line of a table of calls.
type row struct {
	process, node int
	call          Call
}

// ReadCalls reads a table of calls: a header with process, node, op, peer, bytes and
// tag in any order, then a line per call, in program order for each process. Empty
// fields are 0; an empty tag of a complete means everything that the process has
// posted. The bytes of a compute are ns. Lines that begin with # are comments. A
// process that only occurs as a peer is on the node with its number.
func ReadCalls(r io.Reader, name string) (*Program, error) {
	reader := csvfault.NewReader(r)
	reader.Comment, reader.TrimLeadingSpace, reader.FieldsPerRecord = '#', true, -1
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: empty; want a header %s", name, strings.Join(columns, ","))
	}
	if err != nil {
		return nil, located(name, err, reader, header)
	}
	at, err := columnPlaces(header)
	if err != nil {
		return nil, fmt.Errorf("%s: header: %w", name, err)
	}
	var rows []row
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, located(name, err, reader, record)
		}
		parsed, err := parseRow(record, at)
		if err != nil {
			line, _ := reader.FieldPos(0)
			return nil, fmt.Errorf("%s: line %d: %w", name, line, err)
		}
		parsed.call.Row = len(rows)
		rows = append(rows, parsed)
	}
	return assemble(rows, name)
}

// located adds file and line to a CSV error.
func located(name string, err error, reader *csvfault.Reader, record []string) error {
	line, fault := csvfault.Explain(err, reader, record)
	if line == 0 {
		return fmt.Errorf("%s: %w", name, fault)
	}
	return fmt.Errorf("%s: line %d: %w", name, line, fault)
}

func columnPlaces(header []string) ([]int, error) {
	at := make([]int, len(columns))
	for i := range at {
		at[i] = -1
	}
	for i, h := range header {
		h = strings.ToLower(strings.TrimSpace(strings.TrimPrefix(h, "\ufeff")))
		c := slices.Index(columns, h)
		switch {
		case c < 0:
			return nil, fmt.Errorf("column %.60q%s", h, suggestion(h, columns))
		case at[c] >= 0:
			return nil, fmt.Errorf("column %q is duplicated", h)
		}
		at[c] = i
	}
	for c, i := range at {
		if i < 0 && columns[c] != "tag" {
			return nil, fmt.Errorf("column %q is missing; want %s", columns[c], strings.Join(columns, ","))
		}
	}
	return at, nil
}

func parseRow(record []string, at []int) (row, error) {
	field := func(c int) string {
		if i := at[c]; i >= 0 && i < len(record) {
			return strings.TrimSpace(record[i])
		}
		return ""
	}
	if len(record) > len(columns) {
		return row{}, fmt.Errorf("%d fields, want at most %d", len(record), len(columns))
	}
	var errs []error
	number := func(c int, empty int64) int64 {
		if field(c) == "" {
			return empty
		}
		n, err := strconv.ParseInt(field(c), 10, 64)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %q: want a whole number", columns[c], field(c)))
		}
		return n
	}
	op, err := parseOp(field(2))
	errs = append(errs, err)
	noTag := int64(0)
	if op == Complete {
		noTag = AnyTag
	}
	r := row{process: int(number(0, -1)), node: int(number(1, -1)),
		call: Call{Op: op, Peer: int(number(3, 0)), Bytes: number(4, 0), Tag: int(number(5, noTag))}}
	switch {
	case r.process < 0 || r.node < 0:
		errs = append(errs, errors.New("process and node: want 0 or more"))
	case r.call.Bytes < 0:
		errs = append(errs, fmt.Errorf("bytes %d: want 0 or more", r.call.Bytes))
	case (op == Put || op == Get) && (r.call.Peer < 0 || field(3) == ""):
		errs = append(errs, fmt.Errorf("peer of a %s: want a process, 0 or more", op))
	}
	return r, errors.Join(errs...)
}

// assemble collects each process' rows, and places peers without any.
func assemble(rows []row, name string) (*Program, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("%s: no calls", name)
	}
	p := &Program{Name: name, rows: true}
	lists := map[int][]Call{}
	node := map[int]int{}
	for _, r := range rows {
		if n, known := node[r.process]; known && n != r.node {
			return nil, fmt.Errorf("%s: process %d is on node %d and on node %d", name, r.process, n, r.node)
		}
		node[r.process] = r.node
		lists[r.process] = append(lists[r.process], r.call)
	}
	for _, r := range rows {
		if _, known := node[r.call.Peer]; !known && (r.call.Op == Put || r.call.Op == Get) {
			node[r.call.Peer] = r.call.Peer
		}
	}
	if err := checkLists(lists); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, id := range slices.Sorted(maps.Keys(node)) {
		p.Processes = append(p.Processes, Process{ID: id, Node: node[id], Meets: meets(lists[id]), Start: list(lists[id]).start})
	}
	return p, nil
}

// checkLists finds programs that would wait forever: it checks that what barriers,
// completes and polls wait for exists.
func checkLists(lists map[int][]Call) error {
	var errs []error
	barriers, example := -1, 0
	puts := map[[2]int]int{} // by target process and tag
	for _, calls := range lists {
		for _, c := range calls {
			if c.Op == Put {
				puts[[2]int{c.Peer, c.Tag}]++
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(lists)) {
		met := 0
		posted := map[int]int{}
		for _, c := range lists[id] {
			switch c.Op {
			case Barrier:
				met++
			case Put, Get:
				posted[c.Tag]++
			case Complete:
				if posted[c.Tag]--; posted[c.Tag] < 0 && c.Tag != AnyTag {
					errs = append(errs, fmt.Errorf("process %d: complete of tag %d (call %d) has no put or get before it", id, c.Tag, c.Row))
				}
			case Poll:
				if puts[[2]int{id, c.Tag}]--; puts[[2]int{id, c.Tag}] < 0 {
					errs = append(errs, fmt.Errorf("process %d: poll of tag %d (call %d) has no put to wait for", id, c.Tag, c.Row))
				}
			}
		}
		if met > 0 && barriers >= 0 && met != barriers {
			errs = append(errs, fmt.Errorf("process %d meets %d barriers, process %d meets %d", id, met, example, barriers))
		}
		if met > 0 {
			barriers, example = met, id
		}
	}
	return firstOf(errs)
}
