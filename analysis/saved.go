package analysis

import (
	"encoding/binary"
	"errors"

	"github.com/giverny/giverny/segment/tracking"
)

// save is what the tracker and the hotspots have learned: the length of the
// tracker's part, then both. Each part has a mark, a version and a checksum.
func (c *Core) save() []byte {
	track := c.tracker.Save(nil)
	return c.hotspots.Save(append(binary.AppendUvarint(nil, uint64(len(track))), track...))
}

// Load takes up what an earlier process had learned up to an interval. It comes
// before Resume, which must then be given all intervals stored since. It fails,
// and changes nothing, with tracking.ErrSaved if the bytes are damaged, of
// another version of the program or of the graph, or of other thresholds.
func (c *Core) Load(saved []byte) error {
	length, n := binary.Uvarint(saved)
	if n <= 0 || length > uint64(len(saved)-n) {
		return errors.Join(errors.New("analysis: load: the parts are cut short"), tracking.ErrSaved)
	}
	track, hot := saved[n:n+int(length)], saved[n+int(length):]
	tracker, err := tracking.Load(c.graph, c.cfg.Track, track)
	if err != nil {
		return err
	}
	hotspots, err := tracking.LoadHotspots(c.graph, c.cfg.Hot, hot)
	if err != nil {
		return err
	}
	c.tracker, c.hotspots = tracker, hotspots
	return nil
}
