package vedrfolnir

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"strings"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/internal/textmark"
)

// Limits per file. A run of the published simulation has 200 lines of transfers and 20
// KB of telemetry.
const (
	maxLine    = 4096
	maxRecords = 4 << 20
	maxNodes   = 1 << 16 // an address has two bytes for the node
)

// files are the parts of a run.
type files struct {
	transfers, topology, flows, pauses string
	telemetry                          []string
}

// Read reads one run from its files, named as by the simulation: out/fct.txt, out/pfc.txt,
// data/telemetry_N.txt, topology.txt, flow.txt, with or without the folders.
func Read(names []string, open func(name string) (io.ReadCloser, error)) (collective.Run, error) {
	found, err := find(names)
	if err != nil {
		return collective.Run{}, err
	}
	r := newReader()
	r.open = open
	for _, part := range []struct {
		path string
		read func(path string, line int, fields []string) error
	}{
		{found.topology, r.topologyLine},
		{found.transfers, r.transferLine},
		{found.flows, r.flowLine},
		{found.pauses, r.pauseLine},
	} {
		if err := r.lines(part.path, part.read); err != nil {
			return collective.Run{}, err
		}
	}
	for _, path := range found.telemetry {
		if err := r.telemetryFile(path); err != nil {
			return collective.Run{}, err
		}
	}
	return r.run(found), nil
}

// IsFile reports whether a file is part of a run, by its path in the run's folder.
func IsFile(name string) bool {
	switch filepath.Dir(filepath.Clean(name)) {
	case ".", "out", "data":
		return (&files{}).take(name)
	}
	return false
}

// find assigns the given files to the parts of a run.
func find(names []string) (files, error) {
	var found files
	for _, name := range names {
		if !found.take(name) {
			return files{}, fmt.Errorf("%s: not a file of a run; want fct.txt, topology.txt, telemetry_N.txt, flow.txt or pfc.txt", name)
		}
	}
	if found.transfers == "" && len(found.telemetry) == 0 {
		return files{}, fmt.Errorf("%s: neither out/fct.txt nor data/telemetry_N.txt; give the folder of a run", strings.Join(names, ", "))
	}
	sort.Strings(found.telemetry)
	return found, nil
}

func (f *files) take(path string) bool {
	name := filepath.Base(path)
	for base, at := range map[string]*string{"fct.txt": &f.transfers, "topology.txt": &f.topology, "flow.txt": &f.flows, "pfc.txt": &f.pauses} {
		if name == base {
			*at = path
			return true
		}
	}
	if strings.HasPrefix(name, "telemetry_") && strings.HasSuffix(name, ".txt") {
		f.telemetry = append(f.telemetry, path)
		return true
	}
	return name == "qlen.txt" // queue lengths at intervals, which are not used
}

// errLine marks an unreadable line: it is skipped, with a note.
var errLine = errors.New("unreadable line")

// lines passes the blank-separated fields of each line to read. A file without any
// readable line is an error; an empty path is a part that was not recorded.
func (r *reader) lines(path string, read func(path string, line int, fields []string) error) error {
	if path == "" {
		return nil
	}
	file, err := r.open(path)
	if err != nil {
		return fmt.Errorf("read run: %w", err)
	}
	defer file.Close()
	return r.scan(path, file, read)
}

func (r *reader) scan(path string, in io.Reader, read func(path string, line int, fields []string) error) error {
	scanner := bufio.NewScanner(textmark.Skip(in))
	scanner.Buffer(make([]byte, 0, maxLine), maxLine)
	number, good, firstBad, unterminated := 0, 0, 0, false
	scanner.Split(func(data []byte, end bool) (int, []byte, error) {
		unterminated = end && len(data) > 0 && !bytes.ContainsRune(data, '\n')
		return bufio.ScanLines(data, end)
	})
	for scanner.Scan() {
		number++
		fields := strings.Fields(scanner.Text())
		if len(fields) == 0 {
			continue
		}
		r.unterminated = unterminated
		err := read(path, number, fields)
		if unterminated && err != nil {
			r.notes = append(r.notes, fmt.Sprintf("%s:%d: the file ends in the middle of a line", filepath.Base(path), number))
			continue
		}
		if err == nil {
			good++
			continue
		}
		if !errors.Is(err, errLine) {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
		if r.leftOut[path]++; firstBad == 0 {
			firstBad = number
			r.firstLeftOut[path] = number
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w; is this a text file of the simulation?", path, number+1, err)
	}
	if good == 0 && firstBad > 0 {
		return fmt.Errorf("%s:%d: no line can be read; want the simulation's %s", path, firstBad, filepath.Base(path))
	}
	return nil
}
