package chaos

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Reading is one poll of all ports of an agent.
type Reading struct {
	Agent       string
	TrueNanos   int64 // when it was read
	StatedNanos int64 // by the agent's clock
	// Acked: the system acknowledged it, so it must not be lost. Otherwise the agent died or was rejected, and
	// the reading may be present or absent.
	Acked bool
}

// Journal records an agent's readings in a file that outlives the agent.
type Journal struct{ file *os.File }

// OpenJournal opens or creates the file.
func OpenJournal(path string) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &Journal{file}, nil
}

// Kinds of journal lines.
const (
	begun = "begun" // about to be passed to the system
	acked = "acked" // acknowledged by the system
	lost  = "lost"  // a full disk may have lost the acknowledged readings of a span
)

// Begun records a reading before it is passed to the system. Each line is one atomic write.
func (j *Journal) Begun(r Reading) error { return j.note(begun, r) }

// Acked records that the system has acknowledged a reading.
func (j *Journal) Acked(r Reading) error { return j.note(acked, r) }

// Lost records that acknowledged readings of a span of true time may be present or absent.
func (j *Journal) Lost(agent string, fromNanos, toNanos int64) error {
	return j.note(lost, Reading{Agent: agent, TrueNanos: fromNanos, StatedNanos: toNanos})
}

func (j *Journal) note(what string, r Reading) error {
	_, err := fmt.Fprintf(j.file, "%s %s %d %d\n", what, r.Agent, r.TrueNanos, r.StatedNanos)
	return err
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }

// ReadHistory merges the journals of all agents, by agent and true time. A truncated last line is ignored.
func ReadHistory(paths []string) ([]Reading, error) {
	type key struct {
		agent  string
		nanos  int64
		stated int64
	}
	found := map[key]bool{} // whether acknowledged
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
		defer file.Close()
		for lines := bufio.NewScanner(file); lines.Scan(); {
			var what string
			var k key
			n, _ := fmt.Sscanf(lines.Text(), "%s %s %d %d", &what, &k.agent, &k.nanos, &k.stated)
			switch {
			case n == 4 && (what == begun || what == acked):
				found[k] = found[k] || what == acked
			case n == 4 && what == lost:
				for other := range found {
					found[other] = found[other] && !(other.agent == k.agent && other.nanos >= k.nanos && other.nanos <= k.stated)
				}
			}
		}
	}
	history := make([]Reading, 0, len(found))
	for k, ok := range found {
		history = append(history, Reading{k.agent, k.nanos, k.stated, ok})
	}
	slices.SortFunc(history, func(a, b Reading) int {
		return cmp.Or(strings.Compare(a.Agent, b.Agent), cmp.Compare(a.TrueNanos, b.TrueNanos), cmp.Compare(a.StatedNanos, b.StatedNanos))
	})
	return history, nil
}
