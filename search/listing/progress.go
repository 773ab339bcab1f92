package listing

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/search/run"
)

// Progress shows the progress of a search on standard error: on a terminal in one line
// that is overwritten, otherwise occasionally.
type Progress struct {
	out      io.Writer
	terminal bool
	shown    time.Time
	wrote    bool
}

// Intervals of showing progress.
const (
	progressOnTerminal = 200 * time.Millisecond
	progressElsewhere  = 30 * time.Second
)

// NewProgress returns one for an output, which may be a terminal.
func NewProgress(out io.Writer) *Progress {
	p := &Progress{out: out, shown: time.Now()}
	if file, ok := out.(*os.File); ok {
		_, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
		p.terminal = err == nil
	}
	return p
}

// Show shows the progress, unless it was shown a moment before.
func (p *Progress) Show(now run.Progress) {
	every := progressElsewhere
	if p.terminal {
		every = progressOnTerminal
	}
	last := now.Experiments >= now.Budget
	if !last && time.Since(p.shown) < every {
		return
	}
	p.shown = time.Now()
	text := progressText(now)
	if p.terminal {
		fmt.Fprintf(p.out, "\r%s\x1b[K", text)
		p.wrote = true
		return
	}
	fmt.Fprintln(p.out, text)
}

// rateText formats a rate with three significant digits, or all integer digits, without exponent.
func rateText(rate float64) string {
	digits := 2
	for low := rate; low >= 10 && digits > 0; low /= 10 {
		digits--
	}
	return strconv.FormatFloat(rate, 'f', digits, 64)
}

func progressText(now run.Progress) string {
	text := fmt.Sprintf("giverny search: %d of %s, %d failed, %s", now.Experiments, plural.Count(now.Budget, "experiment", "experiments"), now.Failed, plural.Count(now.Anomalies, "anomaly", "anomalies"))
	if done := now.Experiments - now.Resumed; done > 0 {
		text += fmt.Sprintf(", %s experiments a minute", rateText(float64(done)/now.Elapsed.Minutes()))
	}
	if left := now.Left(); left > 0 {
		text += fmt.Sprintf(", %s left", left.Round(time.Second))
	}
	return text
}

// End leaves the progress line on a terminal.
func (p *Progress) End() {
	if p.wrote {
		fmt.Fprintln(p.out)
	}
}
