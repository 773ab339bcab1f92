package linkscsv_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/segment/linkscsv"
)

func interval(t *testing.T, second int64, table string) *schema.Snapshot {
	t.Helper()
	snaps, err := read("a.csv", strings.NewReader(table), graph(t, "torus:4x4"))
	if err != nil || len(snaps) != 1 {
		t.Fatalf("%d intervals, %v", len(snaps), err)
	}
	snaps[0].Interval = schema.Interval{StartNanos: second * 1e9, DurationNanos: 1e9}
	return snaps[0]
}

// TestWrite: intervals are written with a time column and read back unchanged; a missing value
// stays missing, and a link without any value has no row.
func TestWrite(t *testing.T) {
	var out bytes.Buffer
	w := linkscsv.NewWriter(&out)
	for second, table := range []string{"link,credit,inq\n0,1.5,\n7,0.1,20\n9,,\n", "link,inq\n3,12.25\n"} {
		if err := w.Write(interval(t, int64(second), table)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	const want = "time,link,credit_stall,inq_stall\n" +
		"1970-01-01T00:00:00Z,0,1.5,\n1970-01-01T00:00:00Z,7,0.1,20\n1970-01-01T00:00:01Z,3,,12.25\n"
	if out.String() != want {
		t.Fatalf("got\n%swant\n%s", out.String(), want)
	}
	snaps, err := read("a.csv", strings.NewReader(want), graph(t, "torus:4x4"))
	if err != nil || len(snaps) != 2 {
		t.Fatalf("%d intervals read back, %v", len(snaps), err)
	}
	out.Reset()
	again := linkscsv.NewWriter(&out)
	for _, s := range snaps {
		if err := again.Write(s); err != nil {
			t.Fatal(err)
		}
	}
	if err := again.Flush(); err != nil || out.String() != want {
		t.Fatalf("read and written again: %v\n%s", err, out.String())
	}
}

func TestWriteRefuses(t *testing.T) {
	w := linkscsv.NewWriter(&bytes.Buffer{})
	if err := w.Write(interval(t, 5, "link,credit\n0,1\n")); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(interval(t, 4, "link,credit\n0,1\n")); err == nil {
		t.Error("an interval before the last is taken")
	}
	if err := w.Write(interval(t, 6, "link,inq\n0,1\n")); err == nil {
		t.Error("a metric that has no column is taken")
	}
}
