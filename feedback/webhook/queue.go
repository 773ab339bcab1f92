package webhook

import (
	"cmp"
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

// item is a queued notice: the content of its file.
type item struct {
	Key    string          `json:"key"`
	Fabric string          `json:"fabric"`
	Queued time.Time       `json:"queued"`
	Body   json.RawMessage `json:"body"` // sent unchanged
}

// queue is an on-disk FIFO queue of notices for a receiver. It is safe for concurrent
// use.
type queue struct {
	dir     string
	max     int
	release func()

	mu    sync.Mutex // guards the fields below
	waits []waiting  // by number
	next  uint64
}

// waiting is a notice in the queue.
type waiting struct {
	number uint64    // of its file
	since  time.Time // monotonic, since a step of the clock makes no notice older; zero if an earlier process queued it
}

// age is how long a notice has been waiting.
func (w waiting) age(it *item) time.Duration {
	if w.since.IsZero() {
		return time.Since(it.Queued)
	}
	return time.Since(w.since)
}

const queueSuffix = ".notice"

// openQueue opens the queue in a folder with the items of an earlier run. Damaged items are dropped when they become the
// first.
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
			q.waits = append(q.waits, waiting{number: n})
		}
	}
	slices.SortFunc(q.waits, func(a, b waiting) int { return cmp.Compare(a.number, b.number) })
	if n := len(q.waits); n > 0 {
		q.next = q.waits[n-1].number + 1
	}
	return q, nil
}

func (q *queue) path(n uint64) string {
	return filepath.Join(q.dir, fmt.Sprintf("%020d%s", n, queueSuffix))
}

// add stores an item, and drops the oldest ones beyond the limit.
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
	q.waits = append(q.waits, waiting{q.next, time.Now()})
	q.next++
	for len(q.waits) > q.max {
		q.removeFirst()
		dropped++
	}
	return dropped, nil
}

// errDamaged means that an item can never be read.
var errDamaged = errors.New("damaged")

// first returns the oldest item, and how long it has been waiting; ok is false if the queue is empty. If the item cannot be
// read, it returns an error and the number, so that a damaged one can be removed.
func (q *queue) first() (it item, age time.Duration, number uint64, ok bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waits) == 0 {
		return item{}, 0, 0, false, nil
	}
	number = q.waits[0].number
	text, err := os.ReadFile(q.path(number))
	if errors.Is(err, fs.ErrNotExist) {
		return it, 0, number, true, fmt.Errorf("%w: %w", errDamaged, err)
	}
	if err != nil {
		return it, 0, number, true, fmt.Errorf("queue of notices: %w", err)
	}
	if err := json.Unmarshal(text, &it); err != nil {
		return it, 0, number, true, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return it, q.waits[0].age(&it), number, true, nil
}

// remove removes the oldest item if it still has that number.
func (q *queue) remove(number uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waits) > 0 && q.waits[0].number == number {
		q.removeFirst()
	}
}

// removeFirst is remove with q.mu held. If the file cannot be removed, the item is sent
// again after a restart, with the same idempotency key.
func (q *queue) removeFirst() {
	os.Remove(q.path(q.waits[0].number))
	q.waits = q.waits[1:]
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waits)
}

// readState reads a file; it returns nil if the file does not exist.
func readState(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}
