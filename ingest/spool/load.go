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

// saveCursor persists the number of the next record. If that is lost, some records are delivered
// twice.
func (s *Spool) saveCursor() error {
	path := filepath.Join(s.config.Dir, cursorName)
	if err := os.WriteFile(path+".new", strconv.AppendUint(nil, s.first, 10), 0o640); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// load reads the segments and the cursor.
func (s *Spool) load() error {
	paths, err := filepath.Glob(filepath.Join(s.config.Dir, "*"+segmentSuffix))
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
		if err := seg.scan(s.log); err != nil {
			return err
		}
		if i > 0 && first > s.next {
			s.countLost(DropCorrupt, first-s.next)
		}
		s.countLost(DropCorrupt, seg.lost)
		s.next = max(s.next, seg.end()+seg.lost)
		if seg.count == 0 {
			if err := os.Remove(path); err != nil {
				return err
			}
			continue
		}
		s.segments = append(s.segments, seg)
		s.bytes += seg.bytes
	}
	return s.loadCursor()
}

func (s *Spool) loadCursor() error {
	if len(s.segments) > 0 {
		s.first = s.segments[0].first
	}
	text, err := os.ReadFile(filepath.Join(s.config.Dir, cursorName))
	if errors.Is(err, fs.ErrNotExist) {
		text, err = strconv.AppendUint(nil, s.first, 10), nil
	}
	if err != nil {
		return err
	}
	cursor, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		s.log.Warn("spool: cursor is damaged, records may be sent twice", "error", err)
		cursor = s.first
	}
	s.next = max(s.next, cursor) // numbers are never reused
	for len(s.segments) > 0 && s.segments[0].end() <= cursor {
		s.removeOldest()
	}
	if len(s.segments) > 0 && cursor > s.segments[0].first {
		if s.readAt, err = s.segments[0].skip(0, cursor-s.segments[0].first); err != nil {
			return err
		}
		s.first = cursor
	}
	if len(s.segments) == 0 {
		s.first = s.next
	}
	s.report()
	return nil
}
