package history

import (
	"github.com/giverny/giverny/schema"
)

// Feature is a kind of traffic of a job (Monet, section 7), bytes per interval.
type Feature uint8

const (
	Read Feature = iota
	Write
	RDMARead
	RDMAWrite
	allToAll  // estimated: what crosses the least of the bisection cuts
	manyToOne // estimated: what one part takes in beyond what it sends
	NumFeatures
)

// NumMeasured features come first, the others are estimated.
const NumMeasured = RDMAWrite + 1

var featureNames = [NumFeatures]string{"read_bytes", "write_bytes", "rdma_read_bytes", "rdma_write_bytes",
	"all_to_all_bytes", "many_to_one_bytes"}

// String is its column of the traffic table.
func (f Feature) String() string { return featureNames[f] }

// isFile reports whether it is file system traffic.
func (f Feature) isFile() bool { return f == Read || f == Write }

// Traffic holds a job's features in ring buffers over the last slots: slot s is at s modulo the length.
type Traffic struct {
	length int
	values []float32         // bytes; feature f begins at f*length
	last   int64             // slot up to which the rings are valid
	Listed [NumMeasured]bool // the traffic table has values of it
}

// NewTraffic returns the rings of a job, missing in all slots up to now.
func NewTraffic(length int, now int64) *Traffic {
	t := &Traffic{length: length, values: make([]float32, int(NumFeatures)*length), last: now}
	for f := range NumFeatures {
		t.forget(f)
	}
	return t
}

// forget makes a feature missing in all slots.
func (t *Traffic) forget(f Feature) {
	values := t.values[int(f)*t.length:]
	for i := range values[:t.length] {
		values[i] = missing
	}
}

// advance extends the rings to now; new slots are missing.
func (t *Traffic) advance(now int64) {
	for s := max(t.last+1, now-int64(t.length)+1); s <= now; s++ {
		for f := range int(NumFeatures) {
			t.values[f*t.length+ring(s, t.length)] = missing
		}
	}
	t.last = max(t.last, now)
}

// At is a feature in a slot.
func (t *Traffic) At(f Feature, slot int64) float32 {
	if slot > t.last || slot <= t.last-int64(t.length) {
		return missing
	}
	return t.values[int(f)*t.length+ring(slot, t.length)]
}

// Set stores a feature in a slot, if it is within the ring.
func (t *Traffic) Set(f Feature, slot int64, bytes float64) {
	if slot > t.last || slot <= t.last-int64(t.length) || !schema.IsBytes(bytes) {
		return
	}
	t.values[int(f)*t.length+ring(slot, t.length)] = float32(bytes)
}

// Main is the measured feature with the largest sum over the slots from one to another.
func (t *Traffic) Main(from, to int64) (main Feature) {
	most := 0.
	for f := range NumMeasured {
		sum := 0.
		for slot := from; slot <= to; slot++ {
			sum += float64(orZero(t.At(f, slot)))
		}
		if sum > most {
			main, most = f, sum
		}
	}
	return main
}

// MovedIn appends a job's traffic, bytes, in each slot from one to another in which its main feature was measured:
// without that, the others say too little.
func (t *Traffic) MovedIn(out []float64, main Feature, from, to int64) []float64 {
	for slot := from; slot <= to; slot++ {
		if IsMissing(t.At(main, slot)) {
			continue
		}
		all, _, _ := t.Moved(slot)
		out = append(out, all)
	}
	return out
}

// Moved is the largest measured feature in a slot, and the larger of the file reads and writes.
func (t *Traffic) Moved(slot int64) (all, files float64, known bool) {
	for f := Read; f <= RDMAWrite; f++ {
		v := t.At(f, slot)
		if IsMissing(v) {
			continue
		}
		known = true
		if all = max(all, float64(v)); f.isFile() {
			files = max(files, float64(v))
		}
	}
	return all, files, known
}
