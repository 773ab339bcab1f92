package flightrecorder

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// unicode is a string of a pickle.
func unicode(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

// Each opcode makes the value that Python's unpickler makes of it.
func TestOpcodes(t *testing.T) {
	const key = "\x8c\x01k"
	items := func(v ...any) *list { return &list{items: v} }
	one := &dict{at: map[string]any{"k": int64(1)}}
	for data, want := range map[string]any{
		"N.":                 nil,
		"\x88.":              true,
		"\x89.":              false,
		"J\xfe\xff\xff\xff.": int64(-2),
		"K\xff.":             int64(255),
		"M\x01\x80.":         int64(0x8001),
		"\x8a\x02\x00\x80.":  int64(-32768),
		"\x8b\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01.": new(big.Int).Lsh(big.NewInt(1), 64),
		"G\x3f\xf8\x00\x00\x00\x00\x00\x00.":                        1.5,
		"U\x02ab.":                                                  "ab",
		"C\x02ab.":                                                  "ab",
		"\x8c\x02ab.":                                               "ab",
		"T\x02\x00\x00\x00ab.":                                      "ab",
		"X\x02\x00\x00\x00ab.":                                      "ab",
		"B\x02\x00\x00\x00ab.":                                      "ab",
		"\x8d\x02\x00\x00\x00\x00\x00\x00\x00ab.":                   "ab",
		"\x8e\x02\x00\x00\x00\x00\x00\x00\x00ab.":                   "ab",
		"].":                                   items(),
		").":                                   items(),
		"}.":                                   &dict{},
		"K\x01\x85.":                           items(int64(1)),
		"K\x01K\x02\x86.":                      items(int64(1), int64(2)),
		"K\x01K\x02K\x03\x87.":                 items(int64(1), int64(2), int64(3)),
		"(K\x01K\x02t.":                        items(int64(1), int64(2)),
		"(K\x01K\x02l.":                        items(int64(1), int64(2)),
		"(t.":                                  items(),
		"]K\x01a.":                             items(int64(1)),
		"](K\x01K\x02e(K\x03e.":                items(int64(1), int64(2), int64(3)),
		"(" + key + "K\x01d.":                  one,
		"}" + key + "K\x01s.":                  one,
		"}(" + key + "K\x01u.":                 one,
		"}(" + key + "K\x02" + key + "K\x01u.": one,
		"}K\x07K\x01s.":                        &dict{at: map[string]any{"7": int64(1)}},
		"}(u.":                                 &dict{},
		"K\x01K\x020.":                         int64(1),
		"K\x01(K\x02K\x031.":                   int64(1),
		"K\x012\x86.":                          items(int64(1), int64(1)),
		"K\x01q\xff0h\xff.":                    int64(1),
		"K\x01r\x00\x01\x00\x000j\x00\x01\x00\x00.":          int64(1),
		"K\x01\x94K\x02\x9400h\x01.":                         int64(2),
		"\x80\x05K\x01.":                                     int64(1),
		"\x80\x04\x95\x03\x00\x00\x00\x00\x00\x00\x00K\x01.": int64(1),
	} {
		if got, err := unpickle([]byte(data)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %v, %v, want %v", data, got, err, want)
		}
	}
}

// Malformed pickles are errors that name the file and the place, after the state that the opcode lacks.
func TestMalformedPickles(t *testing.T) {
	for data, want := range map[string]string{
		"\x80\x06}.":                 "byte 0: pickle protocol 6: want 2 to 5",
		"\x80":                       "byte 0: truncated: need 1 bytes, 0 are left",
		"\x80\x02":                   "byte 2: truncated: need 1 bytes, 0 are left",
		"\x80\x02.":                  "byte 2: need 1 values, the stack has 0",
		"\x80\x02(.":                 "byte 3: found a mark, want a value",
		"\x80\x02](.":                "byte 4: found a mark, want a value",
		"\x80\x02]K\x01.":            "byte 5: 1 values are left at the end",
		"\x80\x02J\x01\x00":          "byte 2: truncated: need 4 bytes, 2 are left",
		"\x80\x02G\x01\x00":          "byte 2: truncated: need 8 bytes, 2 are left",
		"\x80\x02\x8a\x05a":          "byte 2: truncated: need 5 bytes, 1 are left",
		"\x80\x02\x8b\x05\x00a":      "byte 2: truncated: need 4 bytes, 3 are left",
		"\x80\x02\x8c\x05a":          "byte 2: truncated: need 5 bytes, 1 are left",
		"\x80\x04\x95\x01":           "byte 2: truncated: need 8 bytes, 1 are left",
		"\x80\x02K\x01\x86.":         "byte 4: need 2 values, the stack has 1",
		"\x80\x02K\x01\x87.":         "byte 4: need 3 values, the stack has 1",
		"\x80\x02(K\x01\x86.":        "byte 5: found a mark, want a value",
		"\x80\x02K\x01t.":            "byte 4: no mark on the stack",
		"\x80\x02K\x01l.":            "byte 4: no mark on the stack",
		"\x80\x02K\x01d.":            "byte 4: no mark on the stack",
		"\x80\x02}K\x01u.":           "byte 5: no mark on the stack",
		"\x80\x02K\x011.":            "byte 4: no mark on the stack",
		"\x80\x02(K\x01d.":           "byte 5: a key without a value",
		"\x80\x02(NNd.":              "byte 5: a key is neither string nor integer",
		"\x80\x02}NNs.":              "byte 5: a key is neither string nor integer",
		"\x80\x02}Ks":                "byte 5: truncated: need 1 bytes",
		"\x80\x02}K\x01a.":           "byte 5: values are added to something that is not a list",
		"\x80\x02}(K\x01e.":          "byte 6: values are added to something that is not a list",
		"\x80\x02]K\x01K\x02s.":      "byte 7: keys are set in something that is not a dict",
		"\x80\x02](K\x01K\x02u.":     "byte 8: keys are set in something that is not a dict",
		"\x80\x02K\x01a.":            "byte 4: the stack is empty",
		"\x80\x02(e.":                "byte 3: the stack is empty",
		"\x80\x02(K\x01K\x02u.":      "byte 7: the stack is empty",
		"\x80\x02K\x01K\x02s.":       "byte 6: the stack is empty",
		"\x80\x02q\x00.":             "byte 2: the stack is empty",
		"\x80\x02\x94.":              "byte 2: the stack is empty",
		"\x80\x020.":                 "byte 2: need 1 values, the stack has 0",
		"\x80\x02(0.":                "byte 3: found a mark, want a value",
		"\x80\x022.":                 "byte 2: need 1 values, the stack has 0",
		"\x80\x02(2.":                "byte 3: found a mark, want a value",
		"\x80\x02j\x00\x01\x00\x00.": "byte 2: memo 256 is read before it is set",
		"\x80\x02\xff.":              "byte 2: opcode 0xff is not among those of a Flight Recorder dump",
		"\x80\x02}.]":                "byte 3: 1 bytes follow the end",
	} {
		if _, err := Parse("_dump_0", []byte(data)); err == nil || !strings.HasPrefix(err.Error(), "_dump_0: "+want) {
			t.Errorf("%q: error %v, want _dump_0: %s", data, err, want)
		}
	}
	for op, name := range refused {
		if _, err := Parse("_dump_0", []byte{opProto, 2, op}); err == nil || !strings.HasPrefix(err.Error(), "_dump_0: byte 2: opcode "+name+" would load or call code") {
			t.Errorf("opcode %#x: %v, want a refusal of %s", op, err, name)
		}
	}
}

// What a pickle can claim is bounded, whatever its opcodes repeat: each of these would take gigabytes.
func TestMalformedPicklesAreBounded(t *testing.T) {
	ranks := unicode("ranks")
	numbers := strings.Repeat("0 ", 200_000)
	groups := func(value string) string {
		var b strings.Builder
		b.WriteString("\x80\x02}(" + unicode("entries") + "]" + unicode("pg_config") + "}(" + unicode("a") + "}" + ranks + value + "q\x00s")
		for i := range 2000 {
			b.WriteString(unicode(fmt.Sprint(i)) + "}" + ranks + "h\x00s")
		}
		return b.String() + "uu."
	}
	for name, c := range map[string]struct{ data, want string }{
		"ranks of text shared by groups":   {groups(unicode(numbers)), "values and characters in pg_config"},
		"ranks in a list shared by groups": {groups("](" + strings.Repeat("K\x01", 200_000) + "e"), "values and characters in pg_config"},
		"a memo of one value":              {"\x80\x02}" + strings.Repeat("\x94", 3*maxValues), "values in the memo"},
		"values that are popped":           {"\x80\x02" + strings.Repeat("N0", maxValues+1), "byte 8388610: more than 4194304 values"},
		"values on the stack":              {"\x80\x02" + strings.Repeat("N", maxStack+1), "byte 1048578: more than 1048576 values on the stack"},
		"a rank of a megabyte":             {"\x80\x02}(" + unicode("entries") + "]" + unicode("pg_config") + "}K\x01}" + ranks + unicode(strings.Repeat("7", 1<<20)) + "ssu.", "is not a rank"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Parse("_dump_0", []byte(c.data))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.HasPrefix(err.Error(), "_dump_0: byte ") || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 300 {
			t.Errorf("%s: error %.300v, want one with %q", name, err, c.want)
		}
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 1024 {
			t.Errorf("%s: %d MiB were allocated", name, used)
		} else {
			t.Logf("%s: %d MiB", name, used)
		}
	}
}
