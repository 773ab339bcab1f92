//go:build engine || integration

package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/giverny/giverny/schema"
)

func stages(track, hotspots string) []schema.StageState {
	return []schema.StageState{{Stage: "track", Version: 2, Bytes: []byte(track)}, {Stage: "hotspots", Version: 1, Bytes: []byte(hotspots)}}
}

// States learned up to an interval that has a newer revision are not used.
func TestStatesOfAReplacedIntervalAreNotLoaded(t *testing.T) {
	db, ctx := migratedDB(t), t.Context()
	put := func(n int64, revision uint32, state string) {
		t.Helper()
		r := someResult("bw", n, 10)
		r.Revision = revision
		if err := db.Store(ctx, r); err != nil {
			t.Fatal(err)
		}
		if state == "" {
			return
		}
		if err := db.StoreStates(ctx, "bw", r.Snapshot.GraphVersion, r.Snapshot.Interval, revision, stages(state, "")[:1]); err != nil {
			t.Fatal(err)
		}
	}
	put(1, 0, "one")
	put(2, 0, "two")
	put(3, 0, "three")
	put(1, 1, "one again")
	put(2, 1, "")
	for at, want := range map[int64]string{1: "one again", 2: "one again", 3: "three"} {
		if got, err := db.LastStates(ctx, "bw", at*minute); err != nil || string(got.Stages[0].Bytes) != want {
			t.Errorf("up to minute %d: %v, %v, want %q", at, got.Stages, err, want)
		}
	}
}

func TestStatesOfTheStages(t *testing.T) {
	db, ctx := migratedDB(t), t.Context()
	put := func(n int64, version uint64, states []schema.StageState) {
		t.Helper()
		if err := db.StoreStates(ctx, "bw", version, schema.Interval{StartNanos: n * minute, DurationNanos: minute}, 0, states); err != nil {
			t.Fatal(err)
		}
	}
	put(1, 7, stages("one\x00\xff", ""))
	put(3, 7, stages("three", "3"))
	put(3, 7, stages("three again", "3"))
	put(5, 8, stages("of another graph", "5")[:1])
	for at, want := range map[int64]SavedStates{
		minute:       {7, schema.Interval{StartNanos: minute, DurationNanos: minute}, []schema.StageState{{Stage: "hotspots", Version: 1, Bytes: []byte{}}, {Stage: "track", Version: 2, Bytes: []byte("one\x00\xff")}}},
		3*minute - 1: {7, schema.Interval{StartNanos: minute, DurationNanos: minute}, []schema.StageState{{Stage: "hotspots", Version: 1, Bytes: []byte{}}, {Stage: "track", Version: 2, Bytes: []byte("one\x00\xff")}}},
		3 * minute:   {7, schema.Interval{StartNanos: 3 * minute, DurationNanos: minute}, []schema.StageState{{Stage: "hotspots", Version: 1, Bytes: []byte("3")}, {Stage: "track", Version: 2, Bytes: []byte("three")}}},
		9 * minute:   {8, schema.Interval{StartNanos: 5 * minute, DurationNanos: minute}, []schema.StageState{{Stage: "track", Version: 2, Bytes: []byte("of another graph")}}},
	} {
		got, err := db.LastStates(ctx, "bw", at)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("at %d: %v %s", at, err, diff)
		}
	}
	if _, err := db.LastStates(ctx, "bw", minute-1); !isNotFound(err) {
		t.Errorf("before the first: %v", err)
	}
	if err := db.StoreStates(ctx, "bw", 7, schema.Interval{}, 0, nil); err == nil {
		t.Error("no states are no error")
	}
}
