package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"strings"
	"testing"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/report"
)

func conditions(t *testing.T, mfs string) (c map[string]search.Condition) {
	t.Helper()
	if err := json.Unmarshal([]byte(mfs), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSentences(t *testing.T) {
	seen := search.Measurement{Status: search.OK, TxPausePercent: []float64{0, 8.123}, Directions: []search.Direction{{Gbps: 181, Mpps: 22.1}, {Gbps: 95.24, Mpps: 11.6}}}
	for mfs, want := range map[string]string{
		`{"direction":{"in":["bi"]},"transport":{"in":["RC_WRITE"]},"wqe_batch":{"min":64},"qps":{"min":320},"sizes":{"any":[{"max":1024},{"min":65536}]}}`: "bidirectional RC WRITE with a batch of 64 or more, 320 or more QPs and a mix of short (1024 or less) and long (65536 or more) messages: pause 8.12%",
		`{"direction":{"in":["loopback"]}}`:               "loopback traffic: pause 8.12%",
		`{"memory_a":{"in":["local","gpu_near"]}}`:        "traffic with memory a local or gpu_near: pause 8.12%",
		`{"wqe_batch":{"max":1}}`:                         "traffic with a batch of 1: pause 8.12%",
		`{"mtu":{"min":2048,"max":2048},"sge":{"max":4}}`: "traffic with an MTU of 2048 and 4 or less scatter-gather entries: pause 8.12%",
		`{"sizes":{"all":{"min":2048,"max":8192}}}`:       "traffic with all messages of 2048 to 8192: pause 8.12%",
		`{"sizes":{"any":[{"min":65536}]}}`:               "traffic with some messages of 65536 or more: pause 8.12%",
		`{}`:                                              "any traffic: pause 8.12%",
	} {
		if got := report.Sentence(conditions(t, mfs), search.Pause, seen); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", mfs, got, want)
		}
	}
	if got, want := report.Sentence(nil, search.Throughput, seen), "any traffic: throughput 95.2 Gb/s and 11.6 million packets a second"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got, want := report.Sentence(nil, search.Pause, search.Measurement{}), "any traffic: pause"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	for mfs, want := range map[string]string{`{"qps":{"min":320}}`: "traffic with 320 or more QPs: pause", `[1]`: "pause where [1]"} {
		if got := report.SentenceOf(json.RawMessage(mfs), "pause"); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", mfs, got, want)
		}
	}
}

// An engine's text is never markup, and the page loads nothing.
func TestPageIsEscapedAndWhole(t *testing.T) {
	const evil = `</code><script>alert("x")</script>&`
	d := search.Description{Name: evil, LineRateGbps: 200, MessageRateMpps: 200}
	mfs := `{"` + `</code><script>alert(\"x\")</script>&` + `":{"in":["</code><script>alert(\"x\")</script>&"]}}`
	var page bytes.Buffer
	err := report.Write(&page, report.Search{Title: evil, Description: d, Algorithm: search.Lift,
		Measurements: []search.Measurement{
			{Status: search.Invalid},
			{Status: search.OK, Seconds: 3600, Directions: []search.Direction{{Gbps: 100, Mpps: 10}}, TxPausePercent: []float64{5}},
			{Status: search.SetupFailed, Seconds: 1800},
			{Status: search.OK, Seconds: 1800, Directions: []search.Direction{{Gbps: 150, Mpps: 10}}, TxPausePercent: []float64{0}}},
		Findings: [][]byte{
			[]byte(`{"type":"anomaly","experiment":1,"seconds":3600,"symptom":"pause","workload":{"x":"</code><script>"},"mfs":` + mfs + `}`),
			[]byte(`{"type":"anomaly","experiment":3,"seconds":7200,"symptom":"pause","workload":{},"mfs":{"qps":{"min":64}}}`),
			[]byte(`{"type":"revised","experiment":3,"of":3,"mfs":null}`)}})
	if err != nil {
		t.Fatal(err)
	}
	text := page.String()
	for _, not := range []string{"<script", "src=", "href=", "@import", "url("} {
		if strings.Contains(text, not) {
			t.Errorf("the page has %q", not)
		}
	}
	for _, want := range []string{"<dd>3, of which 1 failed; 1 workloads were invalid</dd>", "<dd>2.0 h</dd>", "<dd>1, and 1 withdrawn</dd>",
		"pause 5%", `<td class="n">1.0 h</td>`, "<h2>Withdrawn</h2>", "64 or more QPs"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(text, "<circle"); n != 3 {
		t.Errorf("%d dots; want 2 of throughput and 1 of pause", n)
	}
	for _, svg := range strings.SplitAfter(text, "</svg>") {
		if _, drawing, ok := strings.Cut(svg, "<svg"); ok {
			wellFormed(t, "<svg"+drawing)
		}
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Errorf("%v in %.300s", err, text)
			return
		}
	}
}

// For a search without stored measurements, the sums are shown.
func TestPageOfSums(t *testing.T) {
	var page bytes.Buffer
	err := report.Write(&page, report.Search{Title: "MT4129", Sums: report.Sums{Experiments: 120, Failed: 2, Hours: 1.5},
		Findings: [][]byte{[]byte(`{"type":"anomaly","experiment":9,"symptom":"pause","workload":{},"mfs":{"qps":{"min":64}}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<dd>120, of which 2 failed; measurements are not kept</dd>", "<dd>1.5 h</dd>", "traffic with 64 or more QPs: pause"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// A finding that contradicts the others is an error.
func TestPageOfNonsense(t *testing.T) {
	for line, says := range map[string]string{
		`{"type":"revised","experiment":3,"of":1,"mfs":null}`:       "finding 1 revises the anomaly of experiment 1, which does not exist",
		`{"type":"anomaly","experiment":3,"mfs":{"qps":7}}`:         "finding 1: mfs: ",
		`{"type":"anomaly","experiment":"three","mfs":{"qps":{}}}x`: "finding 1: ",
	} {
		err := report.Write(&bytes.Buffer{}, report.Search{Findings: [][]byte{[]byte(line)}})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v; want %q", line, err, says)
		}
	}
}
