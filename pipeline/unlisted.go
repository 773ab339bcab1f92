package pipeline

import (
	"fmt"
	"log/slog"
	"strings"
)

// unlisted are ports that report but are not in the topology: of new cables or hosts, or with another name
// there. Their readings are dropped.
type unlisted struct {
	log   *slog.Logger
	ports int
	first []string // a few of them
}

// see updates the number, and logs the first ones.
func (s *unlisted) see(ports int, first []string) {
	if s.ports == 0 && ports > 0 {
		s.log.Warn("analysis: reporting ports are not in the topology, their readings are dropped; import the fabric again", "ports", ports, "first", strings.Join(first, ", "))
	}
	s.ports, s.first = ports, first
}

func (s *unlisted) describe() string {
	if s.ports == 0 {
		return ""
	}
	return fmt.Sprintf("%d reporting ports are not in the topology, the first: %s; import the fabric again", s.ports, strings.Join(s.first, ", "))
}
