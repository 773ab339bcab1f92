package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/schema"
)

// newRecord returns an empty record of commands that keeps them for a minute after their expiry.
func newRecord(t *testing.T) *memory {
	t.Helper()
	m, damaged, err := openMemory(filepath.Join(t.TempDir(), "state", "commands.json"), time.Minute, 1)
	if damaged != nil || err != nil {
		t.Fatal(damaged, err)
	}
	return m
}

// A command is forgotten once it is not running, cannot be read again, and does not count towards the hour; then
// none from before its expiry is accepted.
func TestWhatTheRecordForgets(t *testing.T) {
	const second = schema.Instant(time.Second)
	const expired = 100_000 * second
	for name, c := range map[string]struct {
		entry remembered
		now   schema.Instant
		gone  bool
	}{
		"past its time":                {remembered{}, expired + 61*second, true},
		"to be kept until now":         {remembered{}, expired + 60*second, false},
		"started an hour ago":          {remembered{Started: expired - second}, expired + 3599*second, false},
		"started more than that ago":   {remembered{Started: expired - second}, expired + 3600*second, true},
		"not answered":                 {remembered{Answer: &schema.CommandResult{}}, expired + 86400*second, false},
		"not answered for a day":       {remembered{Answer: &schema.CommandResult{}}, expired + 86401*second, true},
		"running, however long it has": {remembered{Running: true}, 10 * expired, false},
	} {
		m := newRecord(t)
		c.entry.ID, c.entry.Expires = "old", expired
		if err := m.add(c.entry, expired-second); err != nil {
			t.Fatal(err)
		}
		m.forget(c.now)
		since := schema.Instant(1)
		if c.gone {
			since = expired
		}
		if m.knows("old") == c.gone || m.content.Since != since {
			t.Errorf("%s: known %v, complete since %v", name, m.knows("old"), m.content.Since)
		}
	}
}

// A full record takes no more commands; neither does one that cannot be written, and it then knows nothing of them.
func TestCommandsThatCannotBeRecorded(t *testing.T) {
	m := newRecord(t)
	for i := range maxRemembered - 1 {
		m.content.Commands = append(m.content.Commands, &remembered{ID: fmt.Sprint(i), Running: true})
	}
	if err := m.add(remembered{ID: "last"}, 1); err != nil {
		t.Errorf("the last one that it holds: %v", err)
	}
	if err := m.add(remembered{ID: "next"}, 1); !errors.Is(err, errMemoryFull) || m.knows("next") {
		t.Errorf("one more: %v, known %v", err, m.knows("next"))
	}
	again, damaged, err := openMemory(m.path, time.Minute, 1)
	if damaged != nil || err != nil || len(again.content.Commands) != maxRemembered {
		t.Fatalf("a full record does not come back: %v, %v", damaged, err)
	}
	m = newRecord(t)
	if err := m.add(remembered{ID: "first"}, 1); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(m.path)); err != nil {
		t.Fatal(err)
	}
	if err := m.add(remembered{ID: "second"}, 1); err == nil || m.knows("second") || len(m.content.Commands) != 1 || !m.knows("first") {
		t.Errorf("without a directory: %v, %+v", err, m.content)
	}
	if err := m.finish(&schema.CommandResult{CommandID: "first"}); err == nil {
		t.Error("a result that is not written is no error")
	}
	if err := m.finish(&schema.CommandResult{CommandID: "second"}); err != nil {
		t.Errorf("the result of a command that is not known: %v", err)
	}
}

// A damaged record is moved aside, and nothing of it is known.
func TestDamagedRecords(t *testing.T) {
	const since = `"since":"2000-01-01T00:00:00Z"`
	for _, text := range []string{"", "{", `{"version":2,` + since + `}`, `{"version":1}`, `{"version":1,"since":"1970-01-01T00:00:00Z"}`,
		`{"version":1,` + since + `,"commands":[{"id":"x"},null]}`, `{"version":1,` + since + `,"commands":[{"id":"x"},{"id":""}]}`,
		`{"version":1,` + since + `,"commands":[` + strings.Repeat(`{"id":"x"},`, maxRemembered) + `{"id":"y"}]}`} {
		path := filepath.Join(t.TempDir(), "commands.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m, damaged, err := openMemory(path, time.Minute, 7)
		if damaged == nil || err != nil {
			t.Errorf("%.80s: damage %v, error %v", text, damaged, err)
			continue
		}
		if aside, err := os.ReadFile(path + ".damaged"); string(aside) != text || m.knows("x") || m.content.Since != 7 || len(m.content.Commands) != 0 {
			t.Errorf("%.80s: %v, begins as %+v", text, err, m.content)
		}
		if _, damaged, err := openMemory(path, time.Minute, 8); damaged != nil || err != nil {
			t.Errorf("%.80s: the new record: %v, %v", text, damaged, err)
		}
	}
}

// An agent whose record cannot be read or created does not start.
func TestRecordsThatCannotBeOpened(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{t.TempDir(), filepath.Join(file, "commands.json")} {
		if _, damaged, err := openMemory(path, time.Minute, 1); err == nil || damaged != nil {
			t.Errorf("%s: %v, %v", path, damaged, err)
		}
	}
	if _, _, err := openMemory(filepath.Join(t.TempDir(), "a", "b", "commands.json"), time.Minute, 1); errors.Is(err, fs.ErrNotExist) {
		t.Error("directories are not created")
	}
}

// Of the answers to a command, those of other commands and fabrics, malformed ones, and whatever follows an agent's
// final one are ignored.
func TestWhichAnswersCount(t *testing.T) {
	v, err := NewVerifier(ResultsConfig{})
	if err != nil {
		t.Fatal(err)
	}
	completed := false
	g := &gathering{id: "x", fabric: "f", now: time.Now, expect: 1, enough: func(r *schema.CommandResult) bool { return r.Status.Final() }, verifier: v,
		log: slog.New(slog.DiscardHandler), complete: func() { completed = true }, last: map[string]Answer{}, heard: map[string]bool{}}
	take := func(change func(*schema.CommandResult)) {
		t.Helper()
		r := schema.CommandResult{CommandID: "x", Fabric: "f", Agent: "n1", Status: schema.CommandAccepted}
		change(&r)
		var encoder envelope.Encoder
		payload, err := encoder.Results(nil, []schema.CommandResult{r})
		if err != nil {
			t.Fatal(err)
		}
		if err := g.take(context.Background(), kafka.Message{Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
	take(func(r *schema.CommandResult) { r.CommandID = "y" })
	take(func(r *schema.CommandResult) { r.Fabric = "g" })
	take(func(r *schema.CommandResult) { r.Status = "odd" })
	if got := g.answers(); len(got) != 0 {
		t.Errorf("answers %+v", got)
	}
	take(func(*schema.CommandResult) {})
	if got := g.answers(); len(got) != 1 || completed {
		t.Errorf("answers %+v, complete %v", got, completed)
	}
	take(func(r *schema.CommandResult) { r.Status = schema.CommandDone })
	take(func(r *schema.CommandResult) { r.Status = schema.CommandFailed })
	if got := g.answers(); len(got) != 1 || got[0].Status != schema.CommandDone || !completed {
		t.Errorf("answers %+v, complete %v", got, completed)
	}
	if err := g.take(context.Background(), kafka.Message{Payload: []byte("rubbish")}); err == nil {
		t.Error("a message that cannot be read is no error")
	}
}
