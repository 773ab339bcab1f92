package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/giverny/giverny/search"
)

// request is a line sent to a program.
type request struct {
	Type     string           `json:"type"`
	ID       int              `json:"id,omitempty"`
	Workload *search.Workload `json:"workload,omitempty"`
}

// answer is a line from a program. Pointers distinguish missing from zero values.
type answer struct {
	ID             *int                `json:"id"`
	Status         search.Status       `json:"status"`
	Seconds        float64             `json:"seconds"`
	Directions     []answerDirection   `json:"directions"`
	TxPausePercent []*float64          `json:"tx_pause_percent"`
	Counters       map[string]*float64 `json:"counters"`
	Dimensions     json.RawMessage     `json:"dimensions"` // only in an answer to "describe"
}

type answerDirection struct {
	Gbps      *float64 `json:"gbps"`
	Mpps      *float64 `json:"mpps"`
	SizeBytes float64  `json:"size_bytes"`
}

// shown is how many bytes of a line an error quotes.
const shown = 60

func parseDescription(line []byte) (search.Description, error) {
	var d search.Description
	if err := json.Unmarshal(line, &d); err != nil {
		return d, fmt.Errorf("describe: %w", unreadable(line, err))
	}
	if d.Name == "" {
		return d, errors.New("describe: the name is missing")
	}
	if err := CheckDescription(&d); err != nil {
		return d, fmt.Errorf("describe: %s", strings.ReplaceAll(err.Error(), "\n", "; ")) // an error is one line
	}
	return d, nil
}

// parseAnswer parses the answer to measurement id. The reason classifies an error.
func parseAnswer(line []byte, id int, d *search.Description) (search.Measurement, Reason, error) {
	var a answer
	err := json.Unmarshal(line, &a)
	switch {
	case a.ID == nil && a.Dimensions != nil:
		return search.Measurement{}, DuplicateAnswer, fmt.Errorf("measure: it answered describe again when asked for %d", id)
	case err != nil:
		return search.Measurement{}, InvalidAnswer, fmt.Errorf("measure: %w", unreadable(line, err))
	case a.ID == nil:
		return search.Measurement{}, InvalidAnswer, fmt.Errorf("measure: the answer has no id: %.*q", shown, line)
	case *a.ID > 0 && *a.ID < id:
		return search.Measurement{}, DuplicateAnswer, fmt.Errorf("measure: it answered %d again when asked for %d", *a.ID, id)
	case *a.ID != id:
		return search.Measurement{}, InvalidAnswer, fmt.Errorf("measure: it answered %d when asked for %d", *a.ID, id)
	}
	m, err := a.measurement()
	if err == nil {
		err = CheckMeasurement(d, &m)
	}
	if err != nil {
		return search.Measurement{}, InvalidAnswer, fmt.Errorf("measure: %w", err)
	}
	return m, "", nil
}

// measurement converts an answer that has all required fields.
func (a *answer) measurement() (search.Measurement, error) {
	m := search.Measurement{Status: a.Status, Seconds: a.Seconds, Counters: map[string]float64{}}
	if a.Status != search.OK {
		return m, nil
	}
	if a.TxPausePercent == nil {
		return m, errors.New("the answer has no tx_pause_percent")
	}
	for i, d := range a.Directions {
		if d.Gbps == nil || d.Mpps == nil {
			return m, fmt.Errorf("directions[%d] lacks gbps or mpps", i)
		}
		m.Directions = append(m.Directions, search.Direction{Gbps: *d.Gbps, Mpps: *d.Mpps, SizeBytes: d.SizeBytes})
	}
	for i, p := range a.TxPausePercent {
		if p == nil {
			return m, fmt.Errorf("tx_pause_percent[%d] is null", i)
		}
		m.TxPausePercent = append(m.TxPausePercent, *p)
	}
	for name, v := range a.Counters {
		if v == nil {
			return m, fmt.Errorf("counter %q is null", name)
		}
		m.Counters[name] = *v
	}
	return m, nil
}

// unreadable describes a malformed line in the protocol's terms.
func unreadable(line []byte, err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	begin := fmt.Sprintf("%q", line[:min(shown, len(line))])
	switch {
	case !json.Valid(line) || ok && wrong.Field == "":
		return fmt.Errorf("not a JSON object: %s", begin)
	case ok:
		return fmt.Errorf("%s cannot be a JSON %s: %s", wrong.Field, wrong.Value, begin)
	}
	return fmt.Errorf("%w: %s", err, begin) // from a value's own validation
}
