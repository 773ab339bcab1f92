package recorded_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/giverny/giverny/ingest/recorded"
)

const (
	first = `{"time":"2026-01-05T00:00:00Z","device":"leaf0","port":"1","counters":{"a":1,"b":2}}`
	later = `{"time":"2026-01-05T00:02:00Z","device":"leaf0","port":"1","counters":{"a":5}}`
	other = `{"time":"2026-01-05T00:01:00Z","device":"leaf1","port":"2","counters":{"b":18446744073709551615}}`
)

// read returns all rows of files, by name a, b and so on, and the error that ended it.
func read(texts ...string) (rows []recorded.Row, err error) {
	r := recorded.NewReader()
	for i, text := range texts {
		if err := r.Add(string(rune('a'+i)), strings.NewReader(text)); err != nil {
			return nil, err
		}
	}
	for {
		row, err := r.Next()
		if err != nil {
			return rows, err
		}
		rows = append(rows, row)
	}
}

func TestFilesAreMergedByTime(t *testing.T) {
	rows, err := read("\ufeff# of leaf0\n"+first+"\r\n\n"+later+"\n", "", other)
	if !errors.Is(err, io.EOF) || len(rows) != 3 || rows[0].Device != "leaf0" || rows[1].Device != "leaf1" || rows[2].Counters["a"] != 5 {
		t.Fatalf("rows %v, error %v; want leaf0, leaf1 and leaf0 again", rows, err)
	}
}

func TestFaultsNameTheLine(t *testing.T) {
	for text, want := range map[string]string{
		"{\"time\":1}":                                               "a:1: ",
		first + "\n\nnot JSON":                                       "a:3: ",
		first + "\n{}":                                               "a:2: want time, device and port",
		`{"device":"leaf0","port":"1"}`:                              "a:1: want time, device and port",
		`{"time":"2026-01-05T00:00:00Z","port":"1"}`:                 "a:1: want time, device and port",
		`{"time":"2026-01-05T00:00:00Z","device":"leaf0"}`:           "a:1: want time, device and port",
		later + "\n" + strings.Replace(first, "00:00Z", "00:59Z", 1): "a:2: time 2026-01-05T00:00:59Z comes after 2026-01-05T00:02:00Z",
		later + "\n" + first:                                         "a:2: time 2026-01-05T00:00:00Z comes after 2026-01-05T00:02:00Z",
		strings.Repeat("x", 1<<20+1):                                 "a:1: bufio.Scanner: token too long",
	} {
		if _, err := read(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", text, err, want)
		}
	}
}

// A fault of the file, such as the end of a damaged archive, is said rather than that the line it cuts off is no JSON.
func TestALineThatIsCutOff(t *testing.T) {
	for text, want := range map[string]string{first + "\n" + later[:20]: "a:2: damaged", first + "\n": "a:2: damaged", later[:20]: "a:1: damaged"} {
		r := recorded.NewReader()
		err := r.Add("a", io.MultiReader(strings.NewReader(text), iotest.ErrReader(errors.New("damaged"))))
		if err == nil {
			_, err = r.Next()
		}
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// Readings of one file may be out of order by up to a minute, and then stay as they are.
func TestRowsSlightlyOutOfOrder(t *testing.T) {
	rows, err := read(later + "\n" + strings.Replace(first, "00:00Z", "01:00Z", 1))
	if !errors.Is(err, io.EOF) || len(rows) != 2 || rows[1].Time.Minute() != 1 {
		t.Errorf("rows %v, error %v", rows, err)
	}
}

func TestBatchOfRowsWithDifferentCounters(t *testing.T) {
	rows, _ := read(first, other, later)
	b := recorded.NewBatch("f", 7, time.Minute)
	for i, r := range rows {
		if n := b.Add(r); n != i+1 {
			t.Fatalf("%d rows after %d", n, i+1)
		}
	}
	got := b.Finish()
	if err := got.Check(); err != nil {
		t.Fatal(err)
	}
	if got.Fabric != "f" || got.Sequence != 7 || got.IntervalNanos != int64(time.Minute) || len(got.Ports) != 2 || !slices.Equal(got.PortIndex, []uint32{0, 1, 0}) {
		t.Errorf("batch %+v", got)
	}
	want := map[string][3]string{"a": {"1", "-", "5"}, "b": {"2", "18446744073709551615", "-"}}
	for _, c := range got.Columns {
		for row, text := range want[c.Name] {
			if c.Valid.Has(row) != (text != "-") || text != "-" && text != fmt.Sprint(c.Values[row]) {
				t.Errorf("%s in row %d: %d, %v; want %s", c.Name, row, c.Values[row], c.Valid.Has(row), text)
			}
		}
	}
	if len(got.Columns) != 2 {
		t.Errorf("%d columns, want 2", len(got.Columns))
	}
}

func TestRowsOfABatchHaveTheKeyCounterInCommon(t *testing.T) {
	row := func(names ...string) (r recorded.Row) {
		r.Counters = map[string]uint64{}
		for _, name := range names {
			r.Counters[name] = 1
		}
		return r
	}
	b := recorded.NewBatch("f", 1, time.Minute)
	b.Add(row("ib.port_xmit_data", "ib.port_xmit_wait", "ib.port_state"))
	for _, c := range []struct {
		row  recorded.Row
		fits bool
	}{
		{row("ib.port_xmit_data", "ib.symbol_error"), true},
		{row("ib.port_xmit_wait"), false},
		{row("ib.port_rcv_data", "ib.port_xmit_data"), true},
		{row("ib.symbol_error"), false},
		{row("gemini.credit_stall", "ib.port_xmit_data"), true},
	} {
		if b.Fits(c.row) != c.fits {
			t.Errorf("%v fits: %v, want %v", c.row.Counters, !c.fits, c.fits)
		}
	}
}

const (
	tableHead = "START_PM_INFO\nNodeGUID,PortGUID,PortNumber,PortXmitWait,PortXmitWaitExt,PortXmitData,PortXmitDataExtended,PortXmitDiscards\n"
	wideRow   = "0x00000000000000a1,0xa2,3,4294967295,0x0000000000001000,5,6,7\n"
	narrowRow = "0x00000000000000B1,0xb2,12,77,0xfffffffffffffffe,5,-1,N/A\n"
)

func TestIBDiagnet(t *testing.T) {
	at := time.Date(2026, 1, 5, 0, 1, 0, 0, time.UTC)
	r := recorded.NewReader()
	if err := errors.Join(r.AddIBDiagnet("later", strings.NewReader(tableHead+wideRow+"END_PM_INFO\n"), at.Add(time.Hour)),
		r.AddIBDiagnet("first", strings.NewReader("START_NODES\nx\nEND_NODES\n"+tableHead+wideRow+narrowRow+"END_PM_INFO\n"), at)); err != nil {
		t.Fatal(err)
	}
	got := ""
	for {
		row, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got += fmt.Sprintln(row.Time.Format("15:04"), row.Device, row.Port, row.Counters)
	}
	want := `00:01 00000000000000a1 3 map[ib.port_xmit_data:6 ib.port_xmit_discards:7 ib.port_xmit_wait:4096]
00:01 00000000000000b1 12 map[ib.port_xmit_data_32:5 ib.port_xmit_wait_32:77]
01:01 00000000000000a1 3 map[ib.port_xmit_data:6 ib.port_xmit_discards:7 ib.port_xmit_wait:4096]
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestIBDiagnetFaults(t *testing.T) {
	for text, want := range map[string]string{
		"START_NODES\nEND_NODES\nSTART_LINKS\n":                       "a: no section PM_INFO, in which ibdiagnet writes counters; it has NODES, LINKS",
		tableHead + wideRow:                                           "a: section PM_INFO of line 1 has no END_PM_INFO; the file is truncated",
		tableHead + "END_PM_INFO":                                     "a:1: section PM_INFO has no rows",
		tableHead + wideRow + "0x1,2\nEND_PM_INFO":                    "a:4: section PM_INFO: another number of fields",
		tableHead + wideRow + "x,,y,,,,,\nEND_PM_INFO":                "a:4: section PM_INFO: want a row with NodeGUID and PortNumber",
		"START_PM_INFO\nGuid,Port\n0x1,1\nEND_PM_INFO":                "a:3: section PM_INFO: want a row with NodeGUID and PortNumber",
		tableHead + wideRow + "END_PM_INFO\n" + tableHead + narrowRow: "a:5: section PM_INFO begins again",
	} {
		r := recorded.NewReader()
		err := r.AddIBDiagnet("a", strings.NewReader(text), time.Unix(0, 0))
		for err == nil {
			_, err = r.Next()
		}
		if !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
