package kafka

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/segmentio/kafka-go/compress"
)

// maxUnpackedBatch is the most that a compressed batch may hold: the largest kafka.producer.max_message_bytes, with the records'
// overhead. kafka-go decompresses a batch whole, and some hundred kilobytes can stand for many gigabytes.
const maxUnpackedBatch = 64<<20 + recordOverhead

// offsetRange is the records of a batch, from the first to the last offset.
type offsetRange struct{ first, last int64 }

// dropBombs empties the compressed batches that hold more than maxUnpackedBatch, or have fewer bytes than records, and returns
// them.
func dropBombs(batches []byte) (dropped []offsetRange) {
	for _, batch := range split(batches) {
		codec := compress.Compression(binary.BigEndian.Uint16(batch[batchFlagsAt:]) & flagsCompression).Codec()
		if codec == nil {
			continue // not compressed, or an error of the library
		}
		text := codec.NewReader(bytes.NewReader(batch[batchHeaderBytes:]))
		n, err := io.CopyN(io.Discard, text, maxUnpackedBatch+1)
		text.Close() // frees memory only
		if records := int64(int32(binary.BigEndian.Uint32(batch[batchRecordsAt:]))); err != nil && records <= n {
			continue // it ended before the limit
		}
		dropped = append(dropped, offsetsOf(batch))
		binary.BigEndian.PutUint16(batch[batchFlagsAt:], 0)
		binary.BigEndian.PutUint32(batch[batchRecordsAt:], 0)
		binary.BigEndian.PutUint32(batch[batchChecksumAt:], crc32.Checksum(batch[batchFlagsAt:], crc32.MakeTable(crc32.Castagnoli)))
	}
	return dropped
}

// split returns the complete batches among consecutive record batches of version 2, the last of which may be truncated.
func split(batches []byte) (each [][]byte) {
	for len(batches) >= batchHeaderBytes && batches[batchMagicAt] == 2 {
		size := int64(binary.BigEndian.Uint32(batches[batchLengthAt:])) + batchLengthAt + 4
		if size < batchHeaderBytes || size > int64(len(batches)) {
			break
		}
		each = append(each, batches[:size:size])
		batches = batches[size:]
	}
	return each
}

func offsetsOf(batch []byte) offsetRange {
	first := int64(binary.BigEndian.Uint64(batch))
	return offsetRange{first, first + int64(binary.BigEndian.Uint32(batch[batchLastDeltaAt:]))}
}
