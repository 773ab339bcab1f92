package flightrecorder

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Dump is what one rank recorded.
type Dump struct {
	Rank    int
	Version string           // format version, such as 2.9
	Groups  map[string]Group // by name
	Status  map[int]Status   // by the rank's own number of the group
	Entries []Entry          // by RecordID; usually only those not completed

	groupOf   map[int]string    // group name by number
	descs     map[string]string // group descriptions by name, from entries
	hasStatus bool              // the dump has pg_status, even if empty
	unread    error             // why the dump is unreadable: only its rank is known
}

// Group is a process group.
type Group struct {
	Desc  string
	Ranks []int // global ranks, in the group's order
}

// Status is a rank's progress in one group, as sequence numbers; -1: none.
type Status struct{ Enqueued, Started, Completed int64 }

// State of an entry.
type State uint8

// States.
const (
	Scheduled State = iota
	Started
	Completed
)

// Entry is one operation that a rank enqueued.
type Entry struct {
	RecordID       int64
	GroupID        int    // the rank's own number
	Group          string // name
	Seq            int64  // of the group's collectives
	P2PSeq         int64
	Op             string // such as nccl:all_reduce
	Inputs         Tensors
	Outputs        Tensors
	CreatedNanos   int64 // by the rank's clock
	StartedNanos   int64 // 0: not known
	CompletedNanos int64 // 0: not known
	State          State
	P2P            bool
}

// Tensors are what an operation reads or writes, printed for comparison.
type Tensors struct{ Types, Sizes string }

// RankOf returns the rank in a dump's file name, its last number: _dump_12,
// nccl_trace_rank_12, trace_12.json. Other files are not dumps.
func RankOf(name string) (int, bool) {
	base := path.Base(strings.ReplaceAll(name, "\\", "/"))
	for _, suffix := range []string{".json", ".pickle", ".pkl"} {
		base = strings.TrimSuffix(base, suffix)
	}
	digits := base[len(strings.TrimRight(base, "0123456789")):]
	rank, err := strconv.Atoi(digits)
	return rank, err == nil && rank < maxRanks
}

// maxRanks bounds the memory that a number in a dump or a file name can claim; the largest jobs have some 100,000 ranks.
const maxRanks = 1 << 20

// ErrCut means that a dump is truncated, as when its rank was killed while writing it.
var ErrCut = errors.New("truncated")

// Unread returns a placeholder for an unreadable dump: its rank, by file name, and the
// error. It returns the error itself if the name has no rank.
func Unread(name string, err error) (*Dump, error) {
	rank, ok := RankOf(name)
	if !ok {
		return nil, err
	}
	return &Dump{Rank: rank, unread: err}, nil
}

// Parse reads one dump. The rank is taken from the file name.
func Parse(name string, data []byte) (*Dump, error) {
	d, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; write the dump of this rank again", name, err)
	}
	rank, ok := RankOf(name)
	if !ok {
		return nil, fmt.Errorf("%s: the file name does not end in a rank: want a name such as nccl_trace_dump_12", name)
	}
	d.Rank = rank
	return d, nil
}

func parse(data []byte) (*Dump, error) {
	var root any
	var err error
	switch trimmed := bytes.TrimLeft(data, " \t\r\n"); {
	case len(data) == 0:
		return nil, fmt.Errorf("byte 0: %w: the file is empty", ErrCut)
	case container(data) != "":
		return nil, fmt.Errorf("byte 0: %s, not a Flight Recorder dump: want the pickle or JSON that PyTorch writes, unpacked", container(data))
	case len(trimmed) > 0 && trimmed[0] == '{':
		root, err = readJSON(data)
	default:
		root, err = unpickle(data)
	}
	if err != nil {
		return nil, err
	}
	d, ok := root.(*dict)
	if !ok {
		return nil, fmt.Errorf("byte 0: want a dict with entries")
	}
	return decode(d)
}

// container detects archives, compressed files and similar by their first bytes; empty
// if the data are none of these.
func container(data []byte) string {
	for _, c := range []struct{ magic, name string }{
		{"PK\x03\x04", "a zip archive"}, {"PK\x05\x06", "a zip archive"}, {"\x1f\x8b", "gzip data"}, {"BZh", "bzip2 data"},
		{"\xfd7zXZ\x00", "xz data"}, {"\x28\xb5\x2f\xfd", "zstd data"}, {"\x04\x22\x4d\x18", "lz4 data"}, {"7z\xbc\xaf\x27\x1c", "a 7z archive"},
		{"\x89HDF\r\n", "an HDF5 file"}, {"\x7fELF", "an executable"}, {"SQLite format 3\x00", "an SQLite database"},
	} {
		if bytes.HasPrefix(data, []byte(c.magic)) {
			return c.name
		}
	}
	if len(data) > 262 && string(data[257:262]) == "ustar" {
		return "a tar archive"
	}
	return ""
}

// tidy orders entries, drops duplicates and maps group numbers to names.
func (d *Dump) tidy() {
	slices.SortStableFunc(d.Entries, func(a, b Entry) int { return cmp.Compare(a.RecordID, b.RecordID) })
	d.Entries = slices.CompactFunc(d.Entries, func(a, b Entry) bool { return a.RecordID == b.RecordID })
	for _, e := range d.Entries {
		d.groupOf[e.GroupID] = e.Group
	}
	// A rank numbers its groups in order of creation, and the names count likewise: if
	// both lists are complete, the k-th number has the k-th name.
	var names []int
	for name := range d.Groups {
		if n, err := strconv.Atoi(name); err == nil {
			names = append(names, n)
		}
	}
	if len(names) != len(d.Groups) || len(names) != len(d.Status) {
		return
	}
	slices.Sort(names)
	for k, id := range slices.Sorted(maps.Keys(d.Status)) {
		if _, known := d.groupOf[id]; !known {
			d.groupOf[id] = strconv.Itoa(names[k])
		}
	}
}
