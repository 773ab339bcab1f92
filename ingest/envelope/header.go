package envelope

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"github.com/golang/snappy"
)

// Limits. Encoder and Decoder both reject what exceeds one.
const (
	MaxCompressedBytes   = 1 << 20  // of the snappy block
	MaxUncompressedBytes = 16 << 20 // of the Arrow stream
	MaxRows              = 1 << 20
	maxColumns           = 1024
	MaxNameBytes         = 256     // fabric, device, port, counter, source, agent, job
	maxTextBytes         = 4 << 10 // an event's detail, a region's name
	MaxDocumentBytes     = 4 << 20 // one document: a job may have a hundred thousand nodes
)

// HeaderBytes is the length of the header. All numbers are little-endian, as in the Arrow stream:
//
//	 0  magic "GVNY"
//	 4  version u8
//	 5  kind u8
//	 6  flags u16, 0 in version 1
//	 8  rows u32
//	12  uncompressed length u32
//	16  compressed length u32
//	20  CRC-32C (Castagnoli, RFC 3720 appendix B.4) of bytes 0-19 and of the body
const HeaderBytes = 24

const (
	magic      = "GVNY"
	version    = 1
	checkedLen = 20 // the part of the header that the checksum covers
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Kind is the type of a payload's rows.
type Kind uint8

// Kinds of payloads. Their numbers are part of the format; 3 was another kind once and stays unused.
const (
	Counters  Kind = 1  // a schema.CounterBatch
	Events    Kind = 2  // schema.Event rows
	Regions   Kind = 4  // the regions of one fabric and interval
	Diagnoses Kind = 5  // schema.Diagnosis documents
	Commands  Kind = 6  // schema.Command documents
	Results   Kind = 7  // schema.CommandResult documents
	Jobs      Kind = 8  // schema.Job documents
	Failures  Kind = 9  // schema.Failure documents
	Traffic   Kind = 10 // schema.JobTraffic documents
)

var kindNames = [...]string{Counters: "counters", Events: "events", Regions: "regions", Diagnoses: "diagnoses",
	Commands: "commands", Results: "results", Jobs: "jobs", Failures: "failures", Traffic: "traffic"}

func (k Kind) String() string {
	if k.known() {
		return kindNames[k]
	}
	return "unknown"
}

func (k Kind) known() bool { return int(k) < len(kindNames) && kindNames[k] != "" }

// Header is the decoded header of a payload.
type Header struct {
	Kind                     Kind
	Rows                     int
	Uncompressed, Compressed int // bytes
}

// ParseHeader checks a payload without decompressing it: magic, version, kind, lengths and checksum. A
// payload that passes was written by an Encoder and is undamaged, or it was forged.
func ParseHeader(payload []byte) (Header, error) {
	if len(payload) < HeaderBytes {
		return Header{}, refuse(Truncated, "%d bytes, a header alone has %d", len(payload), HeaderBytes)
	}
	if string(payload[:4]) != magic {
		return Header{}, refuse(BadMagic, "begins with %q, want %q", payload[:4], magic)
	}
	if payload[4] != version {
		return Header{}, refuse(BadVersion, "version %d, this build reads version %d; upgrade the reader", payload[4], version)
	}
	h := Header{
		Kind:         Kind(payload[5]),
		Rows:         int(binary.LittleEndian.Uint32(payload[8:])),
		Uncompressed: int(binary.LittleEndian.Uint32(payload[12:])),
		Compressed:   int(binary.LittleEndian.Uint32(payload[16:])),
	}
	flags := binary.LittleEndian.Uint16(payload[6:])
	body := payload[HeaderBytes:]
	switch {
	case !h.Kind.known():
		return Header{}, refuse(BadKind, "kind %d is unknown", payload[5])
	case flags != 0:
		return Header{}, refuse(BadVersion, "flags %#x are unknown to this build", flags)
	case h.Rows > MaxRows:
		return Header{}, refuse(TooLarge, "%d rows, the limit is %d", h.Rows, MaxRows)
	case h.Uncompressed > MaxUncompressedBytes:
		return Header{}, refuse(TooLarge, "%d bytes uncompressed, the limit is %d", h.Uncompressed, MaxUncompressedBytes)
	case h.Compressed > MaxCompressedBytes:
		return Header{}, refuse(TooLarge, "%d bytes compressed, the limit is %d", h.Compressed, MaxCompressedBytes)
	case h.Compressed != len(body):
		return Header{}, refuse(Truncated, "body of %d bytes, the header says %d", len(body), h.Compressed)
	}
	if got, want := checksum(payload), binary.LittleEndian.Uint32(payload[checkedLen:]); got != want {
		return Header{}, refuse(BadCRC, "checksum %08x, the header says %08x", got, want)
	}
	return h, nil
}

func checksum(payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(payload[:checkedLen], castagnoli), castagnoli, payload[HeaderBytes:])
}

// seal appends the payload that contains the stream to dst.
func seal(dst []byte, kind Kind, rows int, stream []byte) ([]byte, error) {
	if len(stream) > MaxUncompressedBytes {
		return dst, refuse(TooLarge, "%s of %d bytes uncompressed, the limit is %d", kind, len(stream), MaxUncompressedBytes)
	}
	start, room := len(dst), HeaderBytes+snappy.MaxEncodedLen(len(stream))
	dst = slices.Grow(dst, room)[:start+room]
	body := snappy.Encode(dst[start+HeaderBytes:], stream)
	if len(body) > MaxCompressedBytes {
		return dst[:start], refuse(TooLarge, "%s of %d bytes compressed, the limit is %d: send fewer rows at a time", kind, len(body), MaxCompressedBytes)
	}
	payload := dst[start : start+HeaderBytes+len(body)]
	copy(payload, magic)
	payload[4], payload[5] = version, byte(kind)
	binary.LittleEndian.PutUint16(payload[6:], 0)
	binary.LittleEndian.PutUint32(payload[8:], uint32(rows))
	binary.LittleEndian.PutUint32(payload[12:], uint32(len(stream)))
	binary.LittleEndian.PutUint32(payload[16:], uint32(len(body)))
	binary.LittleEndian.PutUint32(payload[checkedLen:], checksum(payload))
	return dst[:start+len(payload)], nil
}

// unseal decompresses the stream into buf, which it grows as needed and returns.
func unseal(payload, buf []byte, want Kind) (Header, []byte, error) {
	h, err := ParseHeader(payload)
	if err != nil {
		return h, buf, err
	}
	if h.Kind != want {
		return h, buf, refuse(BadKind, "%s, want %s", h.Kind, want)
	}
	body := payload[HeaderBytes:]
	if n, err := snappy.DecodedLen(body); err != nil || n != h.Uncompressed {
		return h, buf, refuse(BadSnappy, "block of %d bytes, the header says %d (%v)", n, h.Uncompressed, err)
	}
	buf = slices.Grow(buf[:0], h.Uncompressed)[:h.Uncompressed]
	if _, err := snappy.Decode(buf, body); err != nil {
		return h, buf, refuse(BadSnappy, "%v", err)
	}
	return h, buf, nil
}
