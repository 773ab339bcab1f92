package envelope_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/arrow"
	"github.com/apache/arrow/go/v15/arrow/array"
	"github.com/apache/arrow/go/v15/arrow/ipc"
	"github.com/apache/arrow/go/v15/arrow/memory"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/schema"
)

const noon schema.Instant = 1_767_614_400e9

var (
	sampleJob = schema.Job{Fabric: "plane0", ID: "4711.0", Name: "milc", User: "u1", Nodes: []string{"node1", "nödé2"},
		Start: noon, End: noon + 60e9, State: "COMPLETED"}
	sampleFailure   = schema.Failure{Fabric: "plane0", Time: noon, Kind: schema.LinkFailed, Device: "sw1", Port: "2", Detail: "cable"}
	sampleTraffic   = schema.JobTraffic{Fabric: "plane0", JobID: "4711.0", Time: noon, Read: new(1.5e9), RDMAWrite: new(0.0)}
	sampleDiagnosis = schema.Diagnosis{Fabric: "plane0", Time: noon, Region: 1<<64 - 1, Metric: schema.CreditStall, Severity: schema.High,
		Links: []schema.LinkID{1, 2}, Mean: 31.5, Cause: schema.Cause{Class: schema.CauseSlowHost, Confidence: .75},
		Jobs:     []schema.AccusedJob{{JobID: "4711.0", Blame: .5, Feature: "injection"}},
		Failures: []schema.NearFailure{{Time: noon, Kind: schema.LinkFailed, Device: "sw1", Port: "2", Hops: 1}},
		Root:     &schema.Root{Link: schema.NoLink, Device: "sw1", Port: "3", Peer: "node1", Kind: "slow_receiver"},
		Victims:  []schema.VictimJob{{JobID: "4712", Slowdown: [2]float64{1.1, 2}}}, Action: "drain node1", Text: "node1 pauses"}
	sampleCommand = schema.Command{ID: "c1", Fabric: "plane0", Kind: "agents.list", Targets: []string{"*"}, Arguments: json.RawMessage(`{"x":1}`),
		Issued: noon, Expires: noon + 30e9, Principal: "ops", DryRun: true, Signature: []byte{0, 255}}
	sampleResult = schema.CommandResult{CommandID: "c1", Fabric: "plane0", Agent: "node1", Time: noon, Status: schema.CommandDone,
		Output: json.RawMessage(`{"version":"1"}`)}
)

// document is one kind of document, with type-erased functions.
type document struct {
	kind   envelope.Kind
	encode func() ([]byte, error) // of the sample
	decode func(payload []byte) (any, error)
	sample any
	json   string // of the sample
	id     string
}

func documents(t testing.TB) []document {
	t.Helper()
	var e envelope.Encoder
	var d envelope.Decoder
	text := func(v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return []document{
		{envelope.Jobs, func() ([]byte, error) { return e.Jobs(nil, []schema.Job{sampleJob}) },
			func(p []byte) (any, error) { return d.Jobs(p, nil) },
			[]schema.Job{sampleJob}, text(sampleJob), "4711.0@1767614400000000000"},
		{envelope.Failures, func() ([]byte, error) { return e.Failures(nil, []schema.Failure{sampleFailure}) },
			func(p []byte) (any, error) { return d.Failures(p, nil) },
			[]schema.Failure{sampleFailure}, text(sampleFailure), "link_failed/sw1/2@1767614400000000000"},
		{envelope.Traffic, func() ([]byte, error) { return e.Traffic(nil, []schema.JobTraffic{sampleTraffic}) },
			func(p []byte) (any, error) { return d.Traffic(p, nil) },
			[]schema.JobTraffic{sampleTraffic}, text(sampleTraffic), "4711.0@1767614400000000000"},
		{envelope.Diagnoses, func() ([]byte, error) { return e.Diagnoses(nil, []schema.Diagnosis{sampleDiagnosis}) },
			func(p []byte) (any, error) { return d.Diagnoses(p, nil) },
			[]schema.Diagnosis{sampleDiagnosis}, text(sampleDiagnosis), "18446744073709551615@1767614400000000000"},
		{envelope.Commands, func() ([]byte, error) { return e.Commands(nil, []schema.Command{sampleCommand}) },
			func(p []byte) (any, error) { return d.Commands(p, nil) },
			[]schema.Command{sampleCommand}, text(sampleCommand), "c1"},
		{envelope.Results, func() ([]byte, error) { return e.Results(nil, []schema.CommandResult{sampleResult}) },
			func(p []byte) (any, error) { return d.Results(p, nil) },
			[]schema.CommandResult{sampleResult}, text(sampleResult), "c1/node1/done"},
	}
}

// forgedDocument is a payload that is valid except for the given columns.
func forgedDocument(t testing.TB, kind envelope.Kind, time int64, fabric, id, text string) []byte {
	t.Helper()
	s := arrow.NewSchema([]arrow.Field{
		{Name: "time", Type: arrow.PrimitiveTypes.Int64}, {Name: "fabric", Type: arrow.BinaryTypes.String},
		{Name: "id", Type: arrow.BinaryTypes.String}, {Name: "json", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	b.Field(0).(*array.Int64Builder).Append(time)
	for i, column := range []string{fabric, id, text} {
		b.Field(1 + i).(*array.StringBuilder).Append(column)
	}
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(s))
	if err := w.Write(b.NewRecord()); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return reseal(kind, 1, out.Bytes())
}

func TestDocumentsRoundTrip(t *testing.T) {
	for _, c := range documents(t) {
		payload, err := c.encode()
		if err != nil {
			t.Fatal(err)
		}
		if h, err := envelope.ParseHeader(payload); err != nil || h.Kind != c.kind || h.Rows != 1 {
			t.Errorf("%s: header %+v, %v", c.kind, h, err)
		}
		got, err := c.decode(payload)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, c.sample)
		got, err = c.decode(forgedDocument(t, c.kind, int64(noon), "plane0", c.id, c.json)) // of another writer
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, c.sample)
	}
}

// A fabric that is missing in the JSON is taken from its column.
func TestDocumentTakesItsColumnsFabric(t *testing.T) {
	text := `{"time":"2026-01-05T12:00:00Z","kind":"node_failed","device":"n1"}`
	payload := forgedDocument(t, envelope.Failures, int64(noon), "plane7", "node_failed/n1/@1767614400000000000", text)
	got, err := new(envelope.Decoder).Failures(payload, nil)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, []schema.Failure{{Fabric: "plane7", Time: noon, Kind: schema.NodeFailed, Device: "n1"}})
}

func TestForgedDocuments(t *testing.T) {
	for _, c := range documents(t) {
		long := strings.Repeat("x", envelope.MaxDocumentBytes+1)
		for _, bad := range []struct {
			name, fabric, id, json string
			time                   int64
		}{
			{"no JSON", "plane0", c.id, "{", int64(noon)},
			{"not an object", "plane0", c.id, "[1]", int64(noon)},
			{"a field of a later version", "plane0", c.id, strings.TrimSuffix(c.json, "}") + `,"unless":1}`, int64(noon)},
			{"more behind it", "plane0", c.id, c.json + "{}", int64(noon)},
			{"rubbish behind it", "plane0", c.id, c.json + "x", int64(noon)},
			{"another fabric", "plane1", c.id, c.json, int64(noon)},
			{"no fabric", "", c.id, c.json, int64(noon)},
			{"another id", "plane0", "c2", c.json, int64(noon)},
			{"another time", "plane0", c.id, c.json, int64(noon) + 1},
			{"not UTF-8", "plane0", c.id, strings.Replace(c.json, "plane0", "plane0\xff", 1), int64(noon)},
			{"too long", "plane0", c.id, `{"fabric":"` + long + `"}`, int64(noon)},
			{"a name too long", "plane0", c.id, strings.Replace(c.json, "plane0", strings.Repeat("p", 257), 1), int64(noon)},
		} {
			_, err := c.decode(forgedDocument(t, c.kind, bad.time, bad.fabric, bad.id, bad.json))
			if reason, _ := envelope.ReasonOf(err); reason != envelope.BadRows {
				t.Errorf("%s: %s: refused with %q: %.200v", c.kind, bad.name, reason, err)
			}
		}
		payload, err := c.encode()
		if err != nil {
			t.Fatal(err)
		}
		for at := range payload { // a damaged payload is never accepted
			damaged := bytes.Clone(payload)
			damaged[at] ^= 0x10
			if _, err := c.decode(damaged); err == nil {
				t.Errorf("%s: byte %d was damaged and the payload passed", c.kind, at)
			}
		}
		regions, err := new(envelope.Encoder).Regions(nil, &envelope.RegionSet{Fabric: "plane0", Interval: minute, Regions: []schema.Region{{ID: 1, Metric: schema.CreditStall}}})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.decode(reseal(c.kind, 1, unsealed(t, regions)))
		wantReason(t, err, envelope.BadSchema)
		for _, other := range documents(t) {
			if other.kind == c.kind {
				continue
			}
			_, err := other.decode(payload)
			wantReason(t, err, envelope.BadKind)
		}
	}
}

func TestEncoderRefusesDocuments(t *testing.T) {
	var e envelope.Encoder
	job := func(change func(j *schema.Job)) error {
		j := sampleJob
		change(&j)
		_, err := e.Jobs(nil, []schema.Job{sampleJob, j})
		return err
	}
	failure := func(change func(f *schema.Failure)) error {
		f := sampleFailure
		change(&f)
		_, err := e.Failures(nil, []schema.Failure{f})
		return err
	}
	traffic := func(change func(t *schema.JobTraffic)) error {
		row := sampleTraffic
		change(&row)
		_, err := e.Traffic(nil, []schema.JobTraffic{row})
		return err
	}
	command := func(change func(c *schema.Command)) error {
		c := sampleCommand
		change(&c)
		_, err := e.Commands(nil, []schema.Command{c})
		return err
	}
	diagnosis := func(change func(d *schema.Diagnosis)) error {
		d := sampleDiagnosis
		change(&d)
		_, err := e.Diagnoses(nil, []schema.Diagnosis{d})
		return err
	}
	result := func(change func(r *schema.CommandResult)) error {
		r := sampleResult
		change(&r)
		_, err := e.Results(nil, []schema.CommandResult{r})
		return err
	}
	many := make([]string, 300_000)
	for i := range many {
		many[i] = fmt.Sprintf("node%012d", i)
	}
	for _, c := range []struct {
		name string
		err  error
		want envelope.Reason
	}{
		{"a job of no fabric", job(func(j *schema.Job) { j.Fabric = "" }), envelope.BadRows},
		{"a job without an id", job(func(j *schema.Job) { j.ID = "" }), envelope.BadRows},
		{"a job that ends before it starts", job(func(j *schema.Job) { j.End = j.Start - 1 }), envelope.BadRows},
		{"a node without a name", job(func(j *schema.Job) { j.Nodes = []string{""} }), envelope.BadRows},
		{"a job of too many nodes", job(func(j *schema.Job) { j.Nodes = many }), envelope.TooLarge},
		{"a user's name too long", job(func(j *schema.Job) { j.User = strings.Repeat("u", 257) }), envelope.BadRows},
		{"an event that is no failure", failure(func(f *schema.Failure) { f.Kind = schema.JobStarted }), envelope.BadRows},
		{"a long detail", failure(func(f *schema.Failure) { f.Detail = strings.Repeat("d", 5000) }), envelope.BadRows},
		{"traffic of no job", traffic(func(t *schema.JobTraffic) { t.JobID = "" }), envelope.BadRows},
		{"traffic below zero", traffic(func(t *schema.JobTraffic) { t.Write = new(-1.0) }), envelope.BadRows},
		{"traffic beyond 64 bits", traffic(func(t *schema.JobTraffic) { t.Read = new(1e39) }), envelope.BadRows},
		{"traffic that is no number", traffic(func(t *schema.JobTraffic) { t.RDMARead = new(math.NaN()) }), envelope.BadRows},
		{"traffic without end", traffic(func(t *schema.JobTraffic) { t.Read = new(math.Inf(1)) }), envelope.BadRows},
		{"a cause of no class", diagnosis(func(d *schema.Diagnosis) { d.Cause.Class = "" }), envelope.BadRows},
		{"a confidence above 1", diagnosis(func(d *schema.Diagnosis) { d.Cause.Confidence = 1.5 }), envelope.BadRows},
		{"a mean that is no number", diagnosis(func(d *schema.Diagnosis) { d.Mean = math.NaN() }), envelope.BadRows},
		{"a command without a kind", command(func(c *schema.Command) { c.Kind = "" }), envelope.BadRows},
		{"arguments that are no JSON", command(func(c *schema.Command) { c.Arguments = json.RawMessage("{") }), envelope.BadRows},
		{"a target without a name", command(func(c *schema.Command) { c.Targets = []string{""} }), envelope.BadRows},
		{"arguments too long", command(func(c *schema.Command) {
			c.Arguments = json.RawMessage(`"` + strings.Repeat("a", 256<<10) + `"`)
		}), envelope.TooLarge},
		{"a result of no agent", result(func(r *schema.CommandResult) { r.Agent = "" }), envelope.BadRows},
		{"a result without a status", result(func(r *schema.CommandResult) { r.Status = "" }), envelope.BadRows},
		{"an output too long", result(func(r *schema.CommandResult) {
			r.Output = json.RawMessage(`"` + strings.Repeat("a", 1<<20) + `"`)
		}), envelope.TooLarge},
	} {
		if reason, _ := envelope.ReasonOf(c.err); reason != c.want {
			t.Errorf("%s: refused with %q (%v), want %q", c.name, reason, c.err, c.want)
		}
	}
	// A whole machine fits.
	if err := job(func(j *schema.Job) { j.Nodes = many[:100_000] }); err != nil {
		t.Error(err)
	}
}
