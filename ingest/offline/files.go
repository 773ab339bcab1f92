package offline

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/giverny/giverny/ingest/recorded"
	"github.com/giverny/giverny/internal/dbcsv"
	"github.com/giverny/giverny/internal/decompress"
	"github.com/giverny/giverny/internal/plainfile"
	"github.com/giverny/giverny/topology"
)

// readRows passes the rows of files, in order of time, to add.
func readRows(files []string, add func(recorded.Row) error) error {
	rows, reports := recorded.NewReader(), map[time.Time]string{}
	for _, name := range files {
		file, err := plainfile.OpenInput(name)
		if err != nil {
			return err
		}
		defer file.Close()
		plain, err := decompress.Reader(name, file)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		defer plain.Close()
		in := bufio.NewReader(plain)
		head, _ := in.Peek(topology.DetectSize) // the first read returns the error again
		if dbcsv.Looks(head) {
			err = addReport(rows, name, file, in, reports)
		} else {
			err = rows.Add(name, in)
		}
		if err != nil {
			return err
		}
	}
	for {
		r, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = add(r)
		}
		if err != nil {
			return err
		}
	}
}

// addReport adds a db_csv of ibdiagnet at the time at which it was written. Its own text has no time in a form that is known.
func addReport(rows *recorded.Reader, name string, file *plainfile.Input, text io.Reader, reports map[time.Time]string) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	at := info.ModTime().UTC()
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: the time of ibdiagnet's db_csv is that of the file: give a file, not a pipe", name)
	}
	if other, twice := reports[at]; twice {
		return fmt.Errorf("%s and %s were modified at the same time, %s, which is the time of their counters: give the files of two runs, copied with cp -p", other, name, at.Format(time.RFC3339Nano))
	}
	reports[at] = name
	return rows.AddIBDiagnet(name, text, at)
}
