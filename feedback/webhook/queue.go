package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/giverny/giverny/internal/atomicfile"
	"github.com/giverny/giverny/internal/dirlock"
)

// item is a notice that waits: the file's content.
type item struct {
	Key    string          `json:"key"`
	Fabric string          `json:"fabric"`
	Queued time.Time       `json:"queued"`
	Body   json.RawMessage `json:"body"` // sent as it stands
}

// queue is what waits for a receiver, in files, the oldest first. It is safe for
// concurrent use.
type queue struct {
	dir     string
	max     int
	release func()

	mu    sync.Mutex // guards what follows
	waits []uint64   // numbers of the files, ascending
	next  uint64
}

const queueSuffix = ".notice"

// openQueue takes over what an earlier run left in a folder. What cannot be read is
// dropped when its turn comes.
func openQueue(dir string, limit int) (*queue, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("queue of notices: %w", err)
	}
	release, err := dirlock.Acquire(dir, 0)
	if err != nil {
		return nil, fmt.Errorf("queue of notices: %w", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		release()
		return nil, fmt.Errorf("queue of notices: %w", err)
	}
	q := &queue{dir: dir, max: limit, release: release, next: 1}
	for _, f := range files {
		number, isNotice := strings.CutSuffix(f.Name(), queueSuffix)
		if n, err := strconv.ParseUint(number, 10, 64); isNotice && err == nil {
			q.waits = append(q.waits, n)
		}
	}
	slices.Sort(q.waits)
	if n := len(q.waits); n > 0 {
		q.next = q.waits[n-1] + 1
	}
	return q, nil
}

func (q *queue) path(n uint64) string {
	return filepath.Join(q.dir, fmt.Sprintf("%020d%s", n, queueSuffix))
}

// add puts an item on disk, and drops the oldest beyond the limit.
func (q *queue) add(it item) (dropped int, err error) {
	text, err := json.Marshal(it)
	if err != nil {
		return 0, fmt.Errorf("queue of notices: %w", err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := atomicfile.Write(q.path(q.next), text); err != nil {
		return 0, fmt.Errorf("queue of notices: %w", err)
	}
	q.waits = append(q.waits, q.next)
	q.next++
	for len(q.waits) > q.max {
		q.removeFirst()
		dropped++
	}
	return dropped, nil
}

// first is the oldest item; ok is false if none waits. One that cannot be read gives
// an error, and its number, so that it can be removed.
func (q *queue) first() (it item, number uint64, ok bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waits) == 0 {
		return item{}, 0, false, nil
	}
	number = q.waits[0]
	text, err := os.ReadFile(q.path(number))
	if err == nil {
		err = json.Unmarshal(text, &it)
	}
	return it, number, true, err
}

// remove takes the oldest item off, if it still is the one of that number.
func (q *queue) remove(number uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waits) > 0 && q.waits[0] == number {
		q.removeFirst()
	}
}

// removeFirst is remove with q.mu held. A file that stays is sent again after a
// restart, under the same key.
func (q *queue) removeFirst() {
	os.Remove(q.path(q.waits[0]))
	q.waits = q.waits[1:]
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waits)
}

// readState reads a file that may not be there yet.
func readState(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}
