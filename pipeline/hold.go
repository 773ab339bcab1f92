package pipeline

import (
	"fmt"
	"strings"
)

// hold decides for how long intervals wait after Kafka was away: until every agent
// that reported before has reported for as long as Kafka was away, so that its
// spool is empty, or until the time for that is over. An agent is compared with
// itself, so that it does not matter whether its clock is right.
type hold struct {
	limitNanos, intervalNanos int64

	agents map[agentKey]*agentProgress
	newest int64

	holding   bool
	awaySince int64 // when the broker answered last before it went away
	backAt    int64 // when it answered again; 0: it is away
	nowNanos  int64 // as last given
}

type agentKey struct{ agent, source string }

type agentProgress struct {
	newest int64 // reading
	before int64 // the same when the broker went away
	waited bool  // for it to catch up
}

// maxHoldAgents bounds the memory that names of agents can take; what is beyond is
// not waited for. An agent that was silent for longer than silentIntervals before
// the outage is not waited for either. One that is no further behind than
// currentIntervals has caught up.
const (
	maxHoldAgents    = 1 << 16
	silentIntervals  = 5
	currentIntervals = 2
)

// saw notes how far an agent has reported.
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

// away says that the broker has not answered since an instant.
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

// over reports whether a hold ends, now that the broker answers.
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

// behind is how many of the agents that are waited for have not caught up.
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
	if h.backAt == 0 {
		return "intervals are held: Kafka is away"
	}
	behind, all := h.behind()
	return fmt.Sprintf("intervals are held: Kafka was away, %d of %d agents have yet to send what they spooled", behind, all)
}
