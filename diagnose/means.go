package diagnose

import (
	"encoding/binary"

	"github.com/giverny/giverny/schema"
)

const (
	perWord = 8 // links of which levels are added up at a time, as lanes of a word
	// Lanes of a word: the even bytes, the lowest and the highest bit of each byte.
	evenBytes, lowBits, highBits = 0x00ff00ff00ff00ff, 0x0101010101010101, 0x8080808080808080
)

// levelSum are the sums of some slots' levels of eight links: 16 bits each, of up to 255 slots.
type levelSum struct {
	even, odd uint64
	missing   uint64 // slots in which a link was not measured, a byte each
}

// add takes in the levels of a slot.
func (s *levelSum) add(levels uint64) {
	if full := ^levels; (full-lowBits)&^full&highBits != 0 { // some byte may be levelMissing
		for lane := 0; lane < 64; lane += 8 {
			if uint8(levels>>lane) == levelMissing {
				s.missing += 1 << lane
				levels &^= levelMissing << lane
			}
		}
	}
	s.even += levels & evenBytes
	s.odd += levels >> 8 & evenBytes
}

// of is the sum of one of the links, and in how many slots it is missing.
func (s *levelSum) of(link int) (sum, missing int) {
	sums := s.even
	if link%2 != 0 {
		sums = s.odd
	}
	return int(uint16(sums >> (link / 2 * 16))), int(uint8(s.missing >> (8 * link)))
}

// average fills a series with the means of links in slots from one to another, at most 255, of those in which each was measured.
func (l *levels) average(from, to int64, out *schema.Series) {
	clear(out.Valid)
	out.Count = 0
	slots := int(to - from + 1)
	of := make([]float32, slots*levelMost+1) // the mean, by the sum over all slots
	for sum := range of {
		of[sum] = float32(float64(sum) / float64(slots) / levelsPerPercent)
	}
	var sums [32]levelSum // of some links at a time, so that they stay at hand
	for first := 0; first < l.links; first += perWord * len(sums) {
		clear(sums[:])
		links := min(perWord*len(sums), l.links-first)
		for slot := from; slot <= to; slot++ {
			row := l.row(slot)[first:][:links]
			for i := range sums[:(links+perWord-1)/perWord] {
				sums[i].add(levelsAt(row[perWord*i:]))
			}
		}
		for i := range links {
			sum, missing := sums[i/perWord].of(i % perWord)
			switch {
			case missing == 0:
				out.Values[first+i] = of[sum]
			case missing < slots:
				out.Values[first+i] = float32(float64(sum) / float64(slots-missing) / levelsPerPercent)
			default:
				continue
			}
			out.Valid.Set(first + i)
			out.Count++
		}
	}
}

// levelsAt are the levels of the first eight links of a row as a word; of fewer, if it is shorter.
func levelsAt(row []uint8) uint64 {
	if len(row) >= perWord {
		return binary.LittleEndian.Uint64(row)
	}
	var word [perWord]uint8
	copy(word[:], row)
	return binary.LittleEndian.Uint64(word[:])
}
