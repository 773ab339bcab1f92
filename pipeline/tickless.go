package pipeline

import (
	"log/slog"

	"github.com/giverny/giverny/ingest/window"
)

// tickless reports ports whose PortXmitWait cannot be converted to percent, because the length of their tick is unknown. Without
// it an InfiniBand fabric has no stall, and looks calm.
type tickless struct {
	log     *slog.Logger
	dropped uint64
}

// see updates the number of values, and logs the first.
func (s *tickless) see(drops map[string]uint64) {
	n := drops[window.NoTick.String()]
	if s.dropped == 0 && n > 0 {
		s.log.Warn("analysis: PortXmitWait dropped, the length of its tick is unknown; set tick_bytes or tick_picoseconds of the fabric", "reason", window.NoTick)
	}
	s.dropped = n
}

func (s *tickless) describe() string {
	if s.dropped == 0 {
		return ""
	}
	return "PortXmitWait is dropped, the length of its tick is unknown: set tick_bytes or tick_picoseconds of the fabric"
}
