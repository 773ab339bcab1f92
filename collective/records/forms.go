package records

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/flightrecorder"
	"github.com/giverny/giverny/collective/nccl"
	"github.com/giverny/giverny/collective/simulated"
)

func inTop(name string) bool { return filepath.Base(name) == filepath.Clean(name) }

func isDump(name string) bool { _, ok := flightrecorder.RankOf(name); return ok && inTop(name) }

func isNCCL(name string) bool {
	return inTop(name) && (nccl.IsFile(name) || strings.HasSuffix(name, ".txt"))
}

func isSimulated(name string) bool { return filepath.Clean(name) == simulated.FileName }

func readDump(name string, open Open) (*flightrecorder.Dump, error) {
	data, err := readAtMost(name, open, flightrecorder.MaxBytes)
	if err != nil {
		return nil, err
	}
	return flightrecorder.Parse(name, data)
}

// checkDump accepts a truncated dump: its rank then has no records.
func checkDump(name string, open Open) error {
	if _, err := readDump(name, open); !errors.Is(err, flightrecorder.ErrCut) {
		return err
	}
	return nil
}

// diagnoseDumps reads the dumps of a job, one per rank. Unreadable ones get a note.
func diagnoseDumps(files Files) (collective.Diagnosis, error) {
	var dumps []*flightrecorder.Dump
	for _, name := range files.Names {
		dump, err := readDump(name, files.Open)
		if err != nil {
			dump, err = flightrecorder.Unread(name, err)
		}
		if err != nil {
			return collective.Diagnosis{}, err
		}
		dumps = append(dumps, dump)
	}
	return flightrecorder.Diagnose(dumps)
}

func readCalls(name string, open Open, calls []nccl.Call) ([]nccl.Call, error) {
	data, err := readAtMost(name, open, nccl.MaxBytes)
	if err != nil {
		return calls, err
	}
	return nccl.Read(name, data, calls)
}

func checkInspector(name string, open Open) error {
	if isTrace(name, open) {
		return checkTrace(name, open)
	}
	_, err := readCalls(name, open, nil)
	if cut := (*nccl.CutError)(nil); errors.As(err, &cut) {
		return nil
	}
	return err
}

// diagnoseInspector reads the files of NCCL's Inspector. A truncated file is used up to
// there, with a note.
func diagnoseInspector(files Files) (collective.Diagnosis, error) {
	var calls []nccl.Call
	var err error
	var notes []string
	for _, name := range files.Names {
		calls, err = readCalls(name, files.Open, calls)
		if cut := (*nccl.CutError)(nil); errors.As(err, &cut) {
			notes = append(notes, err.Error()+": its rank was killed, or later records of it are missing")
		} else if err != nil {
			return collective.Diagnosis{}, err
		}
	}
	d, err := nccl.Diagnose(calls)
	if err != nil {
		return d, fmt.Errorf("%s: %w", namesOf(files), err)
	}
	for _, note := range notes {
		d.Notes = append(d.Notes, note)
		d.Text += "; " + note
	}
	return d, nil
}

// namesOf formats the file names for messages.
func namesOf(files Files) string {
	if n := len(files.Names); n > 1 {
		return fmt.Sprintf("%s and %d more", files.Names[0], n-1)
	}
	return strings.Join(files.Names, "")
}

func readTrace(name string, open Open) (*nccl.Trace, error) {
	data, err := readAtMost(name, open, nccl.MaxBytes)
	if err != nil {
		return nil, err
	}
	return nccl.ReadTrace(name, data)
}

func checkTrace(name string, open Open) error {
	_, err := readTrace(name, open)
	return err
}

// readProfiler reads the traces of NCCL's example profiler plug-in, one file per rank
// and communicator.
func readProfiler(files Files) (collective.Run, error) {
	var traces []*nccl.Trace
	for _, name := range files.Names {
		trace, err := readTrace(name, files.Open)
		if err != nil {
			return collective.Run{}, err
		}
		traces = append(traces, trace)
	}
	return nccl.Run(traces)
}

// profilerInstead handles files given as the Inspector's that are in fact traces.
func profilerInstead(files Files) func(Files) (collective.Run, error) {
	if len(files.Names) == 0 || !isTrace(files.Names[0], files.Open) {
		return nil
	}
	return readProfiler
}

func isTrace(name string, open Open) bool {
	file, err := open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, 1024)
	n, _ := io.ReadFull(file, head)
	return nccl.IsTrace(head[:n])
}

// readSimulated reads the records of one simulated collective.
func readSimulated(files Files) (collective.Run, error) {
	if len(files.Names) != 1 {
		return collective.Run{}, fmt.Errorf("%s: %d files of records: give one folder with a %s", strings.Join(files.Names, " "), len(files.Names), simulated.FileName)
	}
	file, err := files.Open(files.Names[0])
	if err != nil {
		return collective.Run{}, err
	}
	defer file.Close()
	return simulated.Read(file, files.Names[0])
}
