package schema

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Times are text in JSON and come back to the nanosecond.
func TestTimesInJSON(t *testing.T) {
	const at = 1_767_573_000_123_456_789
	checkJSON(t, Region{Metric: CreditStall, Links: []LinkID{1}, Size: 1, ID: 9, BirthNanos: at},
		`{"metric":"credit_stall","links":[1],"size":1,"mean":0,"max":0,"severity":"Neg","root":null,"id":9,"birth":"2026-01-05T00:30:00.123456789Z"}`)
	checkJSON(t, Region{Metric: CreditStall, Links: []LinkID{1}},
		`{"metric":"credit_stall","links":[1],"size":0,"mean":0,"max":0,"severity":"Neg","root":null}`)
	checkJSON(t, CongestionEvent{BeginNanos: at, EndNanos: at + 1, PeakMeanPercent: 30},
		`{"begin":"2026-01-05T00:30:00.123456789Z","end":"2026-01-05T00:30:00.12345679Z","peak_mean_percent":30}`)
	checkJSON(t, HotLink{InqStall, 7, at}, `{"metric":"inq_stall","link":7,"since":"2026-01-05T00:30:00.123456789Z"}`)
	checkJSON(t, Event{at, "f", LinkFailed, "sw1", "2", 3, "4", "e"},
		`{"time":"2026-01-05T00:30:00.123456789Z","fabric":"f","kind":"link_failed","device":"sw1","port":"2","region_id":3,"job_id":"4","detail":"e"}`)
}

// What no instant, severity or state of a network can be is an error, not the nearest one.
func TestRefusedJSON(t *testing.T) {
	for text, into := range map[string]any{
		`"1677-12-31T23:59:59Z"`: new(Instant), `"2262-01-01T00:00:00Z"`: new(Instant), `"2026-01-05"`: new(Instant), `"now"`: new(Instant),
		`"high"`: new(Severity), `""`: new(Severity), `"Severity(4)"`: new(Severity),
		`{"state":"Unknown"}`: new(NetworkForecast), `{"state":"Calm"}`: new(NetworkForecast), `{}`: new(NetworkForecast),
		`{"time":"now","kind":"link_failed"}`: new(Event),
	} {
		if err := json.Unmarshal([]byte(text), into); err == nil {
			t.Errorf("%s is decoded as %+v", text, into)
		}
	}
	if at := Instant(1); json.Unmarshal([]byte(`""`), &at) != nil || at != 0 {
		t.Errorf("no time is decoded as %v", at)
	}
	for _, at := range []Instant{0, 1, -1, 1_767_573_600_123_456_789, -9_214_560_000e9, 9_214_646_399e9} { // years 1678 and 2261
		checkJSON(t, struct{ At Instant }{at}, fmt.Sprintf(`{"At":"%s"}`, map[bool]string{false: at.String()}[at == 0]))
	}
	const odds = "[0,0,0,0,0]"
	for _, s := range Severities {
		checkJSON(t, s, `"`+s.String()+`"`)
		checkJSON(t, NetworkForecast{Severity: s}, `{"state":"`+s.String()+`","next":`+odds+`,"later":`+odds+`}`)
	}
	checkJSON(t, NetworkForecast{Severity: High, Unknown: &Unknown{Reason: KafkaAway, Since: 1e9}},
		`{"state":"Unknown","at_least":"High","unknown":{"reason":"kafka","since":"1970-01-01T00:00:01Z"},"next":`+odds+`,"later":`+odds+`}`)
}

// A root whose port is not known has a null link, not link 0 or NoLink.
func TestRootsInJSON(t *testing.T) {
	checkJSON(t, Root{Device: "leaf7", Port: "9", Peer: "host56", Kind: RootIncast, Link: 0}, `{"device":"leaf7","port":"9","peer":"host56","kind":"incast","link":0}`)
	checkJSON(t, Root{Device: "leaf7", Link: NoLink}, `{"device":"leaf7","port":null,"peer":null,"kind":null,"link":null}`)
}

// Roots in the forms that were stored before there was one form.
func TestOlderRootsInJSON(t *testing.T) {
	for text, want := range map[string]Root{
		`{"device":"leaf7","port":"","link":null}`:                             {Device: "leaf7", Link: NoLink},
		`{"device":"leaf7","port":"9","link":4}`:                               {Device: "leaf7", Port: "9", Link: 4},
		`{"device":"leaf7","port":"9","peer":"host56","kind":"slow_receiver"}`: {Device: "leaf7", Port: "9", Peer: "host56", Kind: RootSlowReceiver, Link: NoLink},
		`{"device":"4,4,4","port":"","peer":"","kind":"incast"}`:               {Device: "4,4,4", Kind: RootIncast, Link: NoLink},
	} {
		var got Root
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s: got %+v, %v; want %+v", text, got, err, want)
		}
	}
}

func checkJSON[T any](t *testing.T, v T, want string) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
	var back T
	if err := json.Unmarshal(text, &back); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(v, back); diff != "" {
		t.Error(diff)
	}
}
