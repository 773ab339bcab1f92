package schema

import "time"

// ParseSpan parses a start and an end by a function like ParseInstant. A time without a zone is ambiguous in the hour that
// is repeated when daylight saving time ends: if the end would be before the start, meanings are chosen for which it is not.
func ParseSpan(startText, endText string, zone *time.Location, parse func(text string, zone *time.Location) (Instant, error)) (start, end Instant, err error) {
	if start, err = parse(startText, zone); err != nil {
		return 0, 0, err
	}
	if end, err = parse(endText, zone); err != nil {
		return 0, 0, err
	}
	if start == 0 || end == 0 || end >= start || zone == nil {
		return start, end, nil
	}
	meanings := func(at Instant, text string) [2]Instant {
		const elsewhere = 12345 // seconds: no zone has this offset
		if same, _ := parse(text, time.FixedZone("", elsewhere)); same == at {
			return [2]Instant{at, at} // the text has a zone
		}
		first, second := LocalMeanings(at.Time().In(zone))
		return [2]Instant{Instant(first.UnixNano()), Instant(second.UnixNano())}
	}
	for _, later := range meanings(end, endText) {
		for _, earlier := range meanings(start, startText) {
			if later >= earlier {
				return earlier, later, nil
			}
		}
	}
	return start, end, nil
}

// LocalMeanings returns the earlier and the later instant with the same local time in t's zone. They differ only in the
// hour that is repeated when daylight saving time ends.
func LocalMeanings(t time.Time) (first, second time.Time) {
	meaning := func(near time.Duration) time.Time { // with the offset before or after the clock change
		_, here := t.Zone()
		_, there := t.Add(near).Zone()
		m := t.Add(time.Duration(here-there) * time.Second)
		if _, offset := m.Zone(); offset != there {
			return t
		}
		return m
	}
	const day = 24 * time.Hour
	return meaning(-day), meaning(day)
}
