package window

import (
	"slices"
	"strings"

	"github.com/giverny/giverny/schema"
)

// dictionaries resolve the names of ports in batches. A source sends the same
// dictionary repeatedly, so the port numbers of the earlier one are tried
// first: checking a guess is one comparison of names, a lookup is a search. The
// guesses affect only the speed.
type dictionaries struct {
	guesses map[uint64][]uint32 // by a hash of the reader and the dictionary's first port and length
	held    int                 // port numbers in guesses

	unknown    map[uint64]struct{} // hashes of unknown names, at most maxUnknown
	mismatches []string            // the first few unknown names
}

const (
	maxMismatches = 5       // examples for the log
	maxUnknown    = 1 << 16 // bounds memory: agents send any names
)

func newDictionaries() dictionaries {
	return dictionaries{guesses: map[uint64][]uint32{}, unknown: map[uint64]struct{}{}}
}

// resolve returns the numbers of the batch's ports, noPort for unknown ones.
// The slice is valid until the next call.
func (d *dictionaries) resolve(p *ports, b *schema.CounterBatch, reader uint64) []uint32 {
	if len(b.Ports) == 0 {
		return nil
	}
	key := hashText(hashText(reader, b.Ports[0].Device), b.Ports[0].Port) ^ uint64(len(b.Ports))
	numbers := d.guesses[key]
	if len(numbers) != len(b.Ports) {
		numbers = d.newGuesses(p, key, len(b.Ports))
	}
	for i, name := range b.Ports {
		if p.is(numbers[i], name) {
			continue
		}
		numbers[i] = p.find(name)
		if numbers[i] == noPort {
			d.miss(name)
		}
	}
	return numbers
}

// newGuesses allocates guesses for a new dictionary. Their total is limited to a
// multiple of the fabric's ports, whatever names arrive.
func (d *dictionaries) newGuesses(p *ports, key uint64, n int) []uint32 {
	if d.held += n - len(d.guesses[key]); d.held > 8*p.len()+1<<20 {
		clear(d.guesses)
		d.held = n
	}
	numbers := make([]uint32, n)
	for i := range numbers {
		numbers[i] = noPort
	}
	d.guesses[key] = numbers
	return numbers
}

func (d *dictionaries) miss(name schema.PortName) {
	if len(d.unknown) < maxUnknown {
		d.unknown[hashText(hashText(hashStart, name.Device), name.Port)] = struct{}{}
	}
	if len(d.mismatches) == maxMismatches {
		return
	}
	text := name.Device + "/" + name.Port
	if !slices.Contains(d.mismatches, text) {
		d.mismatches = append(d.mismatches, strings.Clone(text))
	}
}

// FNV-1a, 64 bits. A terminator keeps ("ab", "c") and ("a", "bc") apart.
const (
	hashStart = 14695981039346656037
	hashPrime = 1099511628211
)

func hashText(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * hashPrime
	}
	return (h ^ 0xff) * hashPrime
}
