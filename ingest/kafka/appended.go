package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// appendTimes are the times at which the broker appended the batches of a fetch response, if the topic has
// message.timestamp.type=LogAppendTime. The time is in a batch's header, which kafka-go ignores: its records
// always have the producer's time.
type appendTimes []appendedBatch

type appendedBatch struct {
	offsetRange
	at time.Time
}

// at returns when the record at an offset was appended; the zero time if the broker does not say.
func (a appendTimes) at(offset int64) time.Time {
	for _, b := range a {
		if offset >= b.first && offset <= b.last {
			return b.at
		}
	}
	return time.Time{}
}

// Byte offsets in a record batch of version 2 (magic byte 2).
const (
	batchLengthAt    = 8
	batchMagicAt     = 16
	batchChecksumAt  = 17 // of what follows it
	batchFlagsAt     = 21
	batchLastDeltaAt = 23
	batchMaxTimeAt   = 35
	batchRecordsAt   = 57
	batchHeaderBytes = 61

	flagsCompression  = 7
	flagLogAppendTime = 1 << 3
)

// readAppendTimes parses the headers of consecutive record batches.
func readAppendTimes(into appendTimes, batches []byte) appendTimes {
	for _, batch := range split(batches) {
		if order := binary.BigEndian; order.Uint16(batch[batchFlagsAt:])&flagLogAppendTime != 0 {
			into = append(into, appendedBatch{offsetsOf(batch), time.UnixMilli(int64(order.Uint64(batch[batchMaxTimeAt:])))})
		}
	}
	return into
}

// timedFetch is a fetch request that also reads the append times. The transport treats it like any other
// request, except that it does its own I/O (protocol.RawExchanger).
type timedFetch struct {
	*fetch.Request
	clientID string
	maxBytes int
	version  int16
}

// timedAnswer is the response to a timedFetch.
type timedAnswer struct {
	*fetch.Response
	appended appendTimes
	dropped  []offsetRange
}

// Prepare is called with the protocol version that broker and library have negotiated.
func (f *timedFetch) Prepare(version int16) { f.version = version }

// Required makes the transport call RawExchange.
func (f *timedFetch) Required(map[protocol.ApiKey]int16) bool { return true }

// RawExchange sends the request and parses the response twice: for the batch headers, without batches that the library should
// not decompress, and with the library.
func (f *timedFetch) RawExchange(rw io.ReadWriter) (protocol.Message, error) {
	const correlation = 1 // one request at a time on a connection
	if err := protocol.WriteRequest(rw, f.version, correlation, f.clientID, f.Request); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(rw, size[:]); err != nil {
		return nil, err
	}
	n := int64(int32(binary.BigEndian.Uint32(size[:])))
	if n < 4 || n > int64(f.maxBytes) {
		return nil, fmt.Errorf("fetch response of %d bytes, want 4 to %d", n, f.maxBytes)
	}
	answer := bytes.NewBuffer(append(make([]byte, 0, 4+min(n, 64<<10)), size[:]...))
	if _, err := io.CopyN(answer, rw, n); err != nil {
		return nil, err
	}
	timed, err := f.inspect(answer.Bytes()[8:]) // after size and correlation ID
	if err != nil {
		return nil, err
	}
	id, response, err := protocol.ReadResponse(answer, protocol.Fetch, f.version)
	if err != nil {
		return nil, err
	}
	if id != correlation {
		return nil, fmt.Errorf("response to request %d, want %d", id, correlation)
	}
	timed.Response = response.(*fetch.Response)
	return timed, nil
}

// inspect reads the append times of a response, and empties batches that decompress to too much.
func (f *timedFetch) inspect(body []byte) (*timedAnswer, error) {
	answer := &timedAnswer{}
	response := kmsg.NewPtrFetchResponse()
	response.Version = f.version
	if err := response.ReadFrom(body); err != nil {
		return nil, fmt.Errorf("fetch response: %w", err)
	}
	for i := range response.Topics {
		for j := range response.Topics[i].Partitions {
			batches := response.Topics[i].Partitions[j].RecordBatches // a part of body
			answer.appended = readAppendTimes(answer.appended, batches)
			answer.dropped = append(answer.dropped, dropBombs(batches)...)
		}
	}
	return answer, nil
}

// headerSent is the header with the send time of the try that delivered the record, in nanoseconds since 1970 as
// decimal text: the producer's wall clock at handover, advanced by a monotonic clock. Compared with the broker's
// append time it shows how far the clock that timed the readings was off, however long the record was spooled, and
// even if the clock was set meanwhile.
const headerSent = "giverny-sent"

// stamped returns a record's headers plus the send time.
func stamped(headers []kafkago.Header, now time.Time) []kafkago.Header {
	return append(slices.Clip(headers), kafkago.Header{Key: headerSent, Value: strconv.AppendInt(nil, now.UnixNano(), 10)})
}

// sentAt returns the send time from a record's headers; the zero time if it is missing or invalid.
func sentAt(headers []kafkago.Header) time.Time {
	for _, h := range headers {
		if h.Key == headerSent {
			if nanos, err := strconv.ParseInt(string(h.Value), 10, 64); err == nil {
				return time.Unix(0, nanos)
			}
		}
	}
	return time.Time{}
}

// fetched is the response to a fetch of one partition.
type fetched struct {
	records  kafkago.RecordReader
	end      int64 // of the log
	appended appendTimes
	dropped  []offsetRange // batches that decompress to too much
}

// maxAnswerOverhead is an upper bound for everything but the records in a response.
const maxAnswerOverhead = 1 << 20

// fetch sends one request for the records of a partition from an offset on.
func (c *Client) fetch(ctx context.Context, topic string, partition int, offset int64) (fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.RequestTimeout)
	defer cancel()
	consumer := &c.config.Consumer
	answer, err := c.kafka.Transport.RoundTrip(ctx, c.kafka.Addr, &timedFetch{
		clientID: c.config.ClientID, maxBytes: consumer.MaxFetchBytes + c.config.MaxBatchBytes() + maxAnswerOverhead,
		Request: &fetch.Request{ReplicaID: -1, SessionID: -1, SessionEpoch: -1, MinBytes: 1,
			MaxWaitTime: int32(consumer.MaxWait.Milliseconds()), MaxBytes: int32(consumer.MaxFetchBytes),
			Topics: []fetch.RequestTopic{{Topic: topic, Partitions: []fetch.RequestPartition{{Partition: int32(partition),
				CurrentLeaderEpoch: -1, FetchOffset: offset, LogStartOffset: -1, PartitionMaxBytes: int32(consumer.MaxFetchBytes)}}}}},
	})
	if err != nil {
		return fetched{}, err
	}
	timed := answer.(*timedAnswer)
	if len(timed.Topics) == 0 || len(timed.Topics[0].Partitions) == 0 {
		return fetched{}, fmt.Errorf("the response lacks %s/%d", topic, partition)
	}
	p := &timed.Topics[0].Partitions[0]
	for _, code := range []int16{timed.ErrorCode, p.ErrorCode} {
		if code != 0 {
			return fetched{}, kafkago.Error(code)
		}
	}
	records := p.RecordSet.Records
	if records == nil {
		records = kafkago.NewRecordReader()
	}
	return fetched{records: records, end: p.HighWatermark, appended: timed.appended, dropped: timed.dropped}, nil
}
