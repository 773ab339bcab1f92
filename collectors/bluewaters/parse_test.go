package bluewaters

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestMinuteOf(t *testing.T) {
	const day = 1483228800 // 2017-01-01, a multiple of 60
	for _, c := range []struct {
		seconds, nanos int64
	}{{0, 0}, {1, 0}, {29, 999999999}, {30, 0}, {30, 1}, {31, 0}, {59, 0}, {60, 0}, {89, 0}, {90, 0}, {90, 500000000}, {86399, 0}, {-29, 0}, {-30, 0}} {
		// The release's rule, in floating point: the bucket around the start of
		// the day is number 1.
		bucket := math.Ceil((float64(c.seconds) + float64(c.nanos)/1e9 + 30) / 60)
		if got := minuteOf(day+c.seconds, c.nanos) - day/60; got != int64(bucket)-1 {
			t.Errorf("%d.%09d s into the day: minute %d, want %v", c.seconds, c.nanos, got, bucket-1)
		}
	}
}

func row(text ...string) string {
	columns := strings.Split("1483228800"+strings.Repeat(",0", numColumns-1), ",")
	for i := 0; i+1 < len(text); i += 2 {
		var c int
		fmt.Sscan(text[i], &c)
		columns[c-1] = text[i+1]
	}
	return strings.Join(columns, ",")
}

func TestParseLine(t *testing.T) {
	for _, c := range []struct {
		line   string
		column int
		why    Reason
		want   func(*fields)
	}{
		{row("2", "100000000", "7", "5", "20", "23"), 0, 0, func(f *fields) { f.values[0], f.values[5], f.coord[0] = maxValue, 5, 23 }},
		{row("2", "12.49", "3", "12.5", "4", "1.5e7", "5", "-0"), 0, 0, func(f *fields) { f.values[0], f.values[1], f.values[2] = 12, 13, 15_000_000 }},
		{row("2", " 7 ", "3", `"8"`, "4", "007"), 0, 0, func(f *fields) { f.values[0], f.values[1], f.values[2] = 7, 8, 7 }},
		{row("1", "1483228800.25", "22", "3.0"), 0, 0, func(f *fields) { f.nanos, f.coord[2] = 250_000_000, 3 }},
		{row("2", "100000000.6"), 2, TooLarge, nil},
		{row("2", "100000001"), 2, TooLarge, nil},
		{row("2", "99999999999999999999999"), 2, TooLarge, nil},
		{row("2", "1e999"), 2, TooLarge, nil},
		{row("2", "Inf"), 2, TooLarge, nil},
		{row("1", "7258118401"), 1, TooLarge, nil},
		{row("9", "-1"), 9, Negative, nil},
		{row("9", "-1e-3"), 9, Negative, nil},
		{row("9", "-inf"), 9, Negative, nil},
		{row("19", "nan"), 19, NaN, nil},
		{row("19", "NaN"), 19, NaN, nil},
		{row("3", ""), 3, NotANumber, nil},
		{row("3", "1 2"), 3, NotANumber, nil},
		{row("3", "zero"), 3, NotANumber, nil},
		{row("21", "1.5"), 21, NotANumber, nil},
		{row() + ",0", 23, WrongColumns, nil},
		{strings.TrimSuffix(row(), ",0"), 21, WrongColumns, nil},
		{"garbage", 1, NotANumber, nil},
	} {
		want := fields{unixSeconds: 1483228800}
		if c.want != nil {
			c.want(&want)
		}
		var got fields
		column, why := parseLine([]byte(c.line), canonicalLayout, &got)
		if column != c.column || why != c.why {
			t.Errorf("%s: column %d %v, want %d %v", c.line, column, why, c.column, c.why)
		} else if column == 0 && got != want {
			t.Errorf("%s: %+v, want %+v", c.line, got, want)
		}
		if n := parsePlain([]byte(c.line+"\n"), &got); n > 0 && (column > 0 || n != len(c.line)+1) {
			t.Errorf("%s: the plain path took %d bytes", c.line, n)
		}
	}
}

// All lines that the fast path accepts are read the same by the general one.
func checkPlain(t interface{ Errorf(string, ...any) }, text []byte) {
	var fast, slow fields
	n := parsePlain(text, &fast)
	if n == 0 {
		return
	}
	if end := bytes.IndexByte(text, '\n'); n != end+1 {
		t.Errorf("%q: took %d bytes of a line of %d", text, n, end+1)
	}
	if column, why := parseLine(text[:n-1], canonicalLayout, &slow); column > 0 || slow != fast {
		t.Errorf("%q: %+v, but %+v (column %d %v)", text, fast, slow, column, why)
	}
}

func TestPlainPathReadsWhatTheGeneralOneReads(t *testing.T) {
	number := rapid.OneOf(rapid.StringMatching(`[0-9]{1,10}`), rapid.StringMatching(`[0-9]{1,20}`), rapid.SampledFrom([]string{"0", "100000000", "100000001", "-1", "1.5", "", " 1", "x"}))
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.SliceOfN(number, numColumns-1, numColumns+1).Draw(t, "columns")
		checkPlain(t, []byte(strings.Join(columns, ",")+"\n1,2,3\n"))
	})
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{row(), row("2", "12.5"), row("3", "nan"), "#Time,1", header(), "", "\n", ","} {
		f.Add([]byte(line + "\n"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		checkPlain(t, text)
		var got fields
		if column, why := parseLine(text, canonicalLayout, &got); column == 0 {
			for _, v := range got.values {
				if v > maxValue {
					t.Errorf("%q: value %d", text, v)
				}
			}
		} else if why >= NumReasons || column < 1 || column > numColumns+1 {
			t.Errorf("%q: column %d, reason %d", text, column, why)
		}
		if layout, err := parseHeader(string(text)); err == nil && len(layout) < numColumns {
			t.Errorf("%q: a layout of %d columns", text, len(layout))
		}
	})
}

func TestParseHeader(t *testing.T) {
	layout, err := parseHeader(strings.TrimSuffix(header(), "\n"))
	if err != nil || fmt.Sprint(layout) != fmt.Sprint(canonicalLayout) {
		t.Errorf("the release's own header: %v, %v", layout, err)
	}
	spaceless := strings.NewReplacer(" (% x1e6)", "__%_x1e6_", "#", "").Replace(strings.TrimSuffix(header(), "\n"))
	if layout, err := parseHeader(spaceless); err != nil || fmt.Sprint(layout) != fmt.Sprint(canonicalLayout) {
		t.Errorf("%s: %v, %v", spaceless, layout, err)
	}
	columns := strings.Split(strings.TrimSuffix(header(), "\n"), ",")
	columns[0], columns[21] = columns[21], columns[0]
	columns = append([]string{"CompId", "X+_credit_stall (ns)"}, columns...)
	layout, err = parseHeader(strings.Join(columns, ","))
	if err != nil || layout[0] != -1 || layout[1] != -1 || layout[2] != columnX || layout[23] != columnTime {
		t.Errorf("other columns, in another order: %v, %v", layout, err)
	}
	for _, broken := range []string{strings.Join(columns[:23], ","), strings.Join(append(columns, columns[5]), ",")} {
		if _, err := parseHeader(broken); err == nil {
			t.Errorf("%s: no error", broken)
		}
	}
}
