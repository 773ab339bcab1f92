package pattern

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/giverny/giverny/simulate/packet"
)

// BarrierAlgorithm is how processes synchronise; the paper leaves it open.
type BarrierAlgorithm string

// Algorithms.
const (
	Dissemination BarrierAlgorithm = "dissemination" // Hensgen et al., 1988: in round k a put to the process 2^k further on
	Ideal         BarrierAlgorithm = "ideal"         // all continue when the last has arrived, at no cost
)

// Model is a machine to run programs on.
type Model struct {
	Name         string
	About        string // source of its constants
	Packet       packet.Config
	Barrier      BarrierAlgorithm
	BarrierBytes int64 // of each put of a barrier
}

// Validate joins all errors.
func (m Model) Validate() error {
	if m.Barrier != Dissemination && m.Barrier != Ideal {
		return fmt.Errorf("barrier=%s: want dissemination or ideal", m.Barrier)
	}
	if m.BarrierBytes < 0 {
		return fmt.Errorf("barrier_bytes=%d: want 0 or more", m.BarrierBytes)
	}
	return m.Packet.Validate()
}

// FindModel returns the built-in model with a name.
func FindModel(name string) (Model, error) {
	var names []string
	for _, m := range Models() {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return Model{}, fmt.Errorf("model %q%s", name, suggestion(name, names))
}

// Set sets a parameter given as NAME=VALUE; Validate checks the model once all are set.
func (m *Model) Set(assignment string) error {
	name, value, ok := strings.Cut(assignment, "=")
	if !ok {
		return fmt.Errorf("parameter %q: want NAME=VALUE", assignment)
	}
	names := []string{"barrier", "barrier_bytes"}
	switch name {
	case "barrier":
		m.Barrier = BarrierAlgorithm(value)
		return nil
	case "barrier_bytes":
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("%s=%q: want a whole number", name, value)
		}
		m.BarrierBytes = n
		return nil
	}
	for _, p := range packet.Parameters() {
		if p.Name == name {
			return p.Set(&m.Packet, value)
		}
		names = append(names, p.Name)
	}
	return fmt.Errorf("parameter %q%s", name, suggestion(name, names))
}

// suggestion is "; did you mean X?" or, if nothing is similar, the known names.
func suggestion(name string, known []string) string {
	best, distance := "", 3+len(name)/4
	for _, k := range known {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), k); d < distance {
			best, distance = k, d
		}
	}
	if best != "" {
		return fmt.Sprintf(" is unknown; did you mean %q?", best)
	}
	return " is unknown; known: " + strings.Join(known, ", ")
}
