package window_test

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/ingest/window"
	"github.com/giverny/giverny/internal/test/script"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

// TestScripts runs testdata/*.txt. A script is a list of commands, each with the
// lines that it needs, followed by ---- and the expected output:
//
//	new TOPOLOGY [interval=60s] [lateness=30s] [eventlateness=30s] [gap=3] [cover=0.5] [ahead=8] [jump=1000] [skew=120s] [tick=0]
//	graph TOPOLOGY              another version of the graph
//	add [agent=a] [source=s] [epoch=0] [number=0] [fabric=f] COUNTER...
//	TIME DEVICE/PORT READING... one row; a reading of - is absent
//	advance TIME
//
// The output is the snapshots that closed, with the values by link, the drops
// that were added, and what was lost. # starts a comment.
func TestScripts(t *testing.T) { script.Run(t, "testdata/*.txt", runScript) }

// runScript returns the script with the actual output.
func runScript(t *testing.T, text string) string {
	var out strings.Builder
	var m machine
	var command []string
	expected := false // within expected output
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := lines.Text()
		text, _, _ := strings.Cut(line, "#")
		text = strings.TrimSpace(text)
		switch {
		case line == "----":
			out.WriteString(line + "\n" + m.run(t, command))
			command, expected = nil, true
		case expected && line != "":
		default:
			expected = false
			out.WriteString(line + "\n")
			if text != "" {
				command = append(command, text)
			}
		}
	}
	if len(command) > 0 {
		t.Fatalf("command %q is not followed by ----", command)
	}
	return out.String()
}

// machine runs the commands of one script.
type machine struct {
	graph *topology.Graph
	w     *window.Window
	drops map[string]uint64
}

func (m *machine) run(t *testing.T, command []string) string {
	words := strings.Fields(command[0])
	switch words[0] {
	case "new", "graph":
		g := topologytest.Parse(t, "f", words[1])
		m.graph = g
		var err error
		if words[0] == "graph" {
			err = m.w.SetGraph(g)
		} else {
			m.w, err = window.New(g, configOf(t, words[2:]))
			m.drops = nil
		}
		if err != nil {
			return "error: " + err.Error() + "\n"
		}
	case "add":
		if err := m.w.Add(batchOf(t, words[1:], command[1:])); err != nil {
			return "error: " + err.Error() + "\n"
		}
	case "advance":
		now := nanosOf(t, words[1])
		m.w.Advance(now, now)
	default:
		t.Fatalf("command %q: unknown", command[0])
	}
	return m.news()
}

// news returns the output since the last call.
func (m *machine) news() string {
	var out strings.Builder
	for s := m.w.Next(); s != nil; s = m.w.Next() {
		out.WriteString(m.describe(s))
		m.w.Recycle(s)
	}
	drops := m.w.Drops()
	for _, r := range window.Reasons() {
		if n := drops[r.String()] - m.drops[r.String()]; n > 0 {
			fmt.Fprintf(&out, "dropped %s: %d\n", r, n)
		}
	}
	m.drops = drops
	if l := m.w.TakeLost(); l.Rows > 0 {
		fmt.Fprintf(&out, "lost: %d rows of %s to %s, out of order by %s\n", l.Rows, time.Duration(l.FirstNanos), time.Duration(l.LastNanos), time.Duration(l.SlackNanos))
	}
	if names := m.w.Mismatches(); len(names) > 0 {
		known, unknown := m.w.Ports()
		fmt.Fprintf(&out, "%d ports known, %d not: %s\n", known, unknown, strings.Join(names, " "))
	}
	return out.String()
}

func (m *machine) describe(s *schema.Snapshot) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%s to %s: %d readings", time.Duration(s.Interval.StartNanos), time.Duration(s.Interval.EndNanos()), s.Samples)
	if s.Samples > 0 {
		fmt.Fprintf(&out, " of %s to %s", time.Duration(s.FirstReadNanos), time.Duration(s.LastReadNanos))
	}
	for _, series := range s.Series {
		fmt.Fprintf(&out, "\n  %s", series.Metric)
		valid := 0
		for id, v := range series.Values {
			if series.Valid.Has(id) {
				valid++
				l := m.graph.Link(schema.LinkID(id))
				fmt.Fprintf(&out, " %s/%s=%.6g", m.graph.Device(l.From).Name, l.FromPort, v)
			}
		}
		if valid != series.Count {
			fmt.Fprintf(&out, " BUT COUNT %d", series.Count)
		}
		if valid == 0 {
			out.WriteString(" none")
		}
	}
	out.WriteString("\n")
	return out.String()
}

func configOf(t *testing.T, words []string) window.Config {
	cfg := window.DefaultConfig()
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		number := func() int {
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		switch key {
		case "interval":
			cfg.Interval = time.Duration(nanosOf(t, value))
		case "lateness":
			cfg.ClockLateness = time.Duration(nanosOf(t, value))
			cfg.EventTimeLateness = cfg.ClockLateness
		case "eventlateness":
			cfg.EventTimeLateness = time.Duration(nanosOf(t, value))
		case "skew":
			cfg.MaxSkew = time.Duration(nanosOf(t, value))
		case "gap":
			cfg.MaxGapIntervals = number()
		case "ahead":
			cfg.MaxAheadIntervals = number()
		case "jump":
			cfg.MaxJumpIntervals = number()
		case "tick":
			cfg.TickPicoseconds = int64(number())
		case "tickbytes":
			cfg.TickBytes = number()
		case "cover":
			cfg.MinCoverOfInterval = float64(number()) / 100
		case "metrics":
			for _, name := range strings.Split(value, ",") {
				metric, err := schema.ParseMetric(name)
				if err != nil {
					t.Fatal(err)
				}
				cfg.Metrics = append(cfg.Metrics, metric)
			}
		default:
			t.Fatalf("setting %q: unknown", word)
		}
	}
	if cfg.EventTimeLateness == 0 { // a round after the interval's end closes it
		cfg.EventTimeLateness = cfg.Interval / 2
	}
	return cfg
}

func batchOf(t *testing.T, words, rows []string) *schema.CounterBatch {
	b := &schema.CounterBatch{Fabric: "f", Agent: "a", Source: "s"}
	for _, word := range words {
		key, value, set := strings.Cut(word, "=")
		switch {
		case !set:
			b.Columns = append(b.Columns, schema.CounterColumn{Name: word, Valid: schema.NewBitmap(len(rows))})
		case key == "agent":
			b.Agent = value
		case key == "source":
			b.Source = value
		case key == "fabric":
			b.Fabric = value
		case key == "epoch":
			b.Epoch = readingOf(t, value)
		case key == "number":
			b.Sequence = readingOf(t, value)
		default:
			t.Fatalf("setting %q: unknown", word)
		}
	}
	for r, row := range rows {
		fields := strings.Fields(row)
		device, port, _ := strings.Cut(fields[1], "/")
		b.TimeNanos = append(b.TimeNanos, nanosOf(t, fields[0]))
		name := schema.PortName{Device: device, Port: port}
		at := slices.Index(b.Ports, name)
		if at < 0 {
			at = len(b.Ports)
			b.Ports = append(b.Ports, name)
		}
		b.PortIndex = append(b.PortIndex, uint32(at))
		for c := range b.Columns {
			value := uint64(0)
			if fields[2+c] != "-" {
				value = readingOf(t, fields[2+c])
				b.Columns[c].Valid.Set(r)
			}
			b.Columns[c].Values = append(b.Columns[c].Values, value)
		}
	}
	return b
}

func readingOf(t *testing.T, text string) uint64 {
	n, err := strconv.ParseUint(strings.ReplaceAll(text, "_", ""), 0, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func nanosOf(t *testing.T, text string) int64 {
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d.Nanoseconds()
}
