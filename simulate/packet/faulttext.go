package packet

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/routing"
	"github.com/giverny/giverny/topology"
)

// ParseFault parses a fault as written by users, TIME,WHAT,STATE:
//
//	100us,leaf0 5,down     the link of a port, both directions
//	100us,spine1,down      a switch, or node, with all its links
//	1ms,leaf0 5,0.1        a link at a tenth of its speed
//	2ms,leaf0 5,up
func ParseFault(g *topology.Graph, text string) ([]Fault, error) {
	fields := strings.Split(text, ",")
	if len(fields) != 3 {
		return nil, fmt.Errorf("fault %q: want TIME,WHAT,STATE, such as 100us,spine1,down", text)
	}
	what := strings.TrimSpace(fields[1])
	at, err := time.ParseDuration(strings.TrimSpace(fields[0]))
	if err != nil || at < 0 || at > time.Hour {
		return nil, fmt.Errorf("fault %q: time %q: want one such as 100us, up to 1h", text, fields[0])
	}
	share, err := parseShare(strings.TrimSpace(fields[2]))
	if err != nil {
		return nil, fmt.Errorf("fault %q: %w", text, err)
	}
	f := Fault{At: Time(at.Nanoseconds()) * Nanosecond, Link: schema.NoLink, Share: share}
	if d, ok := g.FindDevice(what); ok {
		f.Device = d
		return []Fault{f}, nil
	}
	channels := routing.NewChannels(g)
	ch, err := channels.Find(what)
	if err != nil {
		return nil, fmt.Errorf("fault %q: %w", text, err)
	}
	from, _ := channels.Ends(ch)
	there, back := channels.Ports(from, what[strings.LastIndexByte(what, ' ')+1:])
	f.Link = channels.Link(there)
	faults := []Fault{f}
	if back != routing.NoChannel && channels.Link(back) != f.Link {
		f.Link = channels.Link(back)
		faults = append(faults, f)
	}
	return faults, nil
}

func parseShare(text string) (float64, error) {
	switch text {
	case "down":
		return 0, nil
	case "up":
		return 1, nil
	}
	share, err := strconv.ParseFloat(text, 64)
	if err != nil || !(share > 0 && share <= 1) {
		return 0, fmt.Errorf("state %q: want down, up, or the share of its speed that the link keeps, such as 0.1", text)
	}
	return share, nil
}
