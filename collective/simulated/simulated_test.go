package simulated

import (
	"bytes"
	"fmt"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/network"
)

func sample() collective.Run {
	return collective.Run{
		Fabric:        &network.Fabric{Nodes: []network.Node{{Name: "0"}, {Name: "1"}, {Name: "2", Switch: true}}, Links: []network.Link{{A: 0, B: 2, APort: 1, BPort: 1, BitsPerSecond: 25e9, DelayNanos: 1000}}},
		Ranks:         []collective.Rank{{Node: "0", Host: 0}, {Node: "1", Host: 1}},
		Communicators: []collective.Communicator{{Name: "0", Members: []int{1, 0}, Operation: collective.AllReduce, Algorithm: collective.Ring, Steps: 2}},
		Steps:         []collective.StepRecord{{Step: 1, Rank: 0, Peer: 1, AwaitsRank: collective.None, Bytes: 10, BeginNanos: 1, EndNanos: 2, AloneNanos: 1}},
		Flows:         []collective.Flow{{Source: 0, Destination: 1, SourcePort: 10001, Bytes: 3}},
		Telemetry:     []collective.PortReport{{Record: 1, Switch: 2, Port: 1, Packets: 4, Flows: []collective.FlowReport{{Source: 0, Destination: 1, Packets: 4}}}},
		Paths:         []collective.Path{{Source: 0, Destination: 1, Ports: []network.Port{{Node: 0, Port: 1}}}},
		Pauses:        []collective.Pause{{TimeNanos: 5, Node: 2, Port: 1, Resume: true}},
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	run := sample()
	var b bytes.Buffer
	if err := Write(&b, &run); err != nil {
		t.Fatal(err)
	}
	again, err := Read(&b, "run.jsonl")
	if err != nil || !reflect.DeepEqual(run, again) {
		t.Errorf("%+v, %v, want %+v", again, err, run)
	}
}

func TestWhatIsNoRun(t *testing.T) {
	rank := `{"type":"rank","rank":{"Node":"0","Host":-1}}` + "\n"
	for text, want := range map[string]string{
		"":                         "run.jsonl:0: no rank",
		"\n{":                      "run.jsonl:2: ",
		`{"type":"rank"}`:          "run.jsonl:1: type \"rank\"",
		`{"type":"odd","rank":{}}`: "want node, link",
		rank + `{"type":"step","step":{"Rank":0,"Peer":7}}`:                                           "step 0 refers",
		rank + `{"type":"flow","flow":{"Source":-1}}`:                                                 "flow 0 refers",
		rank + `{"type":"port","port":{"Switch":4}}`:                                                  "port report 0 refers",
		rank + `{"type":"pause","pause":{"Node":4}}`:                                                  "pause 0 refers",
		`{"type":"node","node":{"Name":"x"}}` + "\n" + `{"type":"link","link":{"A":9}}` + "\n" + rank: "link 0 refers",
		`{"type":"node","node":{"Name":"x"}}` + "\n" + `{"type":"node","node":{"Name":"x"}}`:          "run.jsonl:2: node \"x\" is also on line 1",
		`{"type":"end","record":-1}`:                                                                  "record -1",
		rank + `{"type":"pause","pause":{}}` + "\n" + `{"type":"node","node":{"Name":"x"}}`:           "run.jsonl:3: a node after a pause: the lines are out of order",
		numbered(0) + `{"type":"rank","record":0,"rank":{"Node":"9","Host":-1}}`:                      "run.jsonl:2: record 0 contradicts line 1",
		numbered(0) + rank: "run.jsonl:2: a line without a record number",
		rank + numbered(0): "run.jsonl:2: a line with a record number",
		rank + `{"type":"communicator","communicator":{"Members":[4]}}`: "communicator 0 refers",
		`{"type":"rank","rank":{"Node":"0","Host":3}}`:                  "rank 0 refers",
	} {
		if _, err := Read(strings.NewReader(text), "run.jsonl"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// numbered is a rank's line.
func numbered(record int) string {
	return fmt.Sprintf(`{"type":"rank","record":%d,"rank":{"Node":"%d","Host":-1}}`+"\n", record, record)
}

// The lines of a file may come in any order and twice.
func TestLinesInAnyOrder(t *testing.T) {
	run := sample()
	var b bytes.Buffer
	if err := Write(&b, &run); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(b.String(), "\n")+"\n", "\n")
	lines = slices.Concat(lines[:len(lines)-1], lines[:len(lines)-1])
	for seed := range int64(20) {
		rand.New(rand.NewSource(seed)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		again, err := Read(strings.NewReader(strings.Join(lines, "")), "run.jsonl")
		if err != nil || !reflect.DeepEqual(run, again) {
			t.Fatalf("seed %d: %+v, %v, want %+v", seed, again, err, run)
		}
	}
}

// Missing records are noted, so that they are not mistaken for a standstill.
func TestMissingLines(t *testing.T) {
	run := sample()
	var b bytes.Buffer
	if err := Write(&b, &run); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(b.String(), "\n")
	for want, text := range map[string]string{
		"run.jsonl: the file is truncated: later records are missing": strings.Join(lines[:len(lines)-3], ""),
		"run.jsonl: 2 of 13 records are missing":                      strings.Join(slices.Concat(lines[:6], lines[8:]), ""),
	} {
		got, err := Read(strings.NewReader(text), "run.jsonl")
		if err != nil || !got.Cut || !slices.Equal(got.Notes, []string{want}) {
			t.Errorf("cut %v, notes %q, %v; want %q", got.Cut, got.Notes, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	run := sample()
	var b bytes.Buffer
	if err := Write(&b, &run); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := Read(bytes.NewReader(data), "run.jsonl")
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Write(&b, &run); err != nil {
			t.Fatal(err)
		}
		if again, err := Read(&b, "again"); err != nil || len(again.Steps) != len(run.Steps) {
			t.Fatalf("what was written is not read: %v", err)
		}
	})
}
