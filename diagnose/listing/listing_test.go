package listing

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/schema"
)

// verdictOf is a diagnosis of region 1 in an interval of one second.
func verdictOf(second int64, severity schema.Severity, mean float64, class schema.CauseClass) schema.Diagnosis {
	return schema.Diagnosis{Time: schema.Instant(second * 1e9), Region: 1, Severity: severity, Mean: mean, Cause: schema.Cause{Class: class, Confidence: .9}}
}

func withFailure(d schema.Diagnosis, port string) schema.Diagnosis {
	d.Failures = []schema.NearFailure{{Kind: schema.LinkFailed, Device: "leaf3", Port: port}}
	return d
}

func textOf(t *testing.T, found ...schema.Diagnosis) string {
	t.Helper()
	var b bytes.Buffer
	w := New(&b, false, 0)
	for i := range found {
		if err := w.Write(found[i:i+1], nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(func(io.Writer) {}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTextNamesTheNextCable: another cable to replace is a different verdict.
func TestTextNamesTheNextCable(t *testing.T) {
	text := textOf(t,
		withFailure(verdictOf(1, schema.High, 50, schema.CauseFailure), "9"),
		withFailure(verdictOf(2, schema.High, 50, schema.CauseFailure), "9"),
		withFailure(verdictOf(3, schema.High, 50, schema.CauseFailure), "10"))
	if n := strings.Count(text, "cause: failure"); n != 2 {
		t.Errorf("%d paragraphs, want one for each cable:\n%s", n, text)
	}
}

// TestOneVerdictIsOneParagraph: regions of an interval with the same verdict share the paragraph of the worst;
// regions without an accused do not.
func TestOneVerdictIsOneParagraph(t *testing.T) {
	of := func(region uint64, class schema.CauseClass, links int) schema.Diagnosis {
		d := verdictOf(1, schema.High, 30, class)
		d.Region, d.Links = region, make([]schema.LinkID, links)
		if class != schema.CauseUnknown {
			d.Jobs = []schema.AccusedJob{{JobID: "17"}}
		}
		return d
	}
	found := []schema.Diagnosis{of(1, schema.CauseSystem, 20), of(2, schema.CauseSystem, 90), of(3, schema.CauseUnknown, 5), of(4, schema.CauseUnknown, 5)}
	text := ""
	for _, c := range []struct {
		names      map[uint64]string
		paragraphs int
	}{{nil, 4}, {map[uint64]string{1: "leaf1", 2: "leaf2", 3: "leaf3", 4: "leaf4"}, 3}} { // a line without a name would have no location
		var b bytes.Buffer
		w := New(&b, false, 0)
		if err := w.Write(found, c.names); err != nil {
			t.Fatal(err)
		}
		if text = b.String(); strings.Count(text, "\n\n") != c.paragraphs {
			t.Errorf("want %d paragraphs:\n%s", c.paragraphs, text)
		}
	}
	if want := "region 2 (leaf2): High"; strings.Index(text, want) > strings.Index(text, "region 1 (leaf1): High") || !strings.Contains(text, want) {
		t.Errorf("the worst region is not first:\n%s", text)
	}
}

// TestBothEndsOfAPauseAreOneLine: the pauses sent by one end of links and received by the other are one incident.
func TestBothEndsOfAPauseAreOneLine(t *testing.T) {
	sent, received := verdictOf(1, schema.High, 30, schema.CauseSystem), verdictOf(1, schema.High, 31, schema.CauseSystem)
	sent.Region, sent.Metric, received.Metric = 2, schema.PauseTx, schema.PauseRx
	for _, d := range []*schema.Diagnosis{&sent, &received} {
		d.Jobs, d.Links = []schema.AccusedJob{{JobID: "17"}}, make([]schema.LinkID, 3)
	}
	var b bytes.Buffer
	w := New(&b, false, 0)
	if err := w.Write([]schema.Diagnosis{sent, received}, map[uint64]string{1: "incast at leaf1", 2: "incast at leaf1"}); err != nil {
		t.Fatal(err)
	}
	if want := "region 1 (incast at leaf1): High, pause_rx of 31.0% over 3 links; by pause_tx region 2\n  cause: load of jobs, confidence 90%"; !strings.Contains(b.String(), want) || strings.Contains(b.String(), "same verdict") {
		t.Errorf("want %q:\n%s", want, b.String())
	}
}

// TestTableSaysWhatWasWorst: a row has the verdict at the severity shown, and names the accused.
func TestTableSaysWhatWasWorst(t *testing.T) {
	calm := verdictOf(0, schema.Low, 10, schema.CauseIntraApplication)
	calm.Jobs = []schema.AccusedJob{{JobID: "17"}}
	slow := verdictOf(9, schema.High, 30, schema.CauseSlowHost)
	slow.Root = &schema.Root{Device: "leaf2", Port: "2", Peer: "host17"}
	for _, c := range []struct {
		name string
		of   []schema.Diagnosis
		want []string
	}{
		{"a failure within a job's congestion", []schema.Diagnosis{calm, withFailure(verdictOf(1, schema.High, 47, schema.CauseFailure), "9"), calm, calm}, []string{"High", "47.0", "failure", "leaf3 port 9"}},
		{"a job alone", []schema.Diagnosis{calm}, []string{"Low", "10.0", "a job congests itself", "job 17"}},
		{"a slow host", []schema.Diagnosis{slow}, []string{"High", "slow host", "host17"}},
	} {
		lines := strings.Split(strings.TrimSpace(textOf(t, c.of...)), "\n")
		for _, want := range c.want {
			if row := lines[len(lines)-1]; !strings.Contains(row, want) {
				t.Errorf("%s: no %q in the row %q", c.name, want, row)
			}
		}
	}
}

// TestNamesDoNotReachTheTerminal: in an InfiniBand fabric any host sets its own description, which names devices and regions.
func TestNamesDoNotReachTheTerminal(t *testing.T) {
	const name = "leaf\x1b[31m\u202e"
	var b bytes.Buffer
	w := New(&b, false, 0)
	d := verdictOf(1, schema.High, 50, schema.CauseSlowHost)
	d.Root = &schema.Root{Device: name, Port: name, Peer: name, Kind: schema.RootSlowReceiver}
	if err := w.Write([]schema.Diagnosis{d, d}, map[uint64]string{1: name}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(func(io.Writer) {}); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\u202e") || !strings.Contains(b.String(), "leaf?[31m?") {
		t.Errorf("%q", b.String())
	}
}

// TestTheTableHasTheEndOfARegion: a region ends with its last interval, and has a date if that is another day.
func TestTheTableHasTheEndOfARegion(t *testing.T) {
	for _, c := range []struct {
		first, last int64
		want        string
	}{{0, 120, "1970-01-01 00:00:00  00:03:00 "}, {0, 86400 - 120, "1970-01-01 00:00:00  23:59:00 "}, {86400 - 60, 3 * 86400, "1970-01-01 23:59:00  1970-01-04 00:01:00 "}} {
		var b bytes.Buffer
		w := New(&b, false, time.Minute)
		for _, second := range []int64{c.first, c.last} {
			if err := w.Write([]schema.Diagnosis{verdictOf(second, schema.High, 50, schema.CauseUnknown)}, nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(func(io.Writer) {}); err != nil || !strings.Contains(b.String(), c.want) {
			t.Errorf("want %q, %v:\n%s", c.want, err, b.String())
		}
	}
}
