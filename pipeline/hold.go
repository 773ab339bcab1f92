package pipeline

import (
	"fmt"
	"strings"
)

// hold decides how long intervals wait after an outage of Kafka: until every agent
// that reported before has advanced by as much as the outage lasted, which means
// that its spool is empty, or until a time limit. An agent is only compared with
// itself, so it does not matter if its clock is wrong.
type hold struct {
	limitNanos, intervalNanos int64

	agents map[agentKey]*agentProgress
	newest int64

	holding   bool
	awaySince int64  // when the broker last answered before the outage
	backAt    int64  // when it answered again; 0: it has not
	nowNanos  int64  // as last given
	why       string // why Kafka accepts no records; "": it does not answer
}

type agentKey struct{ agent, source string }

type agentProgress struct {
	newest int64 // newest reading
	before int64 // newest at the start of the outage
	waited bool  // the hold waits for it to catch up
}

// maxHoldAgents limits the memory for agents; the hold does not wait for further
// ones, nor for an agent that was silent for longer than silentIntervals before
// the outage. An agent that is at most currentIntervals behind has caught up.
const (
	maxHoldAgents    = 1 << 16
	silentIntervals  = 5
	currentIntervals = 2
)

// saw records how far an agent has reported.
func (h *hold) saw(agent, source string, newestNanos int64) {
	h.newest = max(h.newest, newestNanos)
	a := h.agents[agentKey{agent, source}]
	if a == nil {
		if len(h.agents) >= maxHoldAgents {
			return
		}
		if h.agents == nil {
			h.agents = map[agentKey]*agentProgress{}
		}
		a = &agentProgress{}
		h.agents[agentKey{strings.Clone(agent), strings.Clone(source)}] = a
	}
	a.newest = max(a.newest, newestNanos)
}

// away records that the broker has not answered since an instant.
func (h *hold) away(sinceNanos int64) {
	if h.limitNanos == 0 {
		return
	}
	if h.holding && h.backAt == 0 {
		return
	}
	if !h.holding {
		h.awaySince = sinceNanos
		for _, a := range h.agents {
			a.before, a.waited = a.newest, h.newest-a.newest <= silentIntervals*h.intervalNanos
		}
	}
	h.holding, h.backAt = true, 0
}

// over reports whether a hold ends, given that the broker answers.
func (h *hold) over(nowNanos int64) bool {
	if !h.holding {
		return false
	}
	if h.backAt == 0 {
		h.backAt = nowNanos
	}
	h.nowNanos = nowNanos
	if behind, _ := h.behind(); behind > 0 && nowNanos-h.backAt < h.limitNanos {
		return false
	}
	h.holding = false
	return true
}

// behind returns how many of the agents that the hold waits for have not caught up.
func (h *hold) behind() (behind, all int) {
	passed := h.nowNanos - h.awaySince
	for _, a := range h.agents {
		if !a.waited {
			continue
		}
		all++
		if a.newest-a.before < passed-currentIntervals*h.intervalNanos {
			behind++
		}
	}
	return behind, all
}

func (h *hold) describe() string {
	if h.backAt == 0 && h.why != "" {
		return "intervals are held: Kafka accepts no records: " + h.why
	}
	if h.backAt == 0 {
		return "intervals are held: Kafka is unreachable"
	}
	behind, all := h.behind()
	return fmt.Sprintf("intervals are held: Kafka was unreachable, %d of %d agents have yet to send their spools", behind, all)
}
