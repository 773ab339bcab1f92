package faults_test

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/giverny/giverny/internal/faults"
)

func TestFaultsCarryTheirKeys(t *testing.T) {
	var inner, middle, outer faults.List
	inner.Check(true, "fine", "never said")
	inner.Check(false, "workers", "%d: want 1 to %d", 0, 64)
	inner.Add("command", "%w", fs.ErrNotExist)
	middle.Under("perfquery", inner.Err())
	middle.Under("", errors.Join(errors.New("interval: 0s: want 1s"), nil))
	middle.Under("ethtool", nil)
	outer.Under("collect", middle.Err())
	const want = "collect.perfquery.workers: 0: want 1 to 64\n" +
		"collect.perfquery.command: file does not exist\n" +
		"collect.interval: 0s: want 1s"
	if err := outer.Err(); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if !errors.Is(outer.Err(), fs.ErrNotExist) {
		t.Error("the cause is lost")
	}
	if err := new(faults.List).Err(); err != nil {
		t.Errorf("no fault gives %v", err)
	}
}
