// Package report presents the findings of a search: a sentence in the style of the
// paper for each anomaly, and a self-contained HTML page. The input is findings and
// measurements, the output is text.
package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/giverny/giverny/search"
)

// Sentence describes which workloads trigger an anomaly, by the conditions of its MFS,
// and its symptom, such as "bidirectional RC WRITE with a batch of 64 or more, 320 or
// more QPs and a mix of short (1024 or less) and long (65536 or more) messages: pause
// 8.1%". Unknown dimensions appear by name. If shown has no directions, the numbers are
// omitted.
func Sentence(conditions map[string]search.Condition, symptom search.Symptom, shown search.Measurement) string {
	var direction, transport string
	var with []string
	for _, name := range inOrder(conditions) {
		c := conditions[name]
		switch name {
		case "direction":
			direction = choice(c.In, directionWord)
		case "transport":
			transport = choice(c.In, func(v string) string { return strings.ReplaceAll(v, "_", " ") })
		default:
			with = append(with, phrases(name, c)...)
		}
	}
	text := strings.TrimSpace(direction + " " + cmp.Or(transport, "traffic"))
	if len(with) > 0 {
		text += " with " + list(with)
	}
	if len(conditions) == 0 {
		text = "any traffic"
	}
	return text + ": " + symptomText(symptom, shown)
}

// SentenceOf is Sentence for a stored MFS, without the numbers; for anything else, the text itself.
func SentenceOf(mfs json.RawMessage, symptom string) string {
	var conditions map[string]search.Condition
	if json.Unmarshal(mfs, &conditions) != nil {
		return symptom + " where " + string(mfs)
	}
	return Sentence(conditions, search.Symptom(symptom), search.Measurement{})
}

// inOrder sorts the names, counts and then patterns last, as is natural in a sentence.
func inOrder(conditions map[string]search.Condition) []string {
	rank := func(name string) int {
		switch _, ok := counted[name]; {
		case isPattern(conditions[name]):
			return 2
		case ok:
			return 1
		}
		return 0
	}
	return slices.SortedFunc(maps.Keys(conditions), func(a, b string) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
	})
}

func isPattern(c search.Condition) bool { return c.All != nil || len(c.Any) > 0 }

func directionWord(v string) string {
	switch v {
	case "bi":
		return "bidirectional"
	case "uni":
		return "unidirectional"
	}
	return v
}

// choice joins alternatives with "or".
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

// named maps dimensions to shorter words.
var named = map[string]string{"wqe_batch": "a batch", "receive_batch": "a receive batch", "wq_depth": "a queue depth",
	"mtu": "an MTU", "region_bytes": "memory regions"}

// phrases describes the condition on one dimension.
func phrases(dimension string, c search.Condition) []string {
	name := strings.ReplaceAll(dimension, "_", " ")
	switch {
	case isPattern(c):
		return patternPhrases(name, c)
	case len(c.In) > 0:
		return []string{name + " " + choice(c.In, func(v string) string { return v })}
	}
	if noun, ok := counted[dimension]; ok {
		return []string{amount(c.Bounds) + " " + noun}
	}
	if noun, ok := named[dimension]; ok {
		name = noun
	}
	return []string{name + " of " + amount(c.Bounds)}
}

func amount(b search.Bounds) string {
	switch {
	case b.Min == nil && b.Max != nil && b.Max.String() == "1":
		return "1" // of what is counted, or has a size, there is no less
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

// symptomText is the symptom with the number of the worst host or direction.
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
