package safety

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// hours is a daily window, UTC, in minutes after midnight. If its end is not after its begin, it crosses midnight.
type hours struct{ begin, end int64 }

const (
	minuteNanos   = int64(time.Minute)
	minutesPerDay = 24 * 60
)

// parseHours parses 22:00-06:00.
func parseHours(text string) (hours, error) {
	from, to, _ := strings.Cut(text, "-")
	begin, errBegin := time.Parse("15:04", strings.TrimSpace(from))
	end, errEnd := time.Parse("15:04", strings.TrimSpace(to))
	if errBegin != nil || errEnd != nil || begin.Equal(end) {
		return hours{}, fmt.Errorf("%q: want two times of the day, UTC, such as 22:00-06:00", text)
	}
	minutes := func(t time.Time) int64 { return int64(t.Hour()*60 + t.Minute()) }
	return hours{minutes(begin), minutes(end)}, nil
}

// left is how long the window stays open from an instant, ns since 1970; 0: it is closed.
func (h hours) left(atNanos int64) time.Duration {
	ofDay := atNanos % (minutesPerDay * minuteNanos)
	length := h.end - h.begin
	if length <= 0 {
		length += minutesPerDay
	}
	since := ofDay - h.begin*minuteNanos
	if since < 0 {
		since += minutesPerDay * minuteNanos
	}
	return time.Duration(max(0, length*minuteNanos-since))
}

// openFor returns how long the rule applies from an instant; without hours, forever.
func (r *Rule) openFor(atNanos int64) (left time.Duration, open bool) {
	if len(r.Hours) == 0 {
		return math.MaxInt64, true
	}
	for _, text := range r.Hours {
		if h, err := parseHours(text); err == nil { // the rule is valid
			left = max(left, h.left(atNanos))
		}
	}
	return left, left > 0
}
