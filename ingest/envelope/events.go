package envelope

import (
	"github.com/apache/arrow/go/v15/arrow"

	"github.com/giverny/giverny/schema"
)

// Events appends the payload of events to dst. The events may be of several fabrics.
func (e *Encoder) Events(dst []byte, events []schema.Event) ([]byte, error) {
	n := len(events)
	times, regions := make([]int64, n), make([]uint64, n)
	t := e.emptyTexts(6)
	for i := range events {
		ev := &events[i]
		if err := checkEvent(ev); err != nil {
			return dst, err
		}
		times[i], regions[i] = ev.TimeNanos, ev.RegionID
		for column, s := range [...]string{ev.Fabric, string(ev.Kind), ev.Device, ev.Port, ev.JobID, ev.Detail} {
			t[column].add(s)
		}
	}
	return e.write(dst, Events, schema.EventArrow, n, []arrow.Array{
		fixed(arrow.PrimitiveTypes.Int64, times, nil),
		t[0].column(), t[1].column(), t[2].column(), t[3].column(),
		fixed(arrow.PrimitiveTypes.Uint64, regions, nil),
		t[4].column(), t[5].column(),
	})
}

func checkEvent(ev *schema.Event) error {
	if err := checkName("fabric", ev.Fabric); err != nil {
		return err
	}
	if err := checkName("kind", string(ev.Kind)); err != nil {
		return err
	}
	for _, s := range [...]string{ev.Device, ev.Port, ev.JobID} {
		if err := checkText("device, port or job", s, MaxNameBytes); err != nil {
			return err
		}
	}
	return checkText("detail", ev.Detail, maxTextBytes)
}

// Events appends the events of a payload to into. The caller owns them.
func (d *Decoder) Events(payload []byte, into []schema.Event) ([]schema.Event, error) {
	err := d.read(payload, Events, func(h Header, record arrow.Record) (err error) {
		if err := sameColumns(record.Schema(), schema.EventArrow); err != nil {
			return err
		}
		r := reader{record: record, rows: h.Rows}
		times, regions := numbers[int64](&r, 0), numbers[uint64](&r, 5)
		fabric, kind := r.texts(1, 1, MaxNameBytes), r.texts(2, 1, MaxNameBytes)
		device, port := r.texts(3, 0, MaxNameBytes), r.texts(4, 0, MaxNameBytes)
		job, detail := r.texts(6, 0, MaxNameBytes), r.texts(7, 0, maxTextBytes)
		if r.err != nil {
			return r.err
		}
		for i := range h.Rows {
			into = append(into, schema.Event{
				TimeNanos: times[i], RegionID: regions[i],
				Fabric: d.names.text(fabric.at(i)), Kind: schema.EventKind(d.names.text(kind.at(i))),
				Device: d.names.text(device.at(i)), Port: d.names.text(port.at(i)),
				JobID: string(job.at(i)), Detail: string(detail.at(i)),
			})
		}
		return nil
	})
	return into, err
}
