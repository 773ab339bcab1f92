package linkscsv

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Decompressed is what a file holds, by the ending of its name, .gz or .zst, or by its first bytes: one that was
// renamed and standard input are decompressed too. Anything else is as it is.
func Decompressed(name string, r io.Reader) (io.ReadCloser, error) {
	const gzipMagic, zstdMagic = "\x1f\x8b", "\x28\xb5\x2f\xfd"
	in := bufio.NewReader(r)
	head, _ := in.Peek(len(zstdMagic)) // an error comes again at the first read
	r = in
	switch {
	case strings.HasSuffix(name, ".gz") || strings.HasPrefix(string(head), gzipMagic):
		d, err := gzip.NewReader(r)
		if err != nil {
			return nil, undecodable("gzip", err)
		}
		return compressed{d, "gzip"}, nil
	case strings.HasSuffix(name, ".zst") || string(head) == zstdMagic:
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1)) // which needs no goroutine
		if err != nil {
			return nil, undecodable("zstd", err)
		}
		return compressed{d.IOReadCloser(), "zstd"}, nil
	}
	return io.NopCloser(r), nil
}

// compressed says of what a decoder fails at what the file should be.
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
	return fmt.Errorf("damaged, cut off or not %s, which its name or its first bytes say it is: %w; copy it again, or give it the name of what it is", form, err)
}
