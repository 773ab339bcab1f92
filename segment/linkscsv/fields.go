package linkscsv

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/giverny/giverny/schema"
)

// Seconds since 1970 are from 2001 to 2261: less is a date without separators (20260105),
// more is milliseconds, or beyond nanoseconds in an int64.
const minSeconds, maxSeconds = 1e9, 9.2e9

// parseTime reads RFC 3339, or seconds since 1970 with an optional fraction, as Prometheus has them. A
// local time without a zone is refused, because it is ambiguous.
func parseTime(text string) (schema.Instant, error) {
	if text == "" {
		return 0, errors.New("it is empty")
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if !(seconds >= minSeconds && seconds < maxSeconds) {
			return 0, fmt.Errorf("time %s: a number is seconds since 1970, from %.0f (2001) to %.0f (2261)", text, minSeconds, maxSeconds)
		}
		return schema.Instant(math.Round(seconds*1000) * 1e6), nil
	}
	var start schema.Instant
	if err := start.UnmarshalText([]byte(text)); err != nil {
		return 0, fmt.Errorf("%w, or seconds since 1970", err)
	}
	return start, nil
}

// portLink returns the link that leaves the port of a row.
func (t *table) portLink(device, port string) (schema.LinkID, error) {
	d, ok := t.graph.FindDevice(device)
	if !ok {
		return 0, fmt.Errorf("device %q: the fabric has none of this name; %s", device, t.graph.Hint(device))
	}
	links, ok := t.graph.PortAt(d, port)
	if !ok || links.Egress == schema.NoLink {
		at := t.graph.LinksAt(d)
		if len(at) == 0 {
			return 0, fmt.Errorf("port %q of %q: no link leaves it; this device has no cables in the topology", port, device)
		}
		example := t.graph.Link(at[0])
		name := example.FromPort
		if example.To == d {
			name = example.ToPort
		}
		return 0, fmt.Errorf("port %q of %q: no link leaves it; ports of this device are named like %q", port, device, name)
	}
	return links.Egress, nil
}
