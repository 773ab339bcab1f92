package nccl

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
)

// Trace is the content of one rank's file from NCCL's example profiler plug-in, for one
// or more communicators: Chrome trace events of collectives, of the proxy's sends and
// receives in them, and of their network steps. Times are nanoseconds since the
// process' profiler started, so the clocks of two ranks are unrelated.
type Trace struct {
	Name        string
	PID         int64
	Collectives []TracedCollective
	Cut         bool // the file ends within an event: the process did not finish writing
}

// TracedCollective is one collective of a rank.
type TracedCollective struct {
	Communicator           string
	Rank                   int
	Operation, Algorithm   string
	Sequence               int64
	KernelBegin, KernelEnd int64 // of its kernels; 0: not profiled
	Sends                  []TracedSend
}

// TracedSend is a channel's proxy send to a peer.
type TracedSend struct {
	Channel, Peer int
	Bytes         int64
	BeginNanos    int64
	EndNanos      int64 // 0: not ended
	Steps         []TracedStep
}

// TracedStep is one network step, from when its data was ready to when the send had
// completed.
type TracedStep struct {
	Step       int // as recorded: it advances by the slice's steps
	BeginNanos int64
	EndNanos   int64 // 0: not ended
}

// event is the part of the plug-in's Chrome trace events that is used.
type event struct {
	Name  string      `json:"name"`
	Cat   string      `json:"cat"`
	Phase string      `json:"ph"`
	ID    int64       `json:"id"`
	PID   int64       `json:"pid"`
	Time  json.Number `json:"ts"` // microseconds
	Args  struct {
		SeqNum    int64       `json:"SeqNum"`
		CommHash  json.Number `json:"CommHash"`
		Rank      int         `json:"Rank"`
		Algorithm string      `json:"Algorithm"`
		Channel   int         `json:"Channel"`
		Peer      int         `json:"Peer"`
		TransSize int64       `json:"transSize"`
		Step      int         `json:"Step"`
	} `json:"args"`
}

// Limits of a trace.
const (
	maxEventBytes = 64 << 10
	maxEvents     = 16 << 20
	maxPeers      = 1 << 20
	maxChannel    = 1 << 10
)

// IsTrace reports whether a file begins like a trace, as opposed to the Inspector's
// records.
func IsTrace(data []byte) bool {
	data = bytes.TrimLeft(data[:min(len(data), 1024)], " \t\r\n\ufeff")
	return bytes.HasPrefix(data, []byte("[")) || bytes.HasPrefix(data, []byte(`{"traceEvents"`))
}

// ReadTrace reads one file of the plug-in.
func ReadTrace(name string, data []byte) (*Trace, error) {
	t := &Trace{Name: name}
	b := builder{t: t}
	line, events := 1, 0
	foreign := fmt.Errorf("%s:1: not a list of trace events: want a file of NCCL's example profiler plug-in", name)
	at := bytes.IndexByte(data, '[')
	if at < 0 {
		return nil, foreign
	}
	line += bytes.Count(data[:at], []byte("\n"))
	for rest := data[at+1:]; ; events++ {
		object, from, n, err := nextObject(rest)
		line += bytes.Count(rest[:from], []byte("\n"))
		if errors.Is(err, errCut) {
			t.Cut = true
			return t, nil
		}
		if err == nil && object == nil {
			if events == 0 && !IsTrace(data) { // an empty list somewhere in another file
				return nil, foreign
			}
			return t, nil
		}
		if err == nil && events >= maxEvents {
			err = fmt.Errorf("more than %d events", maxEvents)
		}
		if err == nil {
			err = b.take(object)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w; remove the broken event, or remove the file to diagnose without its rank", name, line, err)
		}
		line += bytes.Count(rest[from:n], []byte("\n"))
		rest = rest[n:]
	}
}

var errCut = errors.New("truncated")

// nextObject returns the next {...} of a list, its start, and the bytes consumed; nil
// at the end of the list.
func nextObject(data []byte) (object []byte, from, n int, err error) {
	for from < len(data) && bytes.IndexByte([]byte(" \t\r\n,"), data[from]) >= 0 {
		from++
	}
	if from == len(data) {
		return nil, from, from, errCut
	}
	if data[from] == ']' {
		return nil, from, from, nil
	}
	if data[from] != '{' {
		return nil, from, from, fmt.Errorf("%.20q where an event was expected", data[from:min(len(data), from+20)])
	}
	depth, quoted := 0, false
	for i := from; i < len(data); i++ {
		if i-from > maxEventBytes {
			return nil, from, i, fmt.Errorf("an event of more than %d bytes", maxEventBytes)
		}
		switch c := data[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return data[from : i+1], from, i + 1, nil
			}
		}
	}
	return nil, from, len(data), errCut
}

// bare matches values that some versions of the plug-in write without quotes.
var bare = regexp.MustCompile(`(:\s*)(nccl[A-Za-z0-9_]+|0x[0-9a-fA-F]+|\(nil\)|-?nan|-?inf)(\s*[,}])`)

// builder assembles events. They are properly nested: what is within a collective
// stands between its begin and its end.
type builder struct {
	t       *Trace
	current *TracedCollective
	send    *TracedSend
	open    map[int64]TracedStep // steps in progress, by id
}

func (b *builder) take(object []byte) error {
	var e event
	if json.Unmarshal(object, &e) != nil {
		if err := json.Unmarshal(bare.ReplaceAll(object, []byte(`$1"$2"$3`)), &e); err != nil {
			return err
		}
	}
	if e.Phase != "b" && e.Phase != "e" {
		return nil // {} at the end, and what other tools add
	}
	micros, err := e.Time.Float64()
	if err != nil || math.IsNaN(micros) || micros < 0 || micros > 1e13 {
		return fmt.Errorf("ts %q of event %.40q: want microseconds since the profiler began", e.Time, e.Name)
	}
	nanos := int64(math.Round(micros * 1000))
	b.t.PID = e.PID
	switch {
	case e.Cat == "COLL":
		return b.collective(&e)
	case e.Cat == "P2P":
		b.current, b.send = nil, nil
	case b.current == nil: // outside any collective of the file
	case e.Cat == "PROXY":
		return b.proxy(&e, nanos)
	case e.Cat == "NET" && b.send != nil:
		b.step(&e, nanos)
	case e.Cat == "GPU":
		b.kernel(&e, nanos)
	}
	return nil
}

func (b *builder) collective(e *event) error {
	b.send = nil
	if e.Phase == "e" {
		b.current = nil
		return nil
	}
	a := &e.Args
	if a.Rank < 0 || a.Rank >= maxPeers || len(a.CommHash) > 40 || a.CommHash == "" {
		return fmt.Errorf("collective %.40q of rank %d in communicator %.40q", e.Name, a.Rank, a.CommHash)
	}
	b.t.Collectives = append(b.t.Collectives, TracedCollective{Communicator: string(a.CommHash), Rank: a.Rank,
		Operation: e.Name, Algorithm: a.Algorithm, Sequence: a.SeqNum})
	b.current = &b.t.Collectives[len(b.t.Collectives)-1]
	return nil
}

// proxy processes the begin and end of a channel's send. Newer versions write it twice:
// when it is scheduled, and when it progresses.
func (b *builder) proxy(e *event, nanos int64) error {
	switch {
	case e.Name != "Send" && e.Name != "ScheduleSend" && e.Name != "ProgressSend":
		b.send = nil
	case e.Phase == "e":
		if b.send != nil && e.Name != "ScheduleSend" {
			b.send.EndNanos = max(nanos, b.send.BeginNanos)
			b.send = nil
		}
	case e.Name == "ProgressSend" && b.send != nil:
		b.send.BeginNanos = nanos
	default:
		a := &e.Args
		if a.Peer < 0 || a.Peer >= maxPeers || a.Channel < 0 || a.Channel >= maxChannel || a.TransSize < 0 {
			return fmt.Errorf("send over channel %d to peer %d of %d bytes", a.Channel, a.Peer, a.TransSize)
		}
		b.current.Sends = append(b.current.Sends, TracedSend{Channel: a.Channel, Peer: a.Peer, Bytes: a.TransSize, BeginNanos: nanos})
		b.send, b.open = &b.current.Sends[len(b.current.Sends)-1], map[int64]TracedStep{}
	}
	return nil
}

// step processes the states of a network step. Waiting for the GPU is waiting for data;
// what follows, for the peer's buffer and for the network, is the transfer.
func (b *builder) step(e *event, nanos int64) {
	switch {
	case e.Phase == "b" && (e.Name == "SendPeerWait" || e.Name == "SendWait"):
		if _, known := b.open[e.ID]; !known {
			b.open[e.ID] = TracedStep{Step: e.Args.Step, BeginNanos: nanos}
		}
	case e.Phase == "e" && e.Name == "SendWait":
		if s, known := b.open[e.ID]; known {
			delete(b.open, e.ID)
			if nanos >= s.BeginNanos {
				s.EndNanos = nanos
			}
			b.send.Steps = append(b.send.Steps, s)
		}
	}
}

func (b *builder) kernel(e *event, nanos int64) {
	c := b.current
	if e.Phase == "b" && (c.KernelBegin == 0 || nanos < c.KernelBegin) {
		c.KernelBegin = nanos
	}
	if e.Phase == "e" {
		c.KernelEnd = max(c.KernelEnd, nanos)
	}
}
