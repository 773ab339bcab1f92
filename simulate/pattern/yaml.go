package pattern

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/giverny/giverny/internal/yamldoc"
)

// maxCalls bounds the calls that a file may expand to.
const maxCalls = 1 << 24

// file is a pattern file.
type file struct {
	Name      string  `yaml:"name"`
	Processes int     `yaml:"processes"`
	PerNode   int     `yaml:"per-node"`
	Pattern   string  `yaml:"pattern"`
	Programs  []block `yaml:"programs"`
}

// block is what some processes do.
type block struct {
	On    string `yaml:"on"`
	Calls []step `yaml:"calls"`
}

// step is one call, or a repetition of several.
type step struct {
	call  Call
	peer  string
	times int
	body  []step
}

// ReadYAML reads a pattern file, for a fabric with nodes nodes:
//
//	name: figure 1
//	processes: 2
//	per-node: 1
//	programs:
//	  - on: 0                     # a process, a range 0-3, or all
//	    calls:
//	      - compute: 100000       # ns
//	      - put: {to: 1, bytes: 4, tag: 0}
//	      - complete: 0           # a tag, or all
//	  - on: 1
//	    calls:
//	      - poll: 0
//
// Puts and gets also take a class. Further calls are get: {from, bytes, tag}, barrier, and repeat: {times, calls}. A
// peer is a process, or relative to the caller: +1 and -2 around the ring of all processes, ^4 with that bit of the
// number flipped. Instead of programs, pattern: may name a built-in pattern.
func ReadYAML(r io.Reader, name string, nodes int) (*Program, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var f file
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("empty; want processes and programs, or a pattern")
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if err := yamldoc.End(dec, "give each program a file"); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	f.Name = cmp.Or(f.Name, name)
	if f.Pattern != "" {
		if len(f.Programs) > 0 || f.Processes != 0 || f.PerNode != 0 {
			return nil, fmt.Errorf("%s: a pattern cannot be combined with programs; put processes and per-node into it", name)
		}
		p, err := Builtin(f.Pattern, nodes)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		p.Name = f.Name
		return p, nil
	}
	p, err := f.program()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

func (f *file) program() (*Program, error) {
	if f.Processes < 1 || f.Processes > 1<<20 || f.PerNode < 0 {
		return nil, fmt.Errorf("processes: %d, per-node: %d: want 1 to 2^20 processes", f.Processes, f.PerNode)
	}
	lists := make(map[int][]Call, f.Processes)
	budget := maxCalls
	for i, b := range f.Programs {
		first, last, err := b.processes(f.Processes)
		for id := first; err == nil && id <= last; id++ {
			lists[id], err = expand(lists[id], b.Calls, id, f.Processes, &budget)
		}
		if err != nil {
			return nil, fmt.Errorf("programs[%d]: %w", i, err)
		}
	}
	if err := checkLists(lists); err != nil {
		return nil, err
	}
	p := &Program{Name: f.Name}
	for id := range f.Processes {
		p.Processes = append(p.Processes, Process{ID: id, Node: nodeOf(id, f.PerNode), Meets: meets(lists[id]), Start: list(lists[id]).start})
	}
	return p, nil
}

// processes is the range of processes of a block.
func (b *block) processes(n int) (first, last int, err error) {
	if b.On == "all" {
		return 0, n - 1, nil
	}
	from, to, isRange := strings.Cut(b.On, "-")
	first, err = strconv.Atoi(from)
	if last = first; isRange && err == nil {
		last, err = strconv.Atoi(to)
	}
	if err != nil || first < 0 || last < first || last >= n {
		return 0, 0, fmt.Errorf("on: %q: want all, a process or a range such as 0-3, of %d processes", b.On, n)
	}
	return first, last, nil
}

// expand appends the calls of the steps for process id.
func expand(calls []Call, steps []step, id, n int, budget *int) ([]Call, error) {
	for _, s := range steps {
		if s.body != nil {
			for range s.times {
				var err error
				if calls, err = expand(calls, s.body, id, n, budget); err != nil {
					return nil, err
				}
			}
			continue
		}
		if *budget--; *budget < 0 {
			return nil, fmt.Errorf("more than %d calls", maxCalls)
		}
		c := s.call
		if s.peer != "" {
			var err error
			if c.Peer, err = resolve(s.peer, id, n); err != nil {
				return nil, err
			}
		}
		c.Row = len(calls)
		calls = append(calls, c)
	}
	return calls, nil
}

// resolve returns the process that a peer refers to, relative to process id.
func resolve(peer string, id, n int) (int, error) {
	number := strings.TrimLeft(peer, "+^")
	k, err := strconv.Atoi(number)
	if err != nil || len(peer)-len(number) > 1 || k < -1<<30 || k > 1<<30 {
		return 0, fmt.Errorf("peer %q: want a process, +N, -N or ^N", peer)
	}
	at := k
	switch peer[0] {
	case '+', '-':
		at = ((id+k)%n + n) % n
	case '^':
		at = id ^ k
	}
	if at < 0 || at >= n {
		return 0, fmt.Errorf("peer %q of process %d is %d, which is not one of the %d processes", peer, id, at, n)
	}
	return at, nil
}

// UnmarshalYAML parses a step: a word, or a mapping with one key.
func (s *step) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode && node.Value == "barrier" {
		s.call.Op = Barrier
		return nil
	}
	if node.Kind != yaml.MappingNode || len(node.Content) != 2 {
		return fmt.Errorf("line %d: want barrier, or a mapping of one of put, get, poll, complete, compute and repeat", node.Line)
	}
	if err := s.read(node.Content[0].Value, node.Content[1]); err != nil {
		return fmt.Errorf("line %d: %w", node.Line, err)
	}
	return nil
}

func (s *step) read(word string, value *yaml.Node) error {
	switch word {
	case "put":
		return s.readTransfer(Put, "to", value)
	case "get":
		return s.readTransfer(Get, "from", value)
	case "poll":
		s.call.Op = Poll
		return value.Decode(&s.call.Tag)
	case "complete":
		s.call.Op = Complete
		if value.Value == "all" {
			s.call.Tag = AnyTag
			return nil
		}
		return value.Decode(&s.call.Tag)
	case "compute":
		s.call.Op = Compute
		if err := value.Decode(&s.call.Bytes); err != nil || s.call.Bytes < 0 {
			return fmt.Errorf("compute: %q: want ns, 0 or more", value.Value)
		}
		return nil
	case "repeat":
		var r struct {
			Times int    `yaml:"times"`
			Calls []step `yaml:"calls"`
		}
		if err := value.Decode(&r); err != nil {
			return err
		}
		if r.Times < 1 || r.Times > maxCalls || len(r.Calls) == 0 {
			return fmt.Errorf("repeat: times %d of %d calls: want at least 1 of 1", r.Times, len(r.Calls))
		}
		s.times, s.body = r.Times, r.Calls
		return nil
	}
	return fmt.Errorf("call %q%s", word, suggestion(word, []string{"put", "get", "poll", "complete", "compute", "repeat", "barrier"}))
}

func (s *step) readTransfer(op Op, peerKey string, value *yaml.Node) error {
	var fields map[string]string
	if err := value.Decode(&fields); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	s.call.Op = op
	for key, text := range fields {
		var err error
		switch key {
		case peerKey:
			s.peer = text
		case "bytes":
			s.call.Bytes, err = parseSize(text)
		case "tag":
			s.call.Tag, err = strconv.Atoi(text)
		case "class":
			s.call.Class, err = strconv.Atoi(text)
		default:
			err = fmt.Errorf("key %q%s", key, suggestion(key, []string{peerKey, "bytes", "tag", "class"}))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", op, err)
		}
	}
	if s.peer == "" {
		return fmt.Errorf("%s: %s is missing", op, peerKey)
	}
	return nil
}
