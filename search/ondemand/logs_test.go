package ondemand

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The newest logs are kept, whatever their names.
func TestOldLogsMakeRoom(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "searches")
	if err := makeRoom(dir); err != nil {
		t.Fatal(err)
	}
	for i := range keptLogs + 3 {
		path := filepath.Join(dir, fmt.Sprintf("%03d%s", keptLogs+3-i, logSuffix))
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(1_700_000_000+int64(i), 0)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := makeRoom(dir); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != keptLogs || left[0].Name() != "001"+logSuffix {
		t.Errorf("%d logs, the first %v, %v", len(left), left[0], err)
	}
}
