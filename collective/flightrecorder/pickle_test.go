package flightrecorder

import (
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/test/repo"
)

// sample is what Python's pickle.dumps(v, 2) makes of a small dump.
const sample = "\x80\x02}q\x00(X\x07\x00\x00\x00versionq\x01X\x03\x00\x00\x002.9q\x02X\x09\x00\x00\x00pg_configq\x03}q\x04X\x01\x00\x00\x000q\x05}q\x06(" +
	"X\x04\x00\x00\x00nameq\x07h\x05X\x05\x00\x00\x00ranksq\x08X\x06\x00\x00\x00[0, 1]q\x09usX\x07\x00\x00\x00entriesq\x0a]q\x0b}q\x0c(" +
	"X\x05\x00\x00\x00pg_idq\x0dK\x00X\x0d\x00\x00\x00process_groupq\x0eh\x05X\x07\x00\x00\x00defaultq\x0f\x86q\x10" +
	"X\x0f\x00\x00\x00time_created_nsq\x11\x8a\x08\xdb\xd4Y\x00\x00\x00\x00\x01X\x05\x00\x00\x00stateq\x12X\x09\x00\x00\x00scheduledq\x13uau."

func TestUnpickle(t *testing.T) {
	d, err := Parse("_dump_1", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{{Group: "0", Seq: -1, CreatedNanos: 0x0100000000000000 + 0x59d4db}}
	if !reflect.DeepEqual(d.Entries, want) || !reflect.DeepEqual(d.Groups["0"].Ranks, []int{0, 1}) || d.Version != "2.9" || d.Rank != 1 {
		t.Errorf("%+v, want %+v", d, want)
	}
}

func TestIntegers(t *testing.T) {
	for data, want := range map[string]any{
		"": int64(0), "\xff": int64(-1), "\x00\x80": int64(-32768), "\xff\x00": int64(255),
		"\x00\x00\x00\x00\x00\x00\x00\x80":     int64(-1 << 63),
		"\x00\x00\x00\x00\x00\x00\x00\x00\x01": new(big.Int).Lsh(big.NewInt(1), 64),
		"\x00\x00\x00\x00\x00\x00\x00\x00\x80": new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 71)),
		"\x00\x00\x00\x00\x00\x00\x00\x00\xff": new(big.Int).Neg(new(big.Int).Lsh(big.NewInt(1), 64)),
	} {
		if got := integer([]byte(data)); !reflect.DeepEqual(got, want) {
			t.Errorf("%x is %v, want %v", data, got, want)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	for data, want := range map[string]string{
		"":                             "byte 0: truncated: the file is empty",
		"\x80\x02cos\nsystem\nX\x02":   "byte 2: opcode GLOBAL would load or call code",
		"\x80\x04\x8c\x02os\x93.":      "STACK_GLOBAL would load or call code",
		"\x80\x02}R.":                  "REDUCE",
		"\x80\x02(i__main__\nX\n.":     "INST",
		"\x80\x02}b.":                  "BUILD",
		"\x80\x09}.":                   "byte 0: pickle protocol 9",
		"\x80\x02X\xff\xff\xff\xffabc": "byte 2: truncated: need 4294967295 bytes, 3 are left",
		"\x80\x02\x8e\xff\xff\xff\xff\xff\xff\xff\xff": "byte 2: truncated",
		"\x80\x02h\x05.":                 "memo 5 is read before it is set",
		"\x80\x02e.":                     "no mark on the stack",
		"\x80\x02a.":                     "the stack has 0",
		"\x80\x02}(]]u.":                 "a key is neither string nor integer",
		"\x80\x02}(X\x01\x00\x00\x00au.": "a key without a value",
		"\x80\x02].":                     "want a dict with entries",
		"\x80\x02}.":                     "neither entries nor pg_status",
		"\x80\x02}}.":                    "1 values are left",
		"\x80\x02}.}":                    "1 bytes follow the end",
		"plain text":                     "opcode 0x70 is not among",
		`{"entries": [`:                  "JSON",
		`{"entries": []} x`:              "data after the JSON object",
		`{"entries": [3]}`:               "entry 0: want a dict",
		`{"entries": [{"state":"odd"}]}`: "state",
		`{"entries": [], "pg_config":{"0":{"ranks":"[x]"}}}`:     "is not a rank",
		`{"entries": [], "pg_status":{"zero":{}}}`:               "pg_status",
		"\x80\x02}(X\x07\x00\x00\x00entries]q\x00(h\x00h\x00eu.": "entry 0: want a dict",
	} {
		_, err := Parse("_dump_0", []byte(data))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "_dump_0: byte ") {
			t.Errorf("%q: error %v, want one of _dump_0 with %q", data, err, want)
		}
	}
}

// TestHostileMemory: lists that contain each other many times cost no more than the
// bounds.
func TestHostileMemory(t *testing.T) {
	var b strings.Builder
	b.WriteString("\x80\x02}(X\x07\x00\x00\x00entries](")
	b.WriteString("}(X\x0b\x00\x00\x00input_sizes]q\x00(")
	for range 1000 {
		b.WriteString("K\x01")
	}
	b.WriteString("eq\x01]q\x02(")
	for range 1000 {
		b.WriteString("h\x00")
	}
	b.WriteString("eX\x0c\x00\x00\x00input_dtypes]q\x03(")
	for range 1000 {
		b.WriteString("h\x02")
	}
	b.WriteString("euq\x04")
	for range 1000 {
		b.WriteString("h\x04")
	}
	b.WriteString("eu.")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Parse("_dump_0", []byte(b.String()))
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; err == nil || used > 256<<20 {
		t.Errorf("%d bytes were allocated, error %v: want a refusal within 256 MiB", used, err)
	}
	deep := "\x80\x02" + strings.Repeat("]", 2<<20)
	if _, err := Parse("_dump_0", []byte(deep)); err == nil || !strings.Contains(err.Error(), "on the stack") {
		t.Errorf("2 million nested lists: error %v", err)
	}
}

// TestRecordedDumpsCutAnywhere: every prefix of a dump is refused with the place.
func TestRecordedDumpsCutAnywhere(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(repo.Fixture(t, "collective", "flight-recorder", "lock_gil_1st"), "_dump_9"))
	if err != nil {
		t.Fatal(err)
	}
	for n := range len(data) {
		if _, err := Parse("_dump_9", data[:n]); err == nil || !strings.Contains(err.Error(), "byte ") {
			t.Fatalf("the first %d bytes of %d: error %v", n, len(data), err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`{"version":"2.9","pg_config":{"0":{"ranks":"[0, 1]"}},"pg_status":{"0":{"last_enqueued_collective":3}},"entries":[{"process_group":["0",""],"collective_seq_id":1,"profiling_name":"nccl:send 0->1","is_p2p":true,"input_sizes":[[1]]}]}`))
	f.Add([]byte("\x80\x02]q\x00h\x00a."))
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := Parse("_dump_0", data)
		if err != nil {
			return
		}
		b, err := Parse("_dump_1", data)
		if err != nil {
			t.Fatalf("the same bytes were read once: %v", err)
		}
		report, err := reportOf([]*Dump{a, b})
		if err != nil {
			t.Fatal(err)
		}
		if report.Text() == "" {
			t.Error("a report without text")
		}
	})
}
