package offline

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/internal/decompress"
)

// File is an open file. A name that ends in .gz or .zst selects the decompression.
type File struct {
	Name string
	io.Reader
	Plain bool // already decompressed, whatever its name
}

// at names a line in errors.
func (f *File) at(line int) string { return fmt.Sprintf("%s:%d", f.Name, line) }

// plain returns the decompressed text.
func (f *File) plain() (io.ReadCloser, error) {
	if f.Plain {
		return io.NopCloser(f.Reader), nil
	}
	text, err := decompress.Reader(f.Name, f.Reader)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	return text, nil
}

// maxLine limits a line, in bytes; a job of 100,000 nodes fits.
const maxLine = 16 << 20

// lines calls yield with every line that is not empty. Errors name the file and the line.
func (f *File) lines(yield func(line string) error) error {
	plain, err := f.plain()
	if err != nil {
		return err
	}
	defer plain.Close()
	scan := bufio.NewScanner(plain)
	scan.Buffer(nil, maxLine)
	n := 0
	for scan.Scan() && scan.Err() == nil { // not the part of a line before an error of reading
		n++
		line := scan.Text()
		if at := invalid(line); at >= 0 {
			return fmt.Errorf("%s: byte %d is not UTF-8; convert the file, with iconv say", f.at(n), at+1)
		}
		if line == "" {
			continue
		}
		if err := yield(line); err != nil {
			return fmt.Errorf("%s: %w", f.at(n), err)
		}
	}
	switch err := scan.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%s: the line is longer than %d bytes; want one row per line", f.at(n+1), maxLine)
	case err != nil:
		return fmt.Errorf("%s: %w", f.at(n+1), err)
	}
	return nil
}

// invalid returns the offset of the first byte that is not UTF-8; -1 if there is none.
func invalid(s string) int {
	for i, r := range s {
		if r != utf8.RuneError {
			continue
		}
		if _, size := utf8.DecodeRuneInString(s[i:]); size <= 1 {
			return i
		}
	}
	return -1
}

// readNodeMap reads the map from node names to devices: node, tab, device.
func readNodeMap(f *File) (nodes.Map, error) {
	plain, err := f.plain()
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	return nodes.ReadMap(plain, f.Name)
}
