package envelope

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/apache/arrow/go/v15/arrow"

	"github.com/giverny/giverny/schema"
)

// Documents are the rows without fixed columns: jobs, their traffic, failures, diagnoses, commands and their results
// are encoded as JSON, next to the columns time, fabric and id by which a reader of the topic finds them. The columns
// must agree with the JSON.

// documentArrow is the Arrow schema of documents.
func documentArrow() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "time", Type: arrow.PrimitiveTypes.Int64},
		{Name: "fabric", Type: arrow.BinaryTypes.String},
		{Name: "id", Type: arrow.BinaryTypes.String},
		{Name: "json", Type: arrow.BinaryTypes.String},
	}, nil)
}

// form describes one kind of document.
type form[T any] struct {
	kind     Kind
	maxBytes int // of its JSON
	fabric   func(*T) *string
	time     func(*T) schema.Instant
	id       func(*T) string // its key within its fabric and kind: a document sent twice has the same
	check    func(*T) error  // of what the types do not guarantee
}

// Jobs appends the payload of jobs to dst.
func (e *Encoder) Jobs(dst []byte, jobs []schema.Job) ([]byte, error) {
	return encodeDocuments(e, dst, &jobForm, jobs)
}

// Failures appends the payload of failures to dst.
func (e *Encoder) Failures(dst []byte, failures []schema.Failure) ([]byte, error) {
	return encodeDocuments(e, dst, &failureForm, failures)
}

// Traffic appends the payload of jobs' traffic in an interval to dst.
func (e *Encoder) Traffic(dst []byte, traffic []schema.JobTraffic) ([]byte, error) {
	return encodeDocuments(e, dst, &trafficForm, traffic)
}

// Diagnoses appends the payload of diagnoses to dst.
func (e *Encoder) Diagnoses(dst []byte, diagnoses []schema.Diagnosis) ([]byte, error) {
	return encodeDocuments(e, dst, &diagnosisForm, diagnoses)
}

// Commands appends the payload of commands to dst.
func (e *Encoder) Commands(dst []byte, commands []schema.Command) ([]byte, error) {
	return encodeDocuments(e, dst, &commandForm, commands)
}

// Results appends the payload of results of commands to dst.
func (e *Encoder) Results(dst []byte, results []schema.CommandResult) ([]byte, error) {
	return encodeDocuments(e, dst, &resultForm, results)
}

// Jobs appends the jobs of a payload to into. The caller owns them.
func (d *Decoder) Jobs(payload []byte, into []schema.Job) ([]schema.Job, error) {
	return decodeDocuments(d, payload, &jobForm, into)
}

// Failures appends the failures of a payload to into. The caller owns them.
func (d *Decoder) Failures(payload []byte, into []schema.Failure) ([]schema.Failure, error) {
	return decodeDocuments(d, payload, &failureForm, into)
}

// Traffic appends the traffic of a payload to into. The caller owns it.
func (d *Decoder) Traffic(payload []byte, into []schema.JobTraffic) ([]schema.JobTraffic, error) {
	return decodeDocuments(d, payload, &trafficForm, into)
}

// Diagnoses appends the diagnoses of a payload to into. The caller owns them.
func (d *Decoder) Diagnoses(payload []byte, into []schema.Diagnosis) ([]schema.Diagnosis, error) {
	return decodeDocuments(d, payload, &diagnosisForm, into)
}

// Commands appends the commands of a payload to into. The caller owns them. Their signatures are not
// verified.
func (d *Decoder) Commands(payload []byte, into []schema.Command) ([]schema.Command, error) {
	return decodeDocuments(d, payload, &commandForm, into)
}

// Results appends the results of commands of a payload to into. The caller owns them.
func (d *Decoder) Results(payload []byte, into []schema.CommandResult) ([]schema.CommandResult, error) {
	return decodeDocuments(d, payload, &resultForm, into)
}

func encodeDocuments[T any](e *Encoder, dst []byte, f *form[T], rows []T) ([]byte, error) {
	times := make([]int64, len(rows))
	t := e.emptyTexts(3)
	for i := range rows {
		row := &rows[i]
		if err := f.checkRow(row); err != nil {
			return dst, err
		}
		text, err := json.Marshal(row)
		if err != nil {
			return dst, refuse(BadRows, "%s %s: %v", f.kind, f.id(row), err)
		}
		if len(text) > f.maxBytes {
			return dst, refuse(TooLarge, "%s %s of %d bytes, the limit is %d", f.kind, f.id(row), len(text), f.maxBytes)
		}
		times[i] = int64(f.time(row))
		t[0].add(*f.fabric(row))
		t[1].add(f.id(row))
		t[2].add(string(text))
	}
	return e.write(dst, f.kind, documentArrow(), len(rows), []arrow.Array{
		fixed(arrow.PrimitiveTypes.Int64, times, nil), t[0].column(), t[1].column(), t[2].column()})
}

func decodeDocuments[T any](d *Decoder, payload []byte, f *form[T], into []T) ([]T, error) {
	had := len(into)
	err := d.read(payload, f.kind, func(h Header, record arrow.Record) error {
		if err := sameColumns(record.Schema(), documentArrow()); err != nil {
			return err
		}
		r := reader{record: record, rows: h.Rows}
		times, fabric := numbers[int64](&r, 0), r.texts(1, 1, MaxNameBytes)
		id, text := r.texts(2, 1, maxIDBytes), r.texts(3, 1, f.maxBytes)
		if r.err != nil {
			return r.err
		}
		for i := range h.Rows {
			row, err := f.read(text.at(i), d.names.text(fabric.at(i)))
			if err != nil {
				return err
			}
			if int64(f.time(&row)) != times[i] || f.id(&row) != string(id.at(i)) {
				return refuse(BadRows, "%s %.80q at %d has the JSON of %.80q at %d", f.kind, id.at(i), times[i], f.id(&row), f.time(&row))
			}
			into = append(into, row)
		}
		return nil
	})
	if err != nil {
		return into[:had], err
	}
	return into, nil
}

// read decodes the JSON of one document strictly: no unknown fields, no trailing data, and the fabric of its
// column.
func (f *form[T]) read(text []byte, fabric string) (row T, err error) {
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	if err := in.Decode(&row); err != nil {
		return row, refuse(BadRows, "%s: %v", f.kind, err)
	}
	if _, err := in.Token(); err != io.EOF {
		return row, refuse(BadRows, "%s: data after its JSON", f.kind)
	}
	if own := f.fabric(&row); *own == "" {
		*own = fabric
	} else if *own != fabric {
		return row, refuse(BadRows, "%s of fabric %.80q under fabric %.80q", f.kind, *own, fabric)
	}
	return row, f.checkRow(&row)
}

func (f *form[T]) checkRow(row *T) error {
	if err := checkName("fabric", *f.fabric(row)); err != nil {
		return err
	}
	if err := f.check(row); err != nil {
		return err
	}
	return checkText("id", f.id(row), maxIDBytes)
}

// maxIDBytes fits the longest key: a failure's kind, device, port and time.
const maxIDBytes = 4 * MaxNameBytes

var jobForm = form[schema.Job]{
	kind: Jobs, maxBytes: MaxDocumentBytes,
	fabric: func(j *schema.Job) *string { return &j.Fabric },
	time:   func(j *schema.Job) schema.Instant { return j.Start },
	id:     func(j *schema.Job) string { return fmt.Sprintf("%s@%d", j.ID, j.Start) },
	check: func(j *schema.Job) error {
		if j.End != 0 && j.End < j.Start {
			return refuse(BadRows, "job %s ends at %s, before it starts at %s", j.ID, j.End, j.Start)
		}
		for _, node := range j.Nodes {
			if err := checkName("node", node); err != nil {
				return err
			}
		}
		return checkFields(required{"job_id", j.ID}, optional{"name", j.Name}, optional{"user", j.User}, optional{"state", j.State})
	},
}

var failureForm = form[schema.Failure]{
	kind: Failures, maxBytes: 64 << 10,
	fabric: func(f *schema.Failure) *string { return &f.Fabric },
	time:   func(f *schema.Failure) schema.Instant { return f.Time },
	id: func(f *schema.Failure) string {
		return fmt.Sprintf("%s/%s/%s@%d", f.Kind, f.Device, f.Port, f.Time)
	},
	check: func(f *schema.Failure) error {
		if !f.Kind.IsFailure() {
			return refuse(BadRows, "failure of kind %.80q, want one of %v", f.Kind, schema.FailureKinds())
		}
		if err := checkText("detail", f.Detail, maxTextBytes); err != nil {
			return err
		}
		return checkFields(optional{"device", f.Device}, optional{"port", f.Port})
	},
}

var trafficForm = form[schema.JobTraffic]{
	kind: Traffic, maxBytes: 64 << 10,
	fabric: func(t *schema.JobTraffic) *string { return &t.Fabric },
	time:   func(t *schema.JobTraffic) schema.Instant { return t.Time },
	id:     func(t *schema.JobTraffic) string { return fmt.Sprintf("%s@%d", t.JobID, t.Time) },
	check: func(t *schema.JobTraffic) error {
		for _, bytes := range []*float64{t.Read, t.Write, t.RDMARead, t.RDMAWrite} {
			if bytes != nil && !schema.IsBytes(*bytes) {
				return refuse(BadRows, "job %s moved %v bytes, want 0 or more and less than 2^64, or none where it was not measured", t.JobID, *bytes)
			}
		}
		return checkFields(required{"job_id", t.JobID})
	},
}

var diagnosisForm = form[schema.Diagnosis]{
	kind: Diagnoses, maxBytes: MaxDocumentBytes,
	fabric: func(d *schema.Diagnosis) *string { return &d.Fabric },
	time:   func(d *schema.Diagnosis) schema.Instant { return d.Time },
	id:     func(d *schema.Diagnosis) string { return fmt.Sprintf("%d@%d", d.Region, d.Time) },
	check: func(d *schema.Diagnosis) error {
		if d.Cause.Confidence < 0 || d.Cause.Confidence > 1 {
			return refuse(BadRows, "diagnosis of region %d with confidence %v, want 0 to 1", d.Region, d.Cause.Confidence)
		}
		return checkFields(required{"cause.class", string(d.Cause.Class)})
	},
}

var commandForm = form[schema.Command]{
	kind: Commands, maxBytes: 256 << 10,
	fabric: func(c *schema.Command) *string { return &c.Fabric },
	time:   func(c *schema.Command) schema.Instant { return c.Issued },
	id:     func(c *schema.Command) string { return c.ID },
	check: func(c *schema.Command) error {
		for _, target := range c.Targets {
			if err := checkName("target", target); err != nil {
				return err
			}
		}
		return checkFields(required{"id", c.ID}, required{"kind", c.Kind}, optional{"principal", c.Principal})
	},
}

var resultForm = form[schema.CommandResult]{
	kind: Results, maxBytes: 1 << 20,
	fabric: func(r *schema.CommandResult) *string { return &r.Fabric },
	time:   func(r *schema.CommandResult) schema.Instant { return r.Time },
	id:     func(r *schema.CommandResult) string { return fmt.Sprintf("%s/%s/%s", r.CommandID, r.Agent, r.Status) },
	check: func(r *schema.CommandResult) error {
		if err := checkText("reason", r.Reason, maxTextBytes); err != nil {
			return err
		}
		return checkFields(required{"command_id", r.CommandID}, required{"agent", r.Agent}, required{"status", string(r.Status)})
	},
}

// required and optional are fields that hold names, and are limited as such.
type (
	required struct{ field, text string }
	optional struct{ field, text string }
)

func (f required) check() error { return checkName(f.field, f.text) }
func (f optional) check() error { return checkText(f.field, f.text, MaxNameBytes) }

func checkFields(fields ...interface{ check() error }) error {
	for _, f := range fields {
		if err := f.check(); err != nil {
			return err
		}
	}
	return nil
}
