package search

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// ParseKnown reads known MFS: a sequence of JSON objects or a list of them, each an MFS
// or a line of a report ("anomaly", "known", "revised", "summary"). In a restricted
// space they are intersected with it, and dropped if nothing is left. MFS that were
// found in a restricted space ("within") are known only there.
func (s *Space) ParseKnown(text []byte) ([]*MFS, error) {
	full := s
	if s.full != nil {
		full = s.full
	}
	k := known{space: full}
	in := json.NewDecoder(bytes.NewReader(text))
	for n := 1; ; n++ {
		var raw json.RawMessage
		err := in.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("known: entry %d: %w", n, err)
		}
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			list = []json.RawMessage{raw}
		}
		for _, entry := range list {
			if err := k.add(entry); err != nil {
				return nil, fmt.Errorf("known: entry %d: %w", n, err)
			}
		}
	}
	var cut []*MFS
	for _, f := range k.list {
		if f == nil {
			continue
		}
		if own := s.cut(f); own != nil {
			cut = append(cut, own)
		}
	}
	return cut, nil
}

// known is the state of reading known MFS; withdrawn ones are nil.
type known struct {
	space *Space
	list  []*MFS
	at    map[int]int  // experiment of an anomaly -> its index in list
	limit map[int]*MFS // index in list -> the limits it was found within
}

// knownLine is a line of a report.
type knownLine struct {
	Type       string          `json:"type"`
	Experiment int             `json:"experiment"`
	Of         int             `json:"of"`
	Symptom    string          `json:"symptom"`
	MFS        json.RawMessage `json:"mfs"`
	Within     json.RawMessage `json:"within"`
}

// readKnown reads a line of giverny search run or list ID --json, or a bare MFS, which
// is converted to an anomaly line.
func readKnown(entry json.RawMessage) (line knownLine, err error) {
	err = json.Unmarshal(entry, &line)
	if err == nil && line.Type == "" && line.Symptom != "" { // from giverny search list ID --json
		line.Type = "anomaly"
	}
	if err != nil || line.Type == "" { // a dimension's condition is not a string
		var conditions map[string]json.RawMessage
		if json.Unmarshal(entry, &conditions) == nil && len(conditions) == 0 { // allowed in a report, but here a mistake
			return line, fmt.Errorf("%.40s has no condition and would match every workload; delete it", entry)
		}
		line.Type, line.MFS, line.Within = "anomaly", entry, nil
	}
	if line.Type == "known" {
		line.Type = "anomaly"
	}
	if line.Type == "anomaly" && (len(line.MFS) == 0 || string(line.MFS) == "null") {
		return line, errors.New("an anomaly without its mfs; give the line as giverny search run --json printed it")
	}
	return line, nil
}

func (k *known) add(entry json.RawMessage) error {
	line, err := readKnown(entry)
	if err != nil {
		return err
	}
	switch line.Type {
	case "anomaly":
		return k.addAnomaly(&line)
	case "revised":
		return k.revise(&line)
	case "summary":
		return nil
	}
	return fmt.Errorf("type %q: want anomaly, revised or summary", line.Type)
}

func (k *known) addAnomaly(line *knownLine) error {
	f, err := k.space.ParseMFS(line.MFS)
	if err != nil {
		return err
	}
	if k.at == nil {
		k.at, k.limit = map[int]int{}, map[int]*MFS{}
	}
	if len(line.Within) > 0 {
		limits, err := k.space.ParseMFS(line.Within)
		if err != nil {
			return fmt.Errorf("within: %w", err)
		}
		k.limit[len(k.list)] = limits
		if f, err = f.confined(limits); err != nil {
			return err
		}
	}
	k.at[line.Experiment] = len(k.list)
	k.list = append(k.list, f)
	return nil
}

// revise replaces or withdraws an anomaly's MFS.
func (k *known) revise(line *knownLine) (err error) {
	var f *MFS
	if string(line.MFS) != "null" {
		if f, err = k.space.ParseMFS(line.MFS); err != nil {
			return err
		}
	}
	i, ok := k.at[line.Of]
	if !ok {
		return fmt.Errorf("it revises the anomaly of experiment %d, which does not exist", line.Of)
	}
	if limits := k.limit[i]; limits != nil && f != nil {
		if f, err = f.confined(limits); err != nil {
			return err
		}
	}
	k.list[i] = f
	return nil
}

// cut restricts an MFS of the unrestricted space to this one; nil: no workload of this
// space meets it.
func (s *Space) cut(f *MFS) *MFS {
	if f.space == s {
		return f
	}
	own := newMFS(s)
	for i := range f.conds {
		if f.conds[i].free {
			continue
		}
		from, d := &f.space.dims[i], &s.dims[i]
		c := condition{span: from.cutSpan(d, f.conds[i].span)}
		for _, v := range f.conds[i].in {
			if k := d.find(from.Values[v]); k >= 0 {
				c.in = append(c.in, k)
			}
		}
		for _, a := range f.conds[i].any {
			c.any = append(c.any, from.cutSpan(d, a))
		}
		if !d.possible(&c) {
			return nil
		}
		c.free = d.everything(&c)
		own.conds[i] = c
	}
	if f.within != nil {
		own.within = s.cut(f.within)
	}
	return own
}

// cutSpan maps a span to the remaining values; lo > hi: none.
func (d *Dimension) cutSpan(left *Dimension, s span) span {
	out := span{len(left.Values), -1}
	for i := s.lo; i <= s.hi; i++ {
		if k := left.find(d.Values[i]); k >= 0 {
			out = span{min(out.lo, k), max(out.hi, k)}
		}
	}
	return out
}

// possible reports whether any value meets a condition.
func (d *Dimension) possible(c *condition) bool {
	if !d.hasOrder() {
		return len(c.in) > 0
	}
	return c.span.lo <= c.span.hi && len(c.any) <= max(1, d.MaxLength) &&
		!slices.ContainsFunc(c.any, func(a span) bool { return max(a.lo, c.span.lo) > min(a.hi, c.span.hi) })
}

// everything reports whether all values meet a condition.
func (d *Dimension) everything(c *condition) bool {
	if !d.hasOrder() {
		return len(c.in) == len(d.Values)
	}
	all := span{0, len(d.Values) - 1}
	return c.span == all && !slices.ContainsFunc(c.any, func(a span) bool { return a != all })
}

// Change is a change of one dimension that takes a workload out of an MFS.
type Change struct {
	Dimension string  `json:"dimension"`
	To        []Value `json:"to"` // the nearest value; several for the messages of a pattern
}

// Changes lists the single changes that take a workload out of an MFS: for each
// dimension that matters, the nearest value outside that the engine lists.
func (f *MFS) Changes(w Workload) (changes []Change) {
	for _, i := range f.dimensions() {
		d := &f.space.dims[i]
		if at := f.exit(i, w.point[i]); at != nil {
			c := Change{Dimension: d.Name}
			for _, k := range at {
				c.To = append(c.To, d.Values[k])
			}
			changes = append(changes, c)
		}
	}
	return changes
}

// exit returns the coordinate nearest to at that does not meet the condition.
func (f *MFS) exit(dim int, at []int) []int {
	d := &f.space.dims[dim]
	var best []int
	distance := func(a []int) (sum int) {
		for k, i := range a {
			sum += max(i-at[k], at[k]-i)
		}
		return sum
	}
	try := func(a []int) {
		for k, i := range a {
			if i != at[k] && !f.space.lists(dim, i) {
				return
			}
		}
		if f.within != nil && !f.within.meets(dim, a) { // not searched: it may trigger the anomaly too
			return
		}
		if !f.meets(dim, a) && (best == nil || distance(a) < distance(best)) {
			best = a
		}
	}
	for k := range at {
		for i := range d.Values {
			a := slices.Clone(at)
			a[k] = i
			try(a)
		}
	}
	if best == nil { // several messages must change
		for i := range d.Values {
			a := slices.Clone(at)
			for k := range a {
				if slices.ContainsFunc(f.conds[dim].any, func(s span) bool { return s.holds(a[k]) }) {
					a[k] = i
				}
			}
			try(a)
		}
	}
	return best
}

// String lists the conditions for display.
func (f *MFS) String() string {
	var parts []string
	for _, i := range f.dimensions() {
		c, d := &f.conds[i], &f.space.dims[i]
		switch {
		case d.Pattern:
			if c.span != (span{0, len(d.Values) - 1}) {
				parts = append(parts, "all "+d.Name+" "+d.words(c.span))
			}
			for _, a := range c.any {
				parts = append(parts, "some "+d.Name+" "+d.words(a))
			}
		case d.Ordered:
			parts = append(parts, d.Name+" "+d.words(c.span))
		default:
			var values []string
			for _, k := range c.in {
				values = append(values, d.Values[k].String())
			}
			parts = append(parts, d.Name+" "+strings.Join(values, " or "))
		}
	}
	if len(parts) == 0 {
		return "every workload"
	}
	return strings.Join(parts, ", ")
}

func (d *Dimension) words(s span) string {
	last := len(d.Values) - 1
	switch {
	case s.lo == s.hi:
		return d.Values[s.lo].String()
	case s.lo > 0 && s.hi < last:
		return d.Values[s.lo].String() + " to " + d.Values[s.hi].String()
	case s.lo > 0:
		return d.Values[s.lo].String() + " or more"
	case s.hi < last:
		return d.Values[s.hi].String() + " or less"
	}
	return "any"
}
