package envelope

import (
	"encoding/json"

	"github.com/apache/arrow/go/v15/arrow"
)

// Document is a diagnosis, a command or a result: what has no fixed columns travels as JSON.
type Document struct {
	TimeNanos int64
	Fabric    string
	ID        string // unique in its fabric and kind; a document sent twice has the same
	JSON      []byte
}

// documentArrow is the Arrow schema of documents.
func documentArrow() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "time", Type: arrow.PrimitiveTypes.Int64},
		{Name: "fabric", Type: arrow.BinaryTypes.String},
		{Name: "id", Type: arrow.BinaryTypes.String},
		{Name: "json", Type: arrow.BinaryTypes.String},
	}, nil)
}

func (k Kind) isDocument() bool { return k == Diagnoses || k == Commands || k == Results }

// Documents appends the payload of some documents to dst; kind is Diagnoses, Commands or Results.
func (e *Encoder) Documents(dst []byte, kind Kind, documents []Document) ([]byte, error) {
	if !kind.isDocument() {
		return dst, refuse(BadKind, "%s are not documents", kind)
	}
	times := make([]int64, len(documents))
	t := e.emptyTexts(3)
	for i := range documents {
		doc := &documents[i]
		if err := checkDocument(doc); err != nil {
			return dst, err
		}
		times[i] = doc.TimeNanos
		t[0].add(doc.Fabric)
		t[1].add(doc.ID)
		t[2].add(string(doc.JSON))
	}
	return e.write(dst, kind, documentArrow(), len(documents), []arrow.Array{
		fixed(arrow.PrimitiveTypes.Int64, times, nil), t[0].column(), t[1].column(), t[2].column()})
}

func checkDocument(doc *Document) error {
	if err := checkName("fabric", doc.Fabric); err != nil {
		return err
	}
	if err := checkName("id", doc.ID); err != nil {
		return err
	}
	if err := checkText("document "+doc.ID, string(doc.JSON), MaxDocumentBytes); err != nil {
		return err
	}
	return checkJSON(doc.ID, doc.JSON)
}

func checkJSON(id string, text []byte) error {
	if !json.Valid(text) {
		return refuse(BadRows, "document %s is not JSON", id)
	}
	return nil
}

// Documents appends the documents of a payload of the given kind to into. They are the caller's own.
func (d *Decoder) Documents(payload []byte, kind Kind, into []Document) ([]Document, error) {
	if !kind.isDocument() {
		return into, refuse(BadKind, "%s are not documents", kind)
	}
	err := d.read(payload, kind, func(h Header, record arrow.Record) error {
		if err := sameColumns(record.Schema(), documentArrow()); err != nil {
			return err
		}
		r := reader{record: record, rows: h.Rows}
		times, fabric := numbers[int64](&r, 0), r.texts(1, 1, MaxNameBytes)
		id, text := r.texts(2, 1, MaxNameBytes), r.texts(3, 1, MaxDocumentBytes)
		if r.err != nil {
			return r.err
		}
		for i := range h.Rows {
			doc := Document{TimeNanos: times[i], Fabric: d.names.text(fabric.at(i)), ID: string(id.at(i)),
				JSON: append([]byte(nil), text.at(i)...)}
			if err := checkJSON(doc.ID, doc.JSON); err != nil {
				return err
			}
			into = append(into, doc)
		}
		return nil
	})
	return into, err
}
