package kafka_test

import (
	"bytes"
	"testing"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
)

func FuzzSpooledRecord(f *testing.F) {
	f.Add(kafka.EncodeRecord(kafka.Record{Fabric: "f", Partition: 3, Kind: envelope.Counters, Payload: []byte("p")}))
	f.Add([]byte{})
	f.Add(append([]byte{0x81, 0, 0, 0, 0, 1, 0, 'f'}, make([]byte, 25)...))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := kafka.DecodeRecord(b); err == nil && !bytes.Equal(kafka.EncodeRecord(r), b) {
			t.Errorf("%q becomes %+v and then another", b, r)
		}
	})
}
