// Package journal captures log output for a test that reads it while more is written.
package journal

import (
	"strings"
	"sync"
)

// Journal is a writer; its zero value is empty. It is safe for concurrent use.
type Journal struct {
	mu   sync.Mutex
	text strings.Builder // guarded by mu
}

// Write adds to it. It never fails.
func (j *Journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// String is all that was written.
func (j *Journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
