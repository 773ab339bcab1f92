package boot

import (
	"os"
	"path/filepath"
	"testing"
)

func TestID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "boot_id")
	if ID(path) != 0 {
		t.Error("no file, yet an ID")
	}
	epochs := map[uint64]bool{0: true}
	for _, id := range []string{"9ba0ae13\n", "7e1b7c55\n"} {
		if err := os.WriteFile(path, []byte(id), 0o600); err != nil {
			t.Fatal(err)
		}
		if e := ID(path); epochs[e] || e != ID(path) {
			t.Errorf("boot %q has ID %d", id, e)
		} else {
			epochs[e] = true
		}
	}
}

func TestClockGoesOn(t *testing.T) {
	if before := Clock(); before <= 0 || Clock() < before {
		t.Errorf("the clock stands at %s, then at %s", before, Clock())
	}
}
