package simulated

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
)

// endType is the type of the line that says that nothing is missing after it.
const endType = "end"

// counted are the types whose lines other lines refer to by their place.
var counted = []string{"node", "rank", "communicator"}

// sequence brings the lines of a file into the order in which they were written, and knows which are missing. Ranks and
// nodes are numbered by that order. Files of earlier versions have no record numbers: their lines count in the order in
// which they stand.
type sequence struct {
	all  []placed
	seen map[int]origin // by record
	seed maphash.Seed
	end  int            // record of the end line, -1 where there is none
	last string         // type of the last line without a number that refers to others
	node map[string]int // line of a node without a number, by name
}

// placed is a line, its place in the run, and its number in the file.
type placed struct {
	line   line
	record int
	number int
}

// origin is where a record was first seen, and its content.
type origin struct {
	number  int
	content uint64
}

func newSequence() *sequence {
	return &sequence{seen: map[int]origin{}, seed: maphash.MakeSeed(), end: -1, node: map[string]int{}}
}

// take takes a line in. One that stands there twice counts once.
func (s *sequence) take(l *line, number int, text []byte) error {
	if l.Record == nil {
		if len(s.seen) > 0 {
			return errors.New("a line without a record number among lines that have one")
		}
		return s.append(l, number)
	}
	if len(s.seen) == 0 && len(s.all) > 0 {
		return errors.New("a line with a record number among lines that have none")
	}
	if *l.Record < 0 {
		return fmt.Errorf("record %d: numbers begin at 0", *l.Record)
	}
	record, own := *l.Record, origin{number, maphash.Bytes(s.seed, text)}
	if first, ok := s.seen[record]; ok {
		if first.content != own.content {
			return fmt.Errorf("record %d contradicts line %d", record, first.number)
		}
		return nil
	}
	s.seen[record] = own
	if l.Type == endType {
		s.end = record
		return nil
	}
	s.all = append(s.all, placed{*l, record, number})
	return nil
}

// append takes in a line without a number. Where lines are out of order, or nodes doubled, what ranks and nodes they mean is
// not known: such a file is refused. Two ranks may be on one host, so that doubled ones are not seen.
func (s *sequence) append(l *line, number int) error {
	if !slices.Contains(counted, l.Type) {
		s.last = l.Type
	} else if s.last != "" && s.last != "link" {
		return fmt.Errorf("a %s after a %s: the lines are out of order", l.Type, s.last)
	}
	if l.Node != nil {
		if first, ok := s.node[l.Node.Name]; ok {
			return fmt.Errorf("node %q stands in line %d too", l.Node.Name, first)
		}
		s.node[l.Node.Name] = number
	}
	s.all = append(s.all, placed{*l, len(s.all), number})
	return nil
}

// inOrder lists the lines as they were written.
func (s *sequence) inOrder() []placed {
	slices.SortStableFunc(s.all, func(a, b placed) int { return cmp.Compare(a.record, b.record) })
	return s.all
}

// missing says which records the file lacks; empty where it lacks none, or has no numbers.
func (s *sequence) missing() string {
	if len(s.seen) == 0 {
		return ""
	}
	if s.end < 0 {
		return "the file has no end: later records are missing"
	}
	if lacks := s.end + 1 - len(s.seen); lacks > 0 {
		return fmt.Sprintf("%d of %d records are missing", lacks, s.end+1)
	}
	return ""
}
