package topology

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxLineBytes limits a line of a topology file.
const maxLineBytes = 1 << 20

// eachLine passes the lines of a text, numbered from 1, to take. Errors name the text and the line.
func eachLine(r io.Reader, name string, take func(number int, line string) error) error {
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 0, 64<<10), maxLineBytes)
	number := 1
	for ; scan.Scan(); number++ {
		if err := take(number, scan.Text()); err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
	switch err := scan.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%s:%d: the line is longer than %d bytes; the file is damaged", name, number, maxLineBytes)
	case err != nil:
		return fmt.Errorf("%s:%d: %w", name, number, err)
	}
	return nil
}
