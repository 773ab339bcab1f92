// Package records reads and diagnoses recorded collectives of a job, in any format that
// Giverny knows. The input is a format, the files of one job and a function that opens
// them; the output is the run, if the format has steps, and its diagnosis. It opens
// files and writes none; errors name the unreadable file.
package records

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/plans"
	"github.com/giverny/giverny/collective/vedrfolnir"
	"github.com/giverny/giverny/internal/bounded"
	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/internal/textmark"
)

// Open opens a record file for reading.
type Open func(name string) (io.ReadCloser, error)

// OSOpen opens files of the operating system.
func OSOpen(name string) (io.ReadCloser, error) {
	in, err := plainfile.OpenInput(name)
	if err != nil {
		return nil, err // not a nil *Input
	}
	return in, nil
}

// Files are the files of one job.
type Files struct {
	Names []string
	Open  Open
}

// Format is a format of recorded collectives.
type Format struct {
	Name, Help string

	// wanted reports whether a file belongs to a job, by its name within the folder.
	wanted func(name string) bool

	// read reads the files of one job; errors name the file, the line and the remedy.
	read func(files Files) (collective.Run, error)

	// diagnose replaces read and collective.Diagnose if the records have no times of
	// steps.
	diagnose func(files Files) (collective.Diagnosis, error)

	// instead returns the reader to use if the files turn out to be of another format;
	// may be nil.
	instead func(files Files) func(files Files) (collective.Run, error)

	// check reads one file alone; nil if files cannot be read alone.
	check func(name string, open Open) error
}

// Formats lists the supported formats. To add one, add a package below collective and a
// row here.
func Formats() []Format {
	return []Format{
		{Name: "vedrfolnir", Help: "a recorded run of Vedrfolnir's ns-3 simulation: out/fct.txt, and if present topology.txt, data/telemetry_N.txt, flow.txt, out/pfc.txt",
			wanted: vedrfolnir.IsFile, read: func(files Files) (collective.Run, error) { return vedrfolnir.Read(files.Names, files.Open) }},
		{Name: "flight-recorder", Help: "dumps of PyTorch's Flight Recorder, a folder or files named by rank", wanted: isDump, diagnose: diagnoseDumps, check: checkDump},
		{Name: "nccl-inspector", Help: "output of NCCL's Inspector profiler plug-in, a folder or files", wanted: isNCCL, diagnose: diagnoseInspector, instead: profilerInstead, check: checkInspector},
		{Name: "nccl-profiler", Help: "traces of NCCL's example profiler plug-in (Chrome trace events), a folder or files, of all ranks", wanted: isNCCL, read: readProfiler, check: checkTrace},
		{Name: "simulated", Help: "the folder of giverny simulate collective", wanted: isSimulated, read: readSimulated},
	}
}

// Named returns the format with a name.
func Named(name string) (Format, error) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("%q: want one of %s", name, Names())
}

// Names lists the formats for help and errors.
func Names() string {
	var names []string
	for _, f := range Formats() {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// Detect returns the format of files and folders: the first of which there is a file that can be read.
func Detect(paths []string) (Format, error) {
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil {
			return Format{}, fmt.Errorf("records: %w; give the folder of a run", err)
		}
	}
	for _, f := range Formats() {
		files, err := f.Expand(paths)
		if err == nil && slices.ContainsFunc(files.Names, f.recognises) {
			return f, nil
		}
	}
	return Format{}, fmt.Errorf("%s: format not recognised; give --format: one of %s", strings.Join(paths, ", "), Names())
}

// recognises reports whether a file is of the format, by its name and, if it can be read alone, its content.
func (f *Format) recognises(path string) bool {
	return f.wanted(filepath.Base(path)) && (f.check == nil || f.check(path, OSOpen) == nil)
}

// Wanted reports whether a file in a job's folder belongs to it, by its path in the folder.
func (f *Format) Wanted(name string) bool { return f.wanted(name) }

// Diagnose reads and diagnoses the records of one job. The run is empty if the format
// has no times of steps.
func (f *Format) Diagnose(files Files, opt collective.Options) (collective.Run, collective.Diagnosis, error) {
	read := f.read
	if f.instead != nil {
		read = f.instead(files)
	}
	if read == nil {
		d, err := f.diagnose(files)
		return collective.Run{}, d, err
	}
	run, err := read(files)
	if err != nil {
		return run, collective.Diagnosis{}, err
	}
	plans.FillWaits(&run)
	return run, collective.Diagnose(run, opt), nil
}

// Readable divides files by whether each can be read alone. All count as readable if
// the format's files cannot be read alone.
func (f *Format) Readable(files Files) (good []string, bad []error) {
	for _, name := range files.Names {
		if f.check != nil {
			if err := f.check(name, files.Open); err != nil {
				bad = append(bad, err)
				continue
			}
		}
		good = append(good, name)
	}
	return good, bad
}

// Expand returns the given files and, for folders, the files that the format wants.
func (f *Format) Expand(paths []string) (Files, error) {
	out := Files{Open: OSOpen}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return out, fmt.Errorf("records: %w; give the folder of a run", err)
		}
		if !info.IsDir() {
			out.Names = append(out.Names, path)
			continue
		}
		for _, inner := range []string{".", "out", "data"} { // subfolders of the simulation; other formats have none
			entries, err := os.ReadDir(filepath.Join(path, inner))
			if err != nil && inner == "." {
				return out, fmt.Errorf("records: %w", err)
			}
			for _, e := range entries {
				if name := filepath.Join(inner, e.Name()); !e.IsDir() && f.wanted(name) {
					out.Names = append(out.Names, filepath.Join(path, name))
				}
			}
		}
	}
	if len(out.Names) == 0 {
		return out, fmt.Errorf("%s: no files of format %s; give %s", strings.Join(paths, ", "), f.Name, f.Help)
	}
	return out, nil
}

// readAtMost reads a file of at most limit bytes, without a byte order mark.
func readAtMost(name string, open Open, limit int64) ([]byte, error) {
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(bounded.Reader(file, limit))
	if large, is := errors.AsType[*bounded.TooLargeError](err); is {
		err = fmt.Errorf("%s: %w: give a file of one job alone", name, large)
	}
	return textmark.Trim(data), err
}
