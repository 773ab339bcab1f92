package collectors

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"
)

// maxExamples bounds the devices named in a log line.
const maxExamples = 3

// logFailing logs the unreadable devices, one line per reason.
func (p *Poller) logFailing(failing map[string]Reason, errs map[Reason]error) {
	byReason := map[Reason][]string{}
	for _, name := range slices.Sorted(maps.Keys(failing)) {
		byReason[failing[name]] = append(byReason[failing[name]], name)
	}
	before := map[Reason][]string{}
	for _, name := range slices.Sorted(maps.Keys(p.failing)) {
		before[p.failing[name]] = append(before[p.failing[name]], name)
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		names := byReason[reason]
		if !slices.Equal(names, before[reason]) {
			p.log.Warn("collectors: devices cannot be read", "reason", reason.String(), "devices", len(names),
				"examples", names[:min(len(names), maxExamples)], "error", errs[reason])
		}
	}
}

// Blocked describes devices that hang in the kernel, for /-/ready.
func Blocked(names []string, since map[string]time.Time) string {
	var text []string
	for _, name := range names[:min(len(names), maxExamples)] {
		text = append(text, name+" since "+since[name].UTC().Format(time.RFC3339))
	}
	if more := len(names) - len(text); more > 0 {
		text = append(text, fmt.Sprintf("and %d more", more))
	}
	return "blocked in a read: " + strings.Join(text, ", ")
}

// goodPolls is how many polls in a row without a failure count as a recovery (debounce).
const goodPolls = 2

// trouble is a period in which devices could not be read.
type trouble struct {
	polls   int             // with a failure
	good    int             // consecutive polls without a failure since
	devices map[string]bool // that have failed
}

// note records the failures of a poll, and logs the recovery.
func (t *trouble) note(failing map[string]Reason, log *slog.Logger) {
	if len(failing) > 0 {
		if t.devices == nil {
			t.devices = map[string]bool{}
		}
		for name := range failing {
			t.devices[name] = true
		}
		t.polls, t.good = t.polls+1, 0
		return
	}
	t.good++
	if t.polls == 0 || t.good < goodPolls {
		return
	}
	names := slices.Sorted(maps.Keys(t.devices))
	log.Info("collectors: all devices are readable again, or no longer listed", "failed_polls", t.polls, "devices", len(names), "examples", names[:min(len(names), maxExamples)])
	*t = trouble{}
}

// unread is the number of counters that could not be read, by reason, with an example each.
type unread struct {
	counters, before [NumReasons]int // of this poll and the previous one
	examples         [NumReasons]error
}

func (u *unread) begin() { *u = unread{before: u.counters} }

func (u *unread) add(r *Reading) {
	for reason, n := range r.unreadable {
		if u.counters[reason] += n; u.examples[reason] == nil {
			u.examples[reason] = r.examples[reason]
		}
	}
}

// logNew logs the reasons for which no counter was unreadable in the previous poll.
func (u *unread) logNew(log *slog.Logger) {
	for reason, err := range u.examples {
		if u.before[reason] == 0 && err != nil {
			log.Warn("collectors: counters cannot be read, left out", "reason", Reason(reason).String(), "counters", u.counters[reason], "error", err)
		}
	}
}

// quiet is whether the last poll had no row at all, so that a source without anything to read is in the log once.
type quiet struct{ polled, empty bool }

// note logs the first poll, and later ones that have rows where the one before had none, or the reverse.
func (q *quiet) note(devices, rows int, log *slog.Logger) {
	was := *q
	*q = quiet{polled: true, empty: rows == 0}
	switch {
	case *q == was:
	case q.empty:
		log.Warn("collectors: nothing to read, no device of this source has counters; giverny collect --once shows what is read", "devices", devices)
	default:
		log.Info("collectors: reading", "devices", devices, "rows", rows)
	}
}
