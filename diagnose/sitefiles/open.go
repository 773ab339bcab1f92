package sitefiles

import (
	"bufio"
	"errors"
	"io"
	"time"

	"github.com/giverny/giverny/diagnose/offline"
	"github.com/giverny/giverny/internal/plainfile"
)

// Paths names the files of a site. Those that are empty are left out.
type Paths struct{ Links, Jobs, Traffic, Failures, NodeMap string }

// closers are the open files.
type closers []io.Closer

// Close closes all.
func (c closers) Close() (err error) {
	for _, f := range c {
		err = errors.Join(err, f.Close())
	}
	return err
}

// Open opens the files, and parses those whose format is not that of diagnose/offline, for reading until they are closed. Times without a zone are in the given one.
func Open(paths Paths, zone *time.Location, report func(line string)) (files offline.Files, opened io.Closer, err error) {
	var all closers
	for _, in := range []struct {
		path string
		into **offline.File
	}{{paths.Links, &files.Links}, {paths.Jobs, &files.Jobs}, {paths.Traffic, &files.Traffic}, {paths.Failures, &files.Failures}, {paths.NodeMap, &files.NodeMap}} {
		if in.path == "" {
			continue
		}
		file, err := plainfile.OpenInput(in.path)
		if err != nil {
			return files, all, errors.Join(err, all.Close())
		}
		all = append(all, file)
		*in.into = &offline.File{Name: in.path, Reader: bufio.NewReaderSize(file, 1<<20)}
	}
	if files.Jobs != nil {
		files.Jobs, files.JobRows, err = jobsFile(files.Jobs, zone, report)
	}
	if err == nil && files.Failures != nil {
		files.Failures, files.FailureRows, err = failuresFile(files.Failures, zone, report)
	}
	if err != nil {
		err = errors.Join(err, all.Close())
	}
	return files, all, err
}
