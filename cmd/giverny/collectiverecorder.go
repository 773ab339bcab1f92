package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/flightrecorder"
	"github.com/giverny/giverny/collective/nccl"
)

// diagnoseFlightRecorder reads the dumps of a job, one a rank. Of a folder the files
// whose names end in a number are dumps; files that are given are all.
func diagnoseFlightRecorder(paths []string, _ collective.Options) (collective.Diagnosis, error) {
	var dumps []*flightrecorder.Dump
	files, err := filesOf(paths, func(name string) bool { _, ok := flightrecorder.RankOf(name); return ok })
	if err != nil {
		return collective.Diagnosis{}, err
	}
	for _, file := range files {
		data, err := readAtMost(file, flightrecorder.MaxBytes)
		if err != nil {
			return collective.Diagnosis{}, err
		}
		dump, err := flightrecorder.Parse(file, data)
		if err != nil {
			return collective.Diagnosis{}, err
		}
		dumps = append(dumps, dump)
	}
	return flightrecorder.Diagnose(dumps)
}

// diagnoseInspector reads the files of NCCL's Inspector.
func diagnoseInspector(paths []string, _ collective.Options) (collective.Diagnosis, error) {
	files, err := filesOf(paths, nccl.IsFile)
	if err != nil {
		return collective.Diagnosis{}, err
	}
	var calls []nccl.Call
	for _, file := range files {
		data, err := readAtMost(file, nccl.MaxBytes)
		if err != nil {
			return collective.Diagnosis{}, err
		}
		if calls, err = nccl.Read(file, data, calls); err != nil {
			return collective.Diagnosis{}, err
		}
	}
	return nccl.Diagnose(calls)
}

// readProfiler reads the traces of NCCL's example profiler plug-in, a file per rank and
// communicator.
func readProfiler(paths []string) (collective.Run, error) {
	files, err := filesOf(paths, func(name string) bool { return nccl.IsFile(name) || strings.HasSuffix(name, ".txt") })
	if err != nil {
		return collective.Run{}, err
	}
	var traces []*nccl.Trace
	for _, file := range files {
		data, err := readAtMost(file, nccl.MaxBytes)
		if err != nil {
			return collective.Run{}, err
		}
		trace, err := nccl.ReadTrace(file, data)
		if err != nil {
			return collective.Run{}, err
		}
		traces = append(traces, trace)
	}
	return nccl.Run(traces)
}

// profilerInstead says whether files that are given as the Inspector's are traces.
func profilerInstead(paths []string) func([]string) (collective.Run, error) {
	files, err := filesOf(paths, func(name string) bool { return nccl.IsFile(name) || strings.HasSuffix(name, ".txt") })
	if err != nil || len(files) == 0 {
		return nil
	}
	file, err := os.Open(files[0])
	if err != nil {
		return nil
	}
	defer file.Close()
	head := make([]byte, 1024)
	n, _ := io.ReadFull(file, head)
	if !nccl.IsTrace(head[:n]) {
		return nil
	}
	return readProfiler
}

// filesOf are the files that are given, and of folders those that are wanted.
func filesOf(paths []string, wanted func(name string) bool) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if !e.IsDir() && wanted(e.Name()) {
				files = append(files, filepath.Join(path, e.Name()))
			}
		}
	}
	return files, nil
}

// readAtMost reads a file that has no more than limit bytes.
func readAtMost(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s: more than %d bytes: give a file of one job alone", path, limit)
	}
	return data, err
}
