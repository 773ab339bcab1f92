package flightrecorder

import (
	"fmt"
	"iter"
	"math/big"
	"strconv"
	"strings"
)

// decoder converts values into a Dump. A list that a pickle references many times is
// read each time, so budget bounds the work, in values and characters.
type decoder struct {
	budget int
	errs   []string
}

// maxWork allows every value of the largest pickle to be read with three digits.
const maxWork = 4 * maxValues

func (d *decoder) fault(format string, args ...any) {
	d.errs = append(d.errs, fmt.Sprintf(format, args...))
}

func decode(root *dict) (*Dump, error) {
	d := &decoder{budget: maxWork}
	out := &Dump{Version: text(root.at["version"]), Groups: map[string]Group{}, Status: map[int]Status{}, groupOf: map[int]string{}, descs: map[string]string{}}
	entries, ok := root.at["entries"].(*list)
	if !ok && root.at["pg_status"] == nil {
		return nil, fmt.Errorf("byte 0: neither entries nor pg_status: not a Flight Recorder dump")
	}
	d.groups(out, root)
	d.status(out, root)
	if entries != nil {
		for i, v := range entries.items {
			if len(d.errs) > 0 || d.budget < 0 {
				break
			}
			out.Entries = append(out.Entries, d.entry(out, i, v))
		}
	}
	switch {
	case d.budget < 0:
		return nil, fmt.Errorf("byte 0: more than %d values and characters in pg_config and entries", maxWork)
	case len(d.errs) > 0:
		return nil, fmt.Errorf("byte 0: %s", d.errs[0])
	}
	out.tidy()
	return out, nil
}

func (d *decoder) groups(out *Dump, root *dict) {
	config, _ := root.at["pg_config"].(*dict)
	if config == nil {
		return
	}
	for name, v := range config.at {
		g, ok := v.(*dict)
		if !ok {
			d.fault("pg_config %q: want a dict", name)
			return
		}
		ranks, err := d.ranksOf(g.at["ranks"])
		if err != nil {
			d.fault("pg_config %q: %v", name, err)
		}
		if d.budget < 0 {
			return
		}
		out.Groups[name] = Group{Desc: text(g.at["desc"]), Ranks: ranks}
	}
}

// ranksOf reads "[0, 1, 2]", or a list, within the budget.
func (d *decoder) ranksOf(v any) ([]int, error) {
	var fields iter.Seq[string]
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		fields = strings.FieldsFuncSeq(v, func(r rune) bool { return strings.ContainsRune("[](), ", r) })
	case *list:
		fields = func(yield func(string) bool) {
			for i := 0; i < len(v.items) && yield(text(v.items[i])); i++ {
			}
		}
	default:
		return nil, fmt.Errorf("ranks: want a list")
	}
	var ranks []int
	for f := range fields {
		if d.budget--; d.budget < 0 {
			return nil, nil
		}
		r, err := strconv.Atoi(f)
		if err != nil || r < 0 || r >= maxRanks || len(ranks) >= maxRanks {
			return nil, fmt.Errorf("ranks: %q is not a rank", f[:min(len(f), maxText)])
		}
		ranks = append(ranks, r)
	}
	return ranks, nil
}

// maxText bounds the excerpt of a dump in an error, in bytes.
const maxText = 60

func (d *decoder) status(out *Dump, root *dict) {
	status, _ := root.at["pg_status"].(*dict)
	if status == nil {
		return
	}
	out.hasStatus = true
	for key, v := range status.at {
		id, err := strconv.Atoi(key)
		s, ok := v.(*dict)
		if err != nil || !ok {
			d.fault("pg_status %q: want a dict under the group's number", key)
			return
		}
		progress := Status{number(s.at["last_enqueued_collective"], -1), number(s.at["last_started_collective"], -1), number(s.at["last_completed_collective"], -1)}
		if least, most := min(progress.Enqueued, progress.Started, progress.Completed), max(progress.Enqueued, progress.Started, progress.Completed); least < -1 || most > maxCount {
			d.fault("pg_status %q: collectives %d to %d: want -1 to %d", key, least, most, int64(maxCount))
			return
		}
		out.Status[id] = progress
	}
}

func (d *decoder) entry(dump *Dump, i int, v any) Entry {
	e, ok := v.(*dict)
	if !ok {
		d.fault("entry %d: want a dict", i)
		return Entry{}
	}
	d.budget -= len(e.at)
	out := Entry{
		RecordID: number(e.at["record_id"], number(e.at["id"], int64(i))), GroupID: int(number(e.at["pg_id"], 0)),
		Seq: number(e.at["collective_seq_id"], number(e.at["seq_id"], -1)), P2PSeq: number(e.at["p2p_seq_id"], 0),
		Op: text(e.at["profiling_name"]), CreatedNanos: number(e.at["time_created_ns"], 0),
		StartedNanos: number(e.at["time_discovered_started_ns"], 0), CompletedNanos: number(e.at["time_discovered_completed_ns"], 0),
		P2P: e.at["is_p2p"] == true,
	}
	switch group := e.at["process_group"].(type) {
	case *list:
		if len(group.items) > 0 {
			out.Group = text(group.items[0])
		}
		if len(group.items) > 1 {
			dump.descs[out.Group] = text(group.items[1])
		}
	case string:
		out.Group = group
	}
	switch state := text(e.at["state"]); {
	case state == "completed" || e.at["retired"] == true:
		out.State = Completed
	case state == "started":
		out.State = Started
	case state != "scheduled" && state != "":
		d.fault("entry %d: state %q: want scheduled, started or completed", i, state)
	}
	d.plausible(i, &out)
	out.Inputs = Tensors{d.print(e.at["input_dtypes"]), d.print(e.at["input_sizes"])}
	out.Outputs = Tensors{d.print(e.at["output_dtypes"]), d.print(e.at["output_sizes"])}
	return out
}

// Bounds of an entry's numbers: 30 years of one operation per microsecond, and the year
// 2100 in nanoseconds. They keep sums and differences within int64.
const (
	maxCount = 1_000_000_000_000_000
	maxNanos = 4_102_444_800_000_000_000
)

// plausible rejects numbers that no real job reaches.
func (d *decoder) plausible(i int, e *Entry) {
	for _, f := range []struct {
		name         string
		value        int64
		least, limit int64
	}{{"record_id", e.RecordID, 0, maxCount}, {"collective_seq_id", e.Seq, -1, maxCount}, {"p2p_seq_id", e.P2PSeq, -1, maxCount},
		{"time_created_ns", e.CreatedNanos, 0, maxNanos}, {"time_discovered_started_ns", e.StartedNanos, 0, maxNanos}, {"time_discovered_completed_ns", e.CompletedNanos, 0, maxNanos}} {
		if f.value < f.least || f.value > f.limit {
			d.fault("entry %d: %s %d: want %d to %d", i, f.name, f.value, f.least, f.limit)
		}
	}
}

// print formats the numbers and strings of nested lists.
func (d *decoder) print(v any) string {
	var b strings.Builder
	d.write(&b, v, 0)
	return b.String()
}

// write appends the numbers and strings of nested lists.
func (d *decoder) write(b *strings.Builder, v any, depth int) {
	if d.budget--; d.budget < 0 || depth > 4 {
		return
	}
	if l, ok := v.(*list); ok {
		b.WriteByte('[')
		for i, item := range l.items {
			if i > 0 {
				b.WriteByte(' ')
			}
			d.write(b, item, depth+1)
		}
		b.WriteByte(']')
		return
	}
	s := text(v)
	d.budget -= len(s)
	b.WriteString(s)
}

// text of a value; empty for containers.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case *big.Int:
		if v.BitLen() < 256 {
			return v.String()
		}
	}
	return ""
}

// number returns an integer value, or otherwise if it is none.
func number(v any, otherwise int64) int64 {
	if n, ok := v.(int64); ok {
		return n
	}
	return otherwise
}
