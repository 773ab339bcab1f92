package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// load reads the queues that earlier processes left.
func (s *Spool) load() error {
	dirs, err := filepath.Glob(filepath.Join(s.config.Dir, "*"+queueSuffix))
	if err != nil {
		return err
	}
	for _, dir := range append(dirs, s.config.Dir) {
		name := strings.TrimSuffix(filepath.Base(dir), queueSuffix)
		if dir == s.config.Dir {
			name = "" // that of an earlier version
		}
		q := &queue{spool: s, dir: dir}
		if err := q.load(); err != nil {
			return err
		}
		if name != "" || q.waiting() > 0 {
			s.queues[name] = q
		}
	}
	s.setAges()
	s.report()
	return nil
}

// setAges orders the segments of all queues by the times of their last records.
func (s *Spool) setAges() {
	var all []*segment
	for _, q := range s.queues {
		all = append(all, q.segments...)
	}
	slices.SortFunc(all, func(a, b *segment) int {
		if c := a.written.Compare(b.written); c != 0 {
			return c
		}
		return strings.Compare(a.path, b.path)
	})
	for _, seg := range all {
		s.begun++
		seg.age = s.begun
	}
}

// load reads the segments and the cursor.
func (q *queue) load() error {
	paths, err := filepath.Glob(filepath.Join(q.dir, "*"+segmentSuffix))
	if err != nil {
		return err
	}
	slices.Sort(paths)
	for i, path := range paths {
		first, err := strconv.ParseUint(strings.TrimSuffix(filepath.Base(path), segmentSuffix), 10, 64)
		if err != nil {
			return fmt.Errorf("%s is not a segment of the spool; move it away", path)
		}
		seg := &segment{path: path, first: first}
		if err := seg.scan(q.spool.log); err != nil {
			return err
		}
		if i > 0 && first > q.next {
			q.spool.countLost(DropCorrupt, first-q.next)
		}
		q.spool.countLost(DropCorrupt, seg.lost)
		q.next = max(q.next, seg.end()+seg.lost)
		if seg.count == 0 {
			if err := os.Remove(path); err != nil {
				return err
			}
			continue
		}
		q.segments = append(q.segments, seg)
		q.bytes += seg.bytes
		q.spool.bytes += seg.bytes
	}
	return q.loadCursor()
}

func (q *queue) loadCursor() error {
	if len(q.segments) > 0 {
		q.first = q.segments[0].first
	}
	text, err := os.ReadFile(filepath.Join(q.dir, cursorName))
	if errors.Is(err, fs.ErrNotExist) {
		text, err = strconv.AppendUint(nil, q.first, 10), nil
	}
	if err != nil {
		return err
	}
	cursor, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		q.spool.log.Warn("spool: cursor is damaged, records may be sent twice", "error", err)
		cursor = q.first
	}
	q.next = max(q.next, cursor) // numbers are never reused
	for len(q.segments) > 0 && q.segments[0].end() <= cursor {
		q.removeOldest()
	}
	if len(q.segments) > 0 && cursor > q.segments[0].first {
		if q.readAt, err = q.segments[0].skip(0, cursor-q.segments[0].first); err != nil {
			return err
		}
		q.first = cursor
	}
	if len(q.segments) == 0 {
		q.first = q.next
	}
	return nil
}
