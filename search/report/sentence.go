// Package report says what a search has found, for people: a sentence in the style
// of the paper for each anomaly, and a page of HTML that needs nothing beside it.
// Findings and measurements go in, text comes out.
package report

import (
	"fmt"
	"strings"

	"github.com/giverny/giverny/search"
)

// Sentence says which workloads trigger an anomaly, and what they see, such as
// "bidirectional RC WRITE with a batch of 64 or more, 320 or more QPs and a mix of
// short (1024 or less) and long (65536 or more) messages: pause 8.1%". Dimensions
// that it does not know go by their names. A shown measurement without directions
// leaves the numbers out.
func Sentence(space *search.Space, mfs *search.MFS, symptom search.Symptom, shown search.Measurement) string {
	conditions := mfs.Conditions()
	var direction, transport string
	var with []string
	for _, d := range space.Dimensions() {
		c, ok := conditions[d.Name]
		switch {
		case !ok:
		case d.Name == "direction":
			direction = choice(c.In, directionWord)
		case d.Name == "transport":
			transport = choice(c.In, func(v string) string { return strings.ReplaceAll(v, "_", " ") })
		default:
			with = append(with, phrases(&d, c)...)
		}
	}
	if transport == "" {
		transport = "traffic"
	}
	text := strings.TrimSpace(direction + " " + transport)
	if len(with) > 0 {
		text += " with " + list(with)
	}
	if len(conditions) == 0 {
		text = "any traffic"
	}
	return text + ": " + symptomText(symptom, shown)
}

func directionWord(v string) string {
	switch v {
	case "bi":
		return "bidirectional"
	case "uni":
		return "unidirectional"
	}
	return v
}

// choice joins alternatives.
func choice(values []search.Value, word func(string) string) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = word(v.String())
	}
	return strings.Join(words, " or ")
}

// list is "a", "a and b", "a, b and c".
func list(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// counted dimensions read better as "320 or more QPs".
var counted = map[string]string{"qps": "QPs", "sge": "scatter-gather entries", "memory_regions": "memory regions"}

// named dimensions have a shorter word than their name.
var named = map[string]string{"wqe_batch": "a batch", "receive_batch": "a receive batch", "wq_depth": "a queue depth",
	"mtu": "an MTU", "region_bytes": "memory regions"}

// phrases of one dimension.
func phrases(d *search.Dimension, c search.Condition) []string {
	name := strings.ReplaceAll(d.Name, "_", " ")
	switch {
	case d.Pattern:
		return patternPhrases(name, c)
	case d.Ordered:
		if noun, ok := counted[d.Name]; ok {
			return []string{amount(c.Bounds) + " " + noun}
		}
		if noun, ok := named[d.Name]; ok {
			name = noun
		}
		return []string{name + " of " + amount(c.Bounds)}
	}
	return []string{name + " " + choice(c.In, func(v string) string { return v })}
}

func amount(b search.Bounds) string {
	switch {
	case b.Min != nil && b.Max != nil && b.Min.String() == b.Max.String():
		return b.Min.String()
	case b.Min != nil && b.Max != nil:
		return b.Min.String() + " to " + b.Max.String()
	case b.Min != nil:
		return b.Min.String() + " or more"
	case b.Max != nil:
		return b.Max.String() + " or less"
	}
	return "any value"
}

func patternPhrases(name string, c search.Condition) (parts []string) {
	things := name
	if strings.Contains(name, "size") {
		things = "messages"
	}
	if c.All != nil {
		parts = append(parts, fmt.Sprintf("all %s of %s", things, amount(*c.All)))
	}
	if len(c.Any) == 2 {
		short, long := c.Any[0], c.Any[1]
		if short.Max == nil || long.Min == nil {
			short, long = long, short
		}
		if short.Min == nil && short.Max != nil && long.Max == nil && long.Min != nil {
			return append(parts, fmt.Sprintf("a mix of short (%s) and long (%s) %s", amount(short), amount(long), things))
		}
	}
	for _, b := range c.Any {
		parts = append(parts, fmt.Sprintf("some %s of %s", things, amount(b)))
	}
	return parts
}

// symptomText is the symptom with the worst host's or direction's number.
func symptomText(symptom search.Symptom, m search.Measurement) string {
	if len(m.Directions) == 0 {
		return string(symptom)
	}
	if symptom == search.Pause {
		worst := 0.
		for _, p := range m.TxPausePercent {
			worst = max(worst, p)
		}
		return fmt.Sprintf("pause %.3g%%", worst)
	}
	worst := m.Directions[0]
	for _, d := range m.Directions {
		if d.Gbps < worst.Gbps {
			worst = d
		}
	}
	return fmt.Sprintf("throughput %.3g Gb/s and %.3g million packets a second", worst.Gbps, worst.Mpps)
}
