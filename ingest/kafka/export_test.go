package kafka

import (
	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// Answered lets a fake of the brokers handle a consumer's fetches like the library's.
func Answered(request kafkago.Request, answer func(kafkago.Request) (kafkago.Response, error)) (kafkago.Response, error) {
	timed, ok := request.(*timedFetch)
	if !ok {
		return answer(request)
	}
	response, err := answer(timed.Request)
	if plain, ok := response.(*fetch.Response); ok {
		return &timedAnswer{Response: plain}, err
	}
	return response, err
}

// RawClient returns the library's client, without our checks.
func RawClient(c *Client) *kafkago.Client { return c.kafka }

// EncodeRecord and DecodeRecord convert a record to and from its format in the spool.
var EncodeRecord, DecodeRecord = encodeRecord, decodeRecord

// Offsets tracks which records of a consumer are stored.
type Offsets struct{ o offsets }

func (o *Offsets) Reset(committed int64)     { o.o.reset(committed) }
func (o *Offsets) MarkPending(offset int64)  { o.o.markPending(offset) }
func (o *Offsets) Store(offset int64)        { o.o.store(offset) }
func (o *Offsets) StoreThrough(offset int64) { o.o.storeThrough(offset) }
func (o *Offsets) Handled(offset int64)      { o.o.skip(offset + 1) }
func (o *Offsets) Committed() int64          { return o.o.committed }

// Spans is how many runs of records wait for a commit.
func (o *Offsets) Spans() int { return len(o.o.pending) }
