package order

import (
	"fmt"
	"slices"
	"strings"

	"github.com/giverny/giverny/hostping"
)

// Sentence summarises the result of a run: "host56: memory channel of numa1 at 61% of
// its baseline; cleared: its PCIe links".
func Sentence(host string, r *hostping.Report, g *hostping.Graph) string {
	if len(r.Verdicts) == 0 {
		if len(r.Matrix) == 0 {
			return host + ": nothing could be measured"
		}
		return fmt.Sprintf("%s: no bottleneck inside the host, %d of its paths match their baseline", host, len(r.Matrix))
	}
	var said []string
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		text, _, _ := strings.Cut(v.Text, "; cleared:") // by link ids, which the report has
		if text == "" {
			text = strings.Join(strings.Fields(strings.ReplaceAll(string(v.Bottleneck), "_", " ")+" "+v.Link+" "+v.RNIC+" "+v.Endpoint), " ")
		}
		if len(v.OverloadedBy) > 0 {
			text += ", by " + consumers(v.OverloadedBy)
		}
		said = append(said, text)
	}
	sentence := host + ": " + strings.Join(said, "; ")
	if cleared := cleared(r.Verdicts, g); cleared != "" {
		sentence += "; cleared: " + cleared
	}
	return sentence
}

func consumers(list []hostping.Consumer) string {
	var names []string
	for _, c := range list {
		names = append(names, fmt.Sprintf("%s (pid %d, %.0f%%)", c.Name, c.PID, 100*c.Share))
	}
	return strings.Join(names, ", ")
}

// cleared names the kinds of links shown sound by the verdicts' evidence.
func cleared(verdicts []hostping.Verdict, g *hostping.Graph) string {
	kinds := map[hostping.Kind]bool{}
	for i := range verdicts {
		for id := range verdicts[i].Evidence.Cleared {
			accused := func(v hostping.Verdict) bool { return v.Link == id }
			at := slices.IndexFunc(g.Links, func(l hostping.Link) bool { return l.ID == id })
			if at >= 0 && !slices.ContainsFunc(verdicts, accused) {
				kinds[g.Links[at].Kind] = true
			}
		}
	}
	var parts []string
	for _, k := range []struct {
		kind hostping.Kind
		name string
	}{{hostping.PCIe, "its PCIe links"}, {hostping.RootPort, "its root ports"}, {hostping.InterSocket, "the bus between its sockets"}, {hostping.Memory, "other memory channels"}} {
		if kinds[k.kind] {
			parts = append(parts, k.name)
		}
	}
	return strings.Join(parts, ", ")
}
