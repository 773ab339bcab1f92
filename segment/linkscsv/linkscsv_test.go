package linkscsv_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkscsv"
	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

func graph(t testing.TB, spec string) *topology.Graph {
	t.Helper()
	return topologytest.Parse(t, "test", spec)
}

// read collects the intervals of a table up to an error.
func read(name string, r io.Reader, g *topology.Graph) (snaps []*schema.Snapshot, err error) {
	for snap, err := range linkscsv.Intervals(name, r, g, func(string) {}) {
		if err != nil {
			return snaps, err
		}
		snaps = append(snaps, snap)
	}
	return snaps, nil
}

func TestRead(t *testing.T) {
	g := graph(t, "torus:4x5x6")
	for name, text := range map[string]string{
		"by number":     "link,credit,inq\n0,1.5,\n7,nan,20\n359,0,3\n",
		"by coordinate": "x,y,z,inq_stall,credit_stall\n0.5,0,0,,1.5\n2,0.5,0,20,inf\n3,4,5.5,3,0\n",
		"with comments": "# from Prometheus\nlink,credit,inq\n0,1.5,\n# a gap\n7,nan,20\n359,0,3\n",
		"carelessly":    "\ufeffLink , Credit,INQ\r\n 359,0, 3\r\n7,,20\r\n0, 1.5 , \r\n",
	} {
		snaps, err := read("night.csv", strings.NewReader(text), g)
		if err != nil || len(snaps) != 1 || snaps[0].Interval != (schema.Interval{}) {
			t.Errorf("%s: %d intervals, %v", name, len(snaps), err)
			continue
		}
		snap := snaps[0]
		credit, inq := snap.Find(schema.CreditStall), snap.Find(schema.InqStall)
		if credit.Count != 2 || !credit.Valid.Has(0) || credit.Values[0] != 1.5 || !credit.Valid.Has(359) || credit.Values[359] != 0 {
			t.Errorf("%s: credit stall was read wrong", name)
		}
		if inq.Count != 2 || inq.Values[7] != 20 || inq.Values[359] != 3 || inq.Valid.Has(0) {
			t.Errorf("%s: inq stall was read wrong", name)
		}
		if snap.Links != 360 || snap.GraphVersion != g.Version() || snap.Samples != 4 {
			t.Errorf("%s: snapshot of %d links, %d samples", name, snap.Links, snap.Samples)
		}
	}
}

func TestReadByPort(t *testing.T) {
	g := graph(t, "fattree:leaves=2,hosts=2,spines=1")
	for id := range g.NumLinks() {
		key := g.PortKey(schema.LinkID(id))
		snaps, err := read("night.csv", strings.NewReader(fmt.Sprintf("Time,Port,Device,xmit_wait\n1767571200.5,%s,%s,40\n", key.Port, key.Device)), g)
		if err != nil || len(snaps) != 1 {
			t.Fatalf("%v: %d intervals, %v", key, len(snaps), err)
		}
		s := snaps[0].Find(schema.XmitWait)
		if s.Count != 1 || !s.Valid.Has(id) || s.Values[id] != 40 {
			t.Errorf("%v: the value is not at link %d", key, id)
		}
		if got := schema.Instant(snaps[0].Interval.StartNanos).String(); got != "2026-01-05T00:00:00.5Z" {
			t.Errorf("the interval begins at %s", got)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	torus, tree := graph(t, "torus:4x4x4"), graph(t, "fattree:k=4")
	mesh := graph(t, "mesh:4x4")
	for _, c := range []struct {
		g          *topology.Graph
		text, want string
	}{
		{torus, "", "empty"},
		{torus, "credit\n1\n", "identify the link"},
		{torus, "link\n1\n", "no metric"},
		{torus, "device,credit\n", "want both"},
		{torus, "link,device,port,credit\n", "more than one"},
		{torus, "device,port,x,y,z,credit\n", "more than one"},
		{tree, "device,port,credit\nnobody,1,1\n", `line 2: device "nobody": the fabric has none of this name; its devices are named like`},
		{tree, "device,port,credit\nhost0,9,1\n", `port "9" of "host0": no link leaves it; ports of this device are named like "1"`},
		{tree, "device,port,credit\nhost0,1,1\nhost0,1,2\n", "line 3: link 8 has a row already"},
		{torus, "time,link,credit\n20260105,1,1\n", "seconds since 1970, from 1000000000 (2001)"},
		{torus, "time,link,credit\n1767571200000,1,1\n", "not milliseconds"},
		{torus, "time,link,credit\n,1,1\n", "column time: it is empty"},
		{torus, "time,link,credit\n2026-01-05 00:30:00,1,1\n", "want RFC 3339"},
		{torus, "link,x,y,z,credit\n", "more than one"},
		{torus, "x,y,credit\n", "3 dimensions"},
		{torus, "link,credit,credit_stall\n", "two columns"},
		{torus, "link,credit,credit\n", "duplicated"},
		{torus, "link,speed\n", ", header: column \"speed\" is neither"},
		{torus, "link;credit\n", "separate columns by commas"},
		{torus, "\xff\xfel\x00i\x00n\x00k\x00\n\x00", "not UTF-8"},
		{tree, "x,y,z,credit\n", "torus"},
		{torus, "link,credit\n192,1\n", "line 2: link"},
		{torus, "link,credit\n-1,1\n", "line 2: link"},
		{torus, "link,credit\n1,1\n1,2\n", "line 3: link 1 has a row already; delete"},
		{torus, "link,credit\n1,high\n", "not a number"},
		{torus, "link,credit\n1\n", "line 2: 1 field where the header has 2; complete the row"},
		{torus, "link,\"credit\n1,1\n", "line 1: a quoted field does not end with a quotation mark"},
		{torus, "x,y,z,credit\n0,0,0,1\n", "a switch"},
		{torus, "x,y,z,credit\n0.5,0.5,0,1\n", "two coordinates"},
		{torus, "x,y,z,credit\n0.25,0,0,1\n", "multiple of 0.5"},
		{torus, "x,y,z,credit\n4.5,0,0,1\n", "less than 4"},
		{torus, "x,y,z,credit\nnan,0,0,1\n", "multiple of 0.5"},
		{mesh, "x,y,credit\n3.5,0,1\n", "edge of the mesh"},
		{torus, "time,link,credit\nsoon,1,1\n", `line 2: column time: time "soon": want RFC 3339`},
		{torus, "time,link,credit\n,1,1\n", "line 2: column time: it is empty"},
		{torus, "time,link,credit\n2026-01-05T00:01:00Z,1,1\n2026-01-05T00:00:00Z,1,1\n", "line 3: time 2026-01-05T00:00:00Z comes after 2026-01-05T00:01:00Z"},
		{torus, "time,link,credit\n2026-01-05T00:01:00Z,1,1\n2026-01-05T01:01:00+01:00,1,1\n", "line 3: link 1 has a row"},
	} {
		_, err := read("night.csv", strings.NewReader(c.text), c.g)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "night.csv: links table") {
			t.Errorf("%q: error %v, want one with %q", c.text, err, c.want)
		}
	}
}

const threeIntervals = `time,link,credit,inq
2026-01-05T00:00:00Z,0,1.5,
2026-01-05T00:00:00Z,7,,200
2026-01-05T00:01:00Z,7,3,4
2026-01-05T01:05:00+01:00,0,9,
`

// compress writes text by a compressor.
func compress(t *testing.T, w io.WriteCloser, into *bytes.Buffer, text string) string {
	t.Helper()
	_, err := io.WriteString(w, text)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return into.String()
}

func TestIntervals(t *testing.T) {
	g := graph(t, "torus:4x5x6")
	var zipped, zstandard bytes.Buffer
	encoder, err := zstd.NewWriter(&zstandard)
	if err != nil {
		t.Fatal(err)
	}
	gz := compress(t, gzip.NewWriter(&zipped), &zipped, threeIntervals)
	zst := compress(t, encoder, &zstandard, threeIntervals)
	for name, text := range map[string]string{"a.csv": threeIntervals, "a.csv.gz": gz, "a.csv.zst": zst, "renamed.csv": gz, "/dev/stdin": zst} {
		snaps, err := read(name, strings.NewReader(text), g)
		if err != nil || len(snaps) != 3 {
			t.Fatalf("%s: %d intervals, %v", name, len(snaps), err)
		}
		begin := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
		for i, want := range []struct {
			minutes, credit, inq int
		}{{0, 1, 1}, {1, 1, 1}, {5, 1, 0}} {
			s := snaps[i]
			if s.Interval.StartNanos != begin.Add(time.Duration(want.minutes)*time.Minute).UnixNano() || s.Find(schema.CreditStall).Count != want.credit || s.Find(schema.InqStall).Count != want.inq {
				t.Errorf("%s: interval %d is %s with %d and %d values", name, i, s.Interval, s.Find(schema.CreditStall).Count, s.Find(schema.InqStall).Count)
			}
		}
		if snaps[1].Find(schema.CreditStall).Values[7] != 3 || snaps[2].Find(schema.CreditStall).Valid.Has(7) {
			t.Errorf("%s: values of one interval are in another", name)
		}
	}
	if snaps, err := read("cut.csv.gz", strings.NewReader(gz[:len(gz)-9]), g); err == nil || !strings.HasPrefix(err.Error(), "cut.csv.gz: links table") {
		t.Errorf("cut short: %d intervals, %v", len(snaps), err)
	}
	if snaps, err := read("empty.csv", strings.NewReader("time,link,credit\n"), g); err != nil || len(snaps) != 0 {
		t.Errorf("a header alone: %d intervals, %v", len(snaps), err)
	}
	for range linkscsv.Intervals("a.csv", strings.NewReader(threeIntervals), g, func(string) {}) {
		break // a consumer may stop early
	}
}

// Values out of range are reported once, with their treatment; bandwidths are not clipped.
func TestOutOfRange(t *testing.T) {
	text := "time,link,credit,bandwidth_used\n2026-01-05T00:00:00Z,0,-1,101\n2026-01-05T00:00:00Z,23,101,-inf\n2026-01-05T00:01:00Z,0,NaN,100\n2026-01-05T00:01:00Z,23,1e99,\n"
	var got, reports []string
	for snap, err := range linkscsv.Intervals("a.csv", strings.NewReader(text), graph(t, "torus:2x2x2"), func(line string) { reports = append(reports, line) }) {
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range snap.Series {
			for i, v := range s.Values {
				if s.Valid.Has(i) {
					got = append(got, fmt.Sprint(s.Metric, " ", i, " ", v))
				}
			}
		}
	}
	if want := []string{"credit_stall 23 100", "bandwidth_used 0 101", "bandwidth_used 0 100"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if want := []string{"a.csv: values out of range: below 0 or not finite, taken as missing: 4; stalls above 100 %, taken as 100 %: 1"}; !slices.Equal(reports, want) {
		t.Errorf("got %q, want %q", reports, want)
	}
}

// A complete table of a smaller fabric is detected, even if some rows are missing; a table that omits links anywhere is not.
func TestOfASmallerFabric(t *testing.T) {
	var byNumber, holed, sparse, byCoordinate, last strings.Builder
	for _, b := range []*strings.Builder{&byNumber, &holed, &sparse, &last} {
		b.WriteString("link,credit\n")
	}
	byCoordinate.WriteString("x,y,z,credit\n")
	random := rand.New(rand.NewPCG(1, 2))
	for id := range 192 { // all of torus:4x4x4
		fmt.Fprintf(&byNumber, "%d,1\n", id)
		if random.Float64() < 0.7 {
			fmt.Fprintf(&holed, "%d,1\n", id)
		}
		at := []float64{float64(id / 3 % 4), float64(id / 12 % 4), float64(id / 48)}
		at[id%3] += 0.5
		fmt.Fprintf(&byCoordinate, "%g,%g,%g,1\n", at[0], at[1], at[2])
	}
	for id := range 647 { // all but one of torus:6x6x6, and a tenth of it
		fmt.Fprintf(&last, "%d,1\n", id)
		if id%10 == 0 {
			fmt.Fprintf(&sparse, "%d,1\n", id)
		}
	}
	for name, c := range map[string]struct{ text, want string }{
		"by number":     {byNumber.String(), "a.csv: rows of 192 links, all of them with numbers up to 191; the topology has 648 links"},
		"with holes":    {holed.String(), "all of them with numbers up to 191; the topology has 648 links"},
		"by coordinate": {byCoordinate.String(), "a.csv: rows of 192 links, all of them with x up to 3, y up to 3, z up to 3; the topology has 648 links"},
		"one left out":  {last.String(), ""},
		"sparse":        {sparse.String(), ""},
	} {
		var reports []string
		for _, err := range linkscsv.Intervals("a.csv", strings.NewReader(c.text), graph(t, "torus:6x6x6"), func(line string) { reports = append(reports, line) }) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(reports, "; "); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: reported %q, want %q", name, got, c.want)
		}
	}
}

// Metrics can be given by their full and their short names.
func TestNamesOfMetrics(t *testing.T) {
	names := map[string]schema.Metric{"credit": schema.CreditStall, "inq": schema.InqStall}
	for m := range schema.NumMetrics {
		if m := schema.Metric(m); m.IsStall() {
			names[m.String()] = m
		}
	}
	for name, m := range names {
		snaps, err := read("a.csv", strings.NewReader("link,"+name+"\n0,7\n"), graph(t, "torus:2x2x2"))
		if err != nil || snaps[0].Find(m) == nil {
			t.Errorf("%s as %q: %v", m, name, err)
		}
	}
}

// The last row is checked like the others, even if it has its own interval and no line end.
func TestLastRowIsChecked(t *testing.T) {
	for _, text := range []string{"link,credit\n0,1\n24,2", "time,link,credit\n2026-01-05T00:00:00Z,0,1\n2026-01-05T00:01:00Z,24,1"} {
		_, err := read("a.csv", strings.NewReader(text), graph(t, "torus:2x2x2"))
		if err == nil || !strings.Contains(err.Error(), `line 3: link "24": want a number from 0 to`) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzIntervals(f *testing.F) {
	g := topologytest.Parse(f, "test", "torus:3x3x3")
	f.Add("link,credit,inq\n0,1.5,\n7,nan,200\n")
	f.Add("x,y,z,inq_stall\n0.5,0,0,1e99\n")
	f.Add(threeIntervals)
	f.Fuzz(func(t *testing.T, text string) {
		last := int64(math.MinInt64)
		for snap, err := range linkscsv.Intervals("a.csv", strings.NewReader(text), g, func(string) {}) {
			if err != nil {
				return
			}
			if snap.Interval.StartNanos <= last {
				t.Fatalf("interval %s after %d", snap.Interval, last)
			}
			last = snap.Interval.StartNanos
			for _, s := range snap.Series {
				for i, v := range s.Values {
					if s.Valid.Has(i) && !(v >= 0 && v <= math.MaxFloat32) {
						t.Fatalf("link %d of %s is %v and said to be measured", i, s.Metric, v)
					}
				}
			}
		}
	})
}
