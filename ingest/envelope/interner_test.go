package envelope

import (
	"fmt"
	"testing"

	"github.com/giverny/giverny/schema"
)

// Names that never recur take bounded memory, in events as in counters.
func TestNamesAreBounded(t *testing.T) {
	var e Encoder
	var d Decoder
	const rows = 1 << 13
	events := make([]schema.Event, rows)
	var payload []byte
	var decoded []schema.Event
	for n := 0; n < 2*maxInterned; n += 2 * rows {
		for i := range events {
			events[i] = schema.Event{Fabric: "f", Kind: schema.LinkFailed, Device: fmt.Sprint("device ", n+i), Port: fmt.Sprint("port ", n+i)}
		}
		var err error
		if payload, err = e.Events(payload[:0], events); err != nil {
			t.Fatal(err)
		}
		if decoded, err = d.Events(payload, decoded[:0]); err != nil || decoded[rows-1].Device != events[rows-1].Device {
			t.Fatal(err)
		}
		if most := maxInterned + 2*rows + 2; len(d.names.entries) > most {
			t.Fatalf("%d names are kept, want at most %d", len(d.names.entries), most)
		}
	}
}
