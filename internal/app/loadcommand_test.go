package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/giverny/giverny/schema"
)

const loadCommand = "load"

// The files in which a child records the polls acknowledged by Kafka, and the stored
// intervals by their end; for a hot load only those with regions.
const (
	ackedJournal  = "acknowledged"
	storedJournal = "stored"
)

// runLoad is the child that the chaos test kills: DIR TOPOLOGY [hot].
func runLoad(ctx context.Context, args []string) error {
	var journals [2]*os.File
	for i, name := range [2]string{ackedJournal, storedJournal} {
		file, err := os.OpenFile(filepath.Join(args[0], name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer file.Close()
		journals[i] = file
	}
	u := underLoad{dir: filepath.Join(args[0], "data"), topology: args[1], hot: len(args) > 2}
	u.onAcked = func(nanos int64) { fmt.Fprintln(journals[0], nanos) } // one write per line: atomic
	u.onStored = func(r *schema.IntervalResult) {
		if u.hot && len(r.Regions) == 0 { // a busy machine misses polls
			return
		}
		fmt.Fprintln(journals[1], r.Snapshot.Interval.EndNanos())
	}
	return u.run(ctx)
}
