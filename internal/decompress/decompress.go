// Package decompress reads files that may be compressed with gzip or Zstandard: a file goes in, its text comes out. It
// opens no file, and limits nothing.
package decompress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/giverny/giverny/internal/textmark"
)

const gzipMagic, zstdMagic = "\x1f\x8b", "\x28\xb5\x2f\xfd"

// IsPacked reports whether a file with these first four bytes is compressed.
func IsPacked(head []byte) bool {
	return strings.HasPrefix(string(head), gzipMagic) || strings.HasPrefix(string(head), zstdMagic)
}

// Reader decompresses a file according to its name's ending, .gz or .zst, or its first bytes, so that renamed files and
// standard input work too. Anything else is a text. A byte order mark at the head of the text is dropped.
func Reader(name string, r io.Reader) (io.ReadCloser, error) {
	in := bufio.NewReader(r)
	head, _ := in.Peek(len(zstdMagic)) // the first read returns the error again
	r = in
	switch {
	case strings.HasSuffix(name, ".gz") || strings.HasPrefix(string(head), gzipMagic):
		d, err := gzip.NewReader(r)
		if err != nil {
			return nil, undecodable("gzip", err)
		}
		return text(compressed{d, "gzip"}), nil
	case strings.HasSuffix(name, ".zst") || string(head) == zstdMagic:
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1)) // needs no goroutine
		if err != nil {
			return nil, undecodable("zstd", err)
		}
		return text(compressed{d.IOReadCloser(), "zstd"}), nil
	}
	return io.NopCloser(textmark.Skip(r)), nil
}

// text drops a byte order mark.
func text(c compressed) io.ReadCloser {
	return struct {
		io.Reader
		io.Closer
	}{textmark.Skip(c), c}
}

// compressed adds the expected compression format to errors of a decoder.
type compressed struct {
	io.ReadCloser
	form string
}

func (c compressed) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = undecodable(c.form, err)
	}
	return n, err
}

func undecodable(form string, err error) error {
	return fmt.Errorf("damaged, cut off or not %s, which its name or first bytes indicate: %w; copy it again, or rename it to match its content", form, err)
}
