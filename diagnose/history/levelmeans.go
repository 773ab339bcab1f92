package history

import (
	"encoding/binary"
	"math"

	"github.com/giverny/giverny/schema"
)

const (
	perWord = 8 // links whose levels are added at once, as lanes of a word
	// Lanes of a word: the even bytes, the lowest and the highest bit of each byte.
	evenBytes, lowBits, highBits = 0x00ff00ff00ff00ff, 0x0101010101010101, 0x8080808080808080
)

// levelSum holds the sums of eight links' levels: 16 bits each, for up to 255 slots.
type levelSum struct {
	even, odd uint64
	missing   uint64 // slots in which a link was not measured, a byte each
}

// add adds the levels of a slot.
func (s *levelSum) add(levels uint64) {
	if full := ^levels; (full-lowBits)&^full&highBits != 0 { // some byte may be LevelMissing
		for lane := 0; lane < 64; lane += 8 {
			if uint8(levels>>lane) == LevelMissing {
				s.missing += 1 << lane
				levels &^= LevelMissing << lane
			}
		}
	}
	s.even += levels & evenBytes
	s.odd += levels >> 8 & evenBytes
}

// of returns the sum of one link, and in how many slots it is missing.
func (s *levelSum) of(link int) (sum, missing int) {
	sums := s.even
	if link%2 != 0 {
		sums = s.odd
	}
	return int(uint16(sums >> (link / 2 * 16))), int(uint8(s.missing >> (8 * link)))
}

// blockLinks is the number of links whose means are computed together.
const blockLinks = 256

// quotients caches, by number of slots, the mean for every sum of a link's levels, percent.
type quotients map[int][]float64

func (m *quotients) over(slots int) []float64 {
	of, known := (*m)[slots]
	if !known {
		if *m == nil {
			*m = quotients{}
		}
		of = make([]float64, slots*levelMost+1)
		for sum := range of {
			of[sum] = float64(sum) / float64(slots) / LevelsPerPercent
		}
		(*m)[slots] = of
	}
	return of
}

// means computes the means, percent, of the links from first on over at most 255 slots, of those in which each was
// measured; -1 if in none.
func (l *levels) means(of []int64, first int, out []float64) {
	slots := len(of)
	if slots == 0 {
		for i := range out {
			out[i] = -1
		}
		return
	}
	var sums [blockLinks / perWord]levelSum
	for _, slot := range of {
		row := l.Row(slot)[first:][:len(out)]
		for i := range sums[:(len(out)+perWord-1)/perWord] {
			sums[i].add(levelsAt(row[perWord*i:]))
		}
	}
	quotients := l.quotients.over(slots)
	for i := range out {
		switch sum, missing := sums[i/perWord].of(i % perWord); {
		case missing == 0:
			out[i] = quotients[sum]
		case missing < slots:
			out[i] = float64(sum) / float64(slots-missing) / LevelsPerPercent
		default:
			out[i] = -1
		}
	}
}

// average fills a series with the means of all links over the slots from one to another, of those in which each was
// measured.
func (l *levels) average(from, to int64, out *schema.Series) {
	clear(out.Valid)
	out.Count = 0
	var of [blockLinks]float64
	slots := l.between[:0]
	for slot := from; slot <= to; slot++ {
		slots = append(slots, slot)
	}
	l.between = slots
	for first := 0; first < l.links; first += blockLinks {
		block := of[:min(blockLinks, l.links-first)]
		l.means(slots, first, block)
		for i, mean := range block {
			if mean >= 0 {
				out.Values[first+i] = float32(mean)
				out.Valid.Set(first + i)
				out.Count++
			}
		}
	}
}

// levelsAt packs the levels of the first eight links of a row into a word; of fewer, if it is shorter.
func levelsAt(row []uint8) uint64 {
	if len(row) >= perWord {
		return binary.LittleEndian.Uint64(row)
	}
	var word [perWord]uint8
	copy(word[:], row)
	return binary.LittleEndian.Uint64(word[:])
}

// Moments returns in how many slots from one to another a link was measured, and the mean and standard deviation of its
// values, percent.
func (l *levels) Moments(from, to int64, link schema.LinkID) (n, mean, deviation float64) {
	sum, squares := 0., 0.
	for slot := from; slot <= to; slot++ {
		if v := l.Row(slot)[link]; v != LevelMissing {
			v := float64(v) / LevelsPerPercent
			n, sum, squares = n+1, sum+v, squares+v*v
		}
	}
	if n == 0 {
		return 0, 0, 0
	}
	mean = sum / n
	return n, mean, math.Sqrt(max(0, squares/n-mean*mean))
}
