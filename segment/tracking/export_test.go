package tracking

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/giverny/giverny/topology"
)

// LoadOfVersion is Load of a state saved under another version of the same graph.
func LoadOfVersion(g *topology.Graph, cfg Config, saved []byte, graphVersion uint64) (*Tracker, error) {
	t, err := New(g, cfg)
	if err != nil {
		return nil, err
	}
	t.graphVersion = graphVersion
	if err := format.Open(saved, t.code); err != nil {
		return nil, err
	}
	t.graphVersion = g.Version()
	return t, nil
}

// Sealed returns the bytes with a valid checksum, so that fuzzing gets past it.
func Sealed(saved []byte) []byte {
	if len(saved) < 4 {
		return saved
	}
	body := saved[: len(saved)-4 : len(saved)-4]
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
}
