package draw_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/draw"
)

// small is a step of each of two ranks, the second late.
func small() (collective.Run, collective.Diagnosis) {
	run := collective.Run{Ranks: []collective.Rank{{Node: "<a>"}, {Node: "b"}}, Steps: []collective.StepRecord{
		{Rank: 0, Peer: 1, Step: 1, BeginNanos: 1000, EndNanos: 2001, AwaitsStep: collective.None},
		{Rank: 1, Peer: 0, Step: 2, BeginNanos: 2501, EndNanos: 4000, AwaitsRank: 0, AwaitsStep: 1},
	}}
	return run, collective.Diagnose(run, collective.Options{})
}

func TestSVGIsXMLWithThePath(t *testing.T) {
	run, d := small()
	var out strings.Builder
	if err := draw.SVG(&out, run, d); err != nil {
		t.Fatal(err)
	}
	var titles []string
	for dec := xml.NewDecoder(strings.NewReader(out.String())); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "title" {
			var text string
			if err := dec.DecodeElement(&text, &e); err != nil {
				t.Fatal(err)
			}
			titles = append(titles, text)
		}
	}
	want := "rank 0 step 1, transfer, 0.001001 ms; rank 1 step 2, compute, 0.000500 ms; rank 1 step 2, transfer, 0.001499 ms"
	if got := strings.Join(titles, "; "); got != want {
		t.Errorf("segments %q, want %q", got, want)
	}
	var labels []string // of the axis: round numbers
	for _, part := range strings.Split(out.String(), " ms</text>\n")[1:] {
		labels = append(labels, part[strings.LastIndex(part, ">")+1:])
	}
	if got := strings.Join(labels, " "); !strings.HasPrefix(got, "0 0.0005 0.001 0.0015 ") {
		t.Errorf("the axis is labelled %s", got)
	}
}

func TestTraceHasEveryStepAndThePath(t *testing.T) {
	run, d := small()
	var out strings.Builder
	if err := draw.Trace(&out, run, d); err != nil {
		t.Fatal(err)
	}
	var trace struct {
		TraceEvents []struct {
			Name, Ph string
			Ts, Dur  float64
			Pid, Tid int
		}
	}
	if err := json.Unmarshal([]byte(out.String()), &trace); err != nil {
		t.Fatal(err)
	}
	transfers, path := 0, 0.0
	for _, e := range trace.TraceEvents {
		if e.Ph == "X" && e.Pid == 0 {
			transfers++
		} else if e.Ph == "X" {
			path += e.Dur
		}
	}
	if transfers != 2 || path != float64(d.MakespanNanos)/1e3 {
		t.Errorf("%d transfers, a path of %g us, makespan %d ns", transfers, path, d.MakespanNanos)
	}
}
