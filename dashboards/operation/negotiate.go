package operation

import (
	"strconv"
	"strings"
)

// Media types of responses.
const (
	JSON        = "application/json"
	ArrowStream = "application/vnd.apache.arrow.stream"
	CSV         = "text/csv"
)

// quality is the weight that an Accept or Accept-Encoding header gives an offer, 0 to 1; specific is how
// precisely the header names it (RFC 9110, section 12.4.2).
type quality struct {
	q        float64
	specific int
}

// choose returns the offer that a header prefers, the first of equals, and "" if it accepts none. An empty header
// accepts any.
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

// mediaType says how precisely a pattern of Accept matches a type: not at all, */*, type/*, or exactly.
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

// coding says how precisely a pattern of Accept-Encoding matches a coding.
func coding(pattern, offer string) int {
	switch pattern {
	case "*":
		return 1
	case offer:
		return 2
	}
	return 0
}

// encodingFor returns the coding for a client: zstd, gzip or "" for none, also if the header lists neither.
func encodingFor(header string) string {
	if header == "" {
		return ""
	}
	return choose(header, []string{"zstd", "gzip"}, coding)
}
