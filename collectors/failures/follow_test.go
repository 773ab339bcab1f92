package failures

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/collectors/feeds"
)

// tailing reads everything that a follower has.
func tailing(t *testing.T, f *follower) (lines []string) {
	t.Helper()
	for {
		n := 0
		more, err := f.read(sink{func(text string) { lines = append(lines, text); n++ }, func() { lines = append(lines, "TOO LONG") }, func() bool { return n >= 3 }})
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return lines
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := out.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

func wantLines(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("lines %q, want %q", got, want)
	}
}

func TestFollowPartialLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "old\n")
	f := &follower{path: path}
	wantLines(t, tailing(t, f)) // starts at the end
	write(t, path, "a\nb")
	wantLines(t, tailing(t, f), "a")
	write(t, path, "c\n\nd")
	wantLines(t, tailing(t, f), "bc", "")
	write(t, path, strings.Repeat("x", maxLineBytes)+"\ne\n")
	wantLines(t, tailing(t, f), "TOO LONG", "e")
}

// A log created while it is waited for is read from its start.
func TestFollowALogThatIsNotThereYet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f := &follower{path: path}
	if _, err := f.read(sink{}); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	write(t, path, "first\n")
	wantLines(t, tailing(t, f), "first")
}

func TestFollowRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "a\n")
	f := &follower{path: path, fromStart: true}
	wantLines(t, tailing(t, f), "a")
	write(t, path, "b\nlast without end")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	wantLines(t, tailing(t, f), "b") // there is no new file yet
	write(t, path, "c\n")
	wantLines(t, tailing(t, f)) // the writer may not have switched yet
	wantLines(t, tailing(t, f), "last without end", "c")
	// copytruncate, to a longer file than before
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	write(t, path, "new 1\nnew 2\n")
	wantLines(t, tailing(t, f), "new 1", "new 2")
}

// What was written since the last read is in the copy that copytruncate leaves.
func TestFollowACopyOfATruncatedLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	long := strings.Repeat("x", 300)
	write(t, path, long+"\na\n")
	f := &follower{path: path, fromStart: true}
	wantLines(t, tailing(t, f), long, "a")
	write(t, path, "b\n")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path+".1", string(text))
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	write(t, path, "c\n")
	wantLines(t, append(tailing(t, f), tailing(t, f)...), "b", "c")
	write(t, path, "d\n")
	wantLines(t, tailing(t, f), "d")
	if f.lost != 0 {
		t.Errorf("%d logs lost", f.lost)
	}
}

// With two rotations between two reads, the file in the middle is lost and counted.
func TestFollowTwoRotations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	began := time.Now().Add(-time.Hour)
	for i, name := range []string{"log.3.gz", "log.2", "log.1", "log"} {
		write(t, filepath.Join(filepath.Dir(path), name), name+"\n")
		written := began.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(filepath.Join(filepath.Dir(path), name), written, written); err != nil {
			t.Fatal(err)
		}
	}
	f := &follower{path: path + ".2", fromStart: true}
	wantLines(t, tailing(t, f), "log.2")
	at := f.at
	f = &follower{path: path, at: at, begun: true}
	wantLines(t, append(tailing(t, f), tailing(t, f)...), "log")
	if f.lost != 1 {
		t.Errorf("%d logs lost, want 1", f.lost)
	}
	parser, err := NewParser(Options{})
	if err != nil {
		t.Fatal(err)
	}
	source := logs{logs: []*followed{{follower: &follower{path: path, at: at, begun: true}, parser: parser}}, log: slog.New(slog.DiscardHandler)}
	lost := uint64(0)
	for range 3 { // the second read finds the new file, the third nothing
		rows, err := source.Read(t.Context(), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		lost += rows.Dropped[feeds.Rotated]
	}
	if lost != 1 {
		t.Errorf("%d lost logs counted, want 1", lost)
	}
}

// logrotate creates the new file before it signals the program, which meanwhile keeps writing to the old one.
func TestFollowAWriterThatIsToldLater(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "a\n")
	f := &follower{path: path, fromStart: true}
	wantLines(t, tailing(t, f), "a")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, path, "")
	wantLines(t, tailing(t, f))
	write(t, path+".1", "late\n")
	write(t, path, "new\n")
	wantLines(t, tailing(t, f), "late", "new")
}

// A saved position resumes in its file, even if that was renamed.
func TestFollowAfterRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "a\nb\n")
	f := &follower{path: path, fromStart: true}
	wantLines(t, tailing(t, f), "a", "b")
	saved := f.at
	write(t, path, "c\n")
	if err := os.Rename(path, path+"-20260105"); err != nil {
		t.Fatal(err)
	}
	write(t, path, "d\n")
	again := &follower{path: path, at: saved, begun: true}
	wantLines(t, append(tailing(t, again), tailing(t, again)...), "c", "d")
	if again.lost != 0 {
		t.Error("a rotated log was taken for lost")
	}
	for _, name := range []string{path, path + "-20260105"} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	write(t, path, "e\n")
	gone := &follower{path: path, at: saved, begun: true}
	wantLines(t, tailing(t, gone), "e")
	if gone.lost != 1 {
		t.Errorf("%d logs lost, want 1", gone.lost)
	}
}

// However lines are written, rotated and read, and the reader is restarted: each line is read once, in order.
func TestFollowNeitherLosesNorDoubles(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 1))
		path := filepath.Join(t.TempDir(), "log")
		write(t, path, "")
		f := &follower{path: path, fromStart: true}
		wantLines(t, tailing(t, f)) // a file rotated away before it was first seen does not count
		var want, got []string
		pendingText, files := "", 0
		for step := range 200 {
			switch random.IntN(6) {
			case 0, 1, 2:
				text := fmt.Sprintf("line %d %s\n", step, strings.Repeat("y", random.IntN(400)))
				want = append(want, strings.TrimSuffix(text, "\n"))
				cut := random.IntN(len(text))
				write(t, path, pendingText+text[:cut])
				pendingText = text[cut:]
			case 3:
				got = append(got, tailing(t, f)...)
			case 4:
				write(t, path, pendingText)
				pendingText = ""
				files++
				if err := os.Rename(path, fmt.Sprintf("%s.%d", path, files)); err != nil {
					t.Fatal(err)
				}
				write(t, path, "")
				got = append(append(got, tailing(t, f)...), tailing(t, f)...) // before it is rotated twice
			case 5:
				at := f.at
				begun := f.begun
				f.close()
				f = &follower{path: path, fromStart: true, at: at, begun: begun}
			}
		}
		write(t, path, pendingText)
		got = append(append(got, tailing(t, f)...), tailing(t, f)...)
		if !slices.Equal(got, want) {
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Fatalf("seed %d: line %d is %.40q, want %.40q", seed, i, got[i], want[i])
				}
			}
			t.Fatalf("seed %d: %d lines, want %d", seed, len(got), len(want))
		}
		f.close()
	}
}
