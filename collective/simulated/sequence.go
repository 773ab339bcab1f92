package simulated

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
)

// endType is the type of the last line, which proves that the file is complete.
const endType = "end"

// counted are the types whose lines are referred to by position.
var counted = []string{"node", "rank", "communicator"}

// sequence restores the order in which the lines of a file were written, and knows
// which are missing. Ranks and nodes are numbered in that order. Files of earlier
// versions have no record numbers: their lines keep the order of the file.
type sequence struct {
	all  []placed
	seen map[int]origin // by record number
	seed maphash.Seed
	end  int            // record number of the end line; -1: none
	last string         // type of the last unnumbered line that refers to others
	node map[string]int // line number of an unnumbered node, by name
}

// placed is a line with its record number and its line number in the file.
type placed struct {
	line   line
	record int
	number int
}

// origin is where a record first appeared, and a hash of its content.
type origin struct {
	number  int
	content uint64
}

func newSequence() *sequence {
	return &sequence{seen: map[int]origin{}, seed: maphash.MakeSeed(), end: -1, node: map[string]int{}}
}

// take adds a line. Duplicates count once.
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

// append adds an unnumbered line. If lines are out of order or nodes duplicated,
// references to ranks and nodes are ambiguous, so the file is refused. Duplicate ranks
// go unnoticed, since two ranks may be on one host.
func (s *sequence) append(l *line, number int) error {
	if !slices.Contains(counted, l.Type) {
		s.last = l.Type
	} else if s.last != "" && s.last != "link" {
		return fmt.Errorf("a %s after a %s: the lines are out of order", l.Type, s.last)
	}
	if l.Node != nil {
		if first, ok := s.node[l.Node.Name]; ok {
			return fmt.Errorf("node %q is also on line %d", l.Node.Name, first)
		}
		s.node[l.Node.Name] = number
	}
	s.all = append(s.all, placed{*l, len(s.all), number})
	return nil
}

// inOrder returns the lines in the order in which they were written.
func (s *sequence) inOrder() []placed {
	slices.SortStableFunc(s.all, func(a, b placed) int { return cmp.Compare(a.record, b.record) })
	return s.all
}

// missing says which records the file lacks; empty if none, or if they are unnumbered.
func (s *sequence) missing() string {
	if len(s.seen) == 0 {
		return ""
	}
	if s.end < 0 {
		return "the file is truncated: later records are missing"
	}
	if lacks := s.end + 1 - len(s.seen); lacks > 0 {
		return fmt.Sprintf("%d of %d records are missing", lacks, s.end+1)
	}
	return ""
}
