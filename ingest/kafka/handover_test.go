package kafka

import (
	"testing"
	"time"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/internal/test/await"
)

// A record in the spool keeps the clock that timed its readings: setting the clock meanwhile, forward or back,
// does not change the measured offset of that clock.
func TestARecordIsSentByTheClockOfItsReadings(t *testing.T) {
	const wall, run = 1_700_000_000 * int64(time.Second), 500 * int64(time.Second)
	at := clocks{now: func() time.Time { return time.Unix(0, wall) }, run: func() int64 { return run }, boot: 7}
	r := Record{Fabric: "f", Kind: envelope.Counters, Payload: []byte("p"), taken: at.take()}
	spooled, err := decodeRecord(encodeRecord(r))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		jump time.Duration // of the clock while the record was in the spool
		boot uint64
		want time.Duration // after the handover, by the header
	}{
		"the clock is left alone":     {0, 7, time.Minute},
		"it goes an hour forward":     {time.Hour, 7, time.Minute},
		"it goes a year back":         {-365 * 24 * time.Hour, 7, time.Minute},
		"the host has been restarted": {time.Hour, 8, time.Minute + time.Hour},
		"the start is not known":      {time.Hour, 0, time.Minute + time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			later := clocks{now: func() time.Time { return time.Unix(0, wall).Add(time.Minute + c.jump) }, run: func() int64 { return run + int64(time.Minute) }, boot: c.boot}
			if got := later.sent(spooled.taken).Sub(time.Unix(0, wall)); got != c.want {
				t.Errorf("sent %v after the handover, want %v", got, c.want)
			}
		})
	}
}

// Records spooled by earlier versions have no handover; they are sent with the current clock.
func TestSpooledRecordsOfEarlierVersions(t *testing.T) {
	r, err := decodeRecord(encodeRecord(Record{Fabric: "f", Partition: 2, Kind: envelope.Counters, Payload: []byte("p")}))
	if err != nil || r.taken != (handover{}) || string(r.Payload) != "p" || r.Kind != envelope.Counters {
		t.Fatalf("%+v, %v", r, err)
	}
	now := time.Unix(1_700_000_000, 0)
	c := clocks{now: func() time.Time { return now }, run: func() int64 { return 5 }, boot: 7}
	if got := c.sent(r.taken); !got.Equal(now) {
		t.Errorf("sent at %v, want %v", got, now)
	}
}

func TestTheHostsClocksRun(t *testing.T) {
	c := hostClocks()
	first := c.take()
	if first.Boot == 0 || first.RunNanos <= 0 {
		t.Fatalf("%+v", first)
	}
	await.Until(t, "the clock since the start to advance", time.Minute, 0, func() bool { return c.run() > first.RunNanos })
	if got := c.sent(first); got.Before(time.Unix(0, first.WallNanos)) {
		t.Errorf("sent at %v, before the handover", got)
	}
}
