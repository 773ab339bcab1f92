package vedrfolnir_test

import (
	"strings"
	"testing"
)

// The last record of a rank names a sender out of range (here 2): the ring has two
// steps, though one rank of three did not reach the second.
func TestTheEndOfARingIsRead(t *testing.T) {
	const unfinished = `2 3 1 1 4 10000 10000 1300 2000000000 500 400
3 4 1 1 2 10000 10000 1300 2000000000 500 400
4 2 1 1 3 10000 10000 1300 2000000000 500 400
2 3 2 2 4 10000 10000 1300 2000000600 500 400
`
	for _, c := range []struct {
		name, last string
		want       int
	}{
		{"at its end", "3 4 2 3 3 10000 10000 1300 2000000600 500 400\n", 2},
		{"in its middle", "3 4 2 3 2 10000 10000 1300 2000000600 500 400\n", 0},
		{"two ends", "3 4 2 3 3 10000 10000 1300 2000000600 500 400\n4 2 3 4 4 10000 10000 1300 2000000600 500 400\n", 0},
		{"no ring", "3 2 2 3 3 10000 10000 1300 2000000600 500 400\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			run, err := read(write(t, map[string]string{"out/fct.txt": unfinished + c.last}))
			if err != nil {
				t.Fatal(err)
			}
			if got := run.Communicators[0].Steps; got != c.want {
				t.Errorf("%d steps, want %d, of\n%s", got, c.want, strings.TrimSpace(unfinished+c.last))
			}
		})
	}
}
