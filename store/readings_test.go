//go:build engine || integration

package store

import "testing"

func TestReadingsComeBackByCounter(t *testing.T) {
	db := migratedDB(t)
	for n := int64(1); n <= 2; n++ {
		if err := db.Store(t.Context(), someResult("bw", n, 10)); err != nil {
			t.Fatal(err)
		}
	}
	const want = "('ib.symbol_error','a','1',120000,1); ('ib.symbol_error','b','2',120000,2); ('new.thing','b','2',120000,9223372036854775808)"
	if got := row(t, db, "SELECT toString((counter, device, port, toUnixTimestamp64Milli(time), value)) FROM counter_readings WHERE interval_start = toDateTime64(120, 3) ORDER BY counter, device"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
