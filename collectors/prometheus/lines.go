package prometheus

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	client "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/giverny/giverny/collectors"
)

// maxBroken is how many lines of a target may be broken; a text with more is something else.
const maxBroken = 10_000

// parseLines reads metrics in the text format, also with line ends of Windows. A line that is none costs its own sample only: the parser ends at the first,
// so what precedes it is parsed once more, and then what follows it, of which samples may lose their type. broken has an
// error for each such line, also for a last one that was truncated: its number may lack digits. If no line is a metric,
// that is an error of the whole.
func parseLines(text io.Reader) (families map[string]*client.MetricFamily, broken []error, err error) {
	rest, err := io.ReadAll(text)
	if err != nil {
		return nil, nil, err
	}
	rest = bytes.ReplaceAll(rest, []byte("\r\n"), []byte("\n"))
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, passed := map[string]*client.MetricFamily{}, 0
	for {
		some, err := parser.TextToMetricFamilies(bytes.NewReader(rest))
		if err == nil {
			merge(families, some)
			break
		}
		var fault expfmt.ParseError
		if !errors.As(err, &fault) || fault.Line < 1 || len(broken) == maxBroken {
			return nil, nil, fmt.Errorf("%w: %w", collectors.ErrMalformed, err)
		}
		before, bad, after := cutLine(rest, fault.Line)
		if some, err = parser.TextToMetricFamilies(bytes.NewReader(before)); err != nil {
			return nil, nil, fmt.Errorf("%w: %w", collectors.ErrMalformed, err)
		}
		merge(families, some)
		broken = append(broken, fmt.Errorf("%w: line %d: %.80q: %s", collectors.ErrMalformed, passed+fault.Line, bad, fault.Msg))
		passed, rest = passed+fault.Line, after
	}
	if len(families) == 0 && len(broken) > 0 {
		return nil, nil, broken[0]
	}
	return families, broken, nil
}

// cutLine returns the lines before line n, which counts from 1, the line itself, and those after it.
func cutLine(text []byte, n int) (before, line, after []byte) {
	after = text
	for range n - 1 {
		_, after, _ = bytes.Cut(after, []byte("\n"))
	}
	before = text[:len(text)-len(after)]
	line, after, _ = bytes.Cut(after, []byte("\n"))
	return before, line, after
}

// merge adds the metrics of some families to the others.
func merge(into, some map[string]*client.MetricFamily) {
	for name, family := range some {
		if have := into[name]; have != nil {
			have.Metric = append(have.Metric, family.Metric...)
		} else {
			into[name] = family
		}
	}
}
