package operation

import (
	"strconv"
	"strings"
)

// Media types of answers.
const (
	JSON        = "application/json"
	ArrowStream = "application/vnd.apache.arrow.stream"
	CSV         = "text/csv"
)

// quality is what an Accept or Accept-Encoding header gives an offer, 0 to 1; specific is how closely the header
// names it (RFC 9110, section 12.4.2).
type quality struct {
	q        float64
	specific int
}

// choose is the offer that a header likes most, the first of equals, and "" where it takes none of them. An empty
// header takes anything.
func choose(header string, offers []string, match func(pattern, offer string) int) string {
	if strings.TrimSpace(header) == "" {
		return offers[0]
	}
	best, bestQ := "", 0.0
	for _, offer := range offers {
		var given quality
		for part := range strings.SplitSeq(header, ",") {
			pattern, parameters, _ := strings.Cut(part, ";")
			specific := match(strings.ToLower(strings.TrimSpace(pattern)), offer)
			if specific > given.specific {
				given = quality{weight(parameters), specific}
			}
		}
		if given.q > bestQ {
			best, bestQ = offer, given.q
		}
	}
	return best
}

func weight(parameters string) float64 {
	for p := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if strings.EqualFold(name, "q") {
			if q, err := strconv.ParseFloat(value, 64); err == nil && q >= 0 && q <= 1 {
				return q
			}
			return 0
		}
	}
	return 1
}

// mediaType says how closely a pattern of Accept names a type: not at all, */*, type/*, or exactly.
func mediaType(pattern, offer string) int {
	kind, _, _ := strings.Cut(offer, "/")
	switch pattern {
	case "*/*":
		return 1
	case kind + "/*":
		return 2
	case offer:
		return 3
	}
	return 0
}

// coding says how closely a pattern of Accept-Encoding names a coding. identity is taken unless it is refused.
func coding(pattern, offer string) int {
	switch pattern {
	case "*":
		return 1
	case offer:
		return 2
	}
	return 0
}

// encodingFor is the coding for a client: zstd, gzip or none. A header that names none of them takes none.
func encodingFor(header string) string {
	if header == "" {
		return ""
	}
	return choose(header, []string{"zstd", "gzip"}, coding)
}
