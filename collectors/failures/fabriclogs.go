package failures

import (
	"regexp"
	"strings"
	"time"

	"github.com/giverny/giverny/schema"
)

// OpenSM's log: Nov 22 02:06:29 290242 [A2D096C0] 0x02 -> text. The number after the seconds is microseconds.
var (
	opensmLine    = regexp.MustCompile(`^([A-Z][a-z]{2}) {1,2}(\d{1,2}) (?:(\d{4}) )?(\d\d):(\d\d):(\d\d) (\d{1,6}) \[[0-9A-Fa-f]+\] 0x[0-9a-f]+ -> (.*)$`)
	opensmRemoved = regexp.MustCompile(`Removed port with GUID:(0x[0-9a-f]+) LID range \[[^\]]*\] of node: ?(.*)$`)
	opensmFound   = regexp.MustCompile(`Discovered new port with GUID:(0x[0-9a-f]+) LID range \[[^\]]*\] of node: ?(.*)$`)
	opensmUnknown = regexp.MustCompile(`Unknown remote side for node (0x[0-9a-f]+) ?\([^)]*\) port (\d+)`)
	opensmState   = regexp.MustCompile(`Switch (0x[0-9a-f]+) .*\bport (\d+) ?\([^)]*\) changed state from (\w+) to (\w+)`)
)

// opensm parses a line of OpenSM's log. A removed or discovered port stands for its whole node, as far as the subnet
// manager can reach it. A link state trap (128) names neither the port nor the state, so it is ignored; perfquery
// reads the port states.
func (p *Parser) opensm(line string) (f schema.Failure, o outcome) {
	m := opensmLine.FindStringSubmatch(line)
	if m == nil || months[m[1]] == 0 {
		return f, notMine
	}
	text := m[8]
	switch {
	case opensmRemoved.MatchString(text):
		g := opensmRemoved.FindStringSubmatch(text)
		f = schema.Failure{Kind: schema.NodeFailed, Device: nodeName(g[2], g[1])}
	case opensmFound.MatchString(text):
		g := opensmFound.FindStringSubmatch(text)
		f = schema.Failure{Kind: schema.NodeRestored, Device: nodeName(g[2], g[1])}
	case opensmUnknown.MatchString(text):
		g := opensmUnknown.FindStringSubmatch(text)
		f = schema.Failure{Kind: schema.LinkFailed, Device: g[1], Port: g[2]}
	case opensmState.MatchString(text):
		g := opensmState.FindStringSubmatch(text)
		f = schema.Failure{Kind: schema.LinkFailed, Device: g[1], Port: g[2]}
		switch {
		case g[3] == "DOWN": // to INIT: the subnet manager makes the link active
			f.Kind = schema.LinkRestored
		case g[4] != "DOWN":
			return f, nothing
		}
	default:
		return f, nothing
	}
	micros := strings.Repeat("0", 6-len(m[7])) + m[7]
	at, ok := p.fromParts([]string{"", m[1], m[2], m[3], m[4], m[5], m[6], micros}, p.opt.Zone)
	if !ok {
		return f, noTime
	}
	f.Time, f.Detail = schema.InstantOf(at), text
	return f, found
}

// nodeName is a node's description, or the GUID of its port if it has none.
func nodeName(description, guid string) string {
	if d := strings.TrimSpace(description); d != "" {
		return d
	}
	return guid
}

// ibdiagnet's report: a time at the top, then -W- and -E- lines that name a port as
// S<guid>/N<guid>/P<port>, <host>/<hca>/P<port>, or guid=... port=....
var (
	ibdiagTime = regexp.MustCompile(`(?i)^(?:-I-\s*)?(?:scan )?(?:timestamp|time stamp|date)\s*:\s*(.+)$`)
	ibdiagLine = regexp.MustCompile(`^-([WEI])-\s*(.*)$`)
	ibdiagPath = regexp.MustCompile(`(?:^|\s)(?:Link:\s*)?([SH]?(?:[0-9a-fx]{16,18})|[A-Za-z0-9_.-]+)((?:/[^/\s()<>]+)*)/P([0-9]+(?:/[0-9]+)*)`)
	ibdiagGUID = regexp.MustCompile(`guid=(0x[0-9a-f]+)\b.*?\b[Pp]ort[=\s](\d+)`)
	// Phrases for a link that is or was down.
	ibdiagDown = regexp.MustCompile(`(?i)"?link_down(?:ed)?(?:_counter)?"?\s.*(?:increased|exceed|difference)|missing link|link is down|bad link|\b(?:in|is)\s+(?:physical\s+)?(?:state\s+)?(?:down|init|polling|disabled)\b(?: state)?`)
	ibdiagNode = regexp.MustCompile(`^N([0-9a-f]{16})$`)
)

// ibdiagnet parses a line of a report. A report gives the state at its time, not when it began; the next report
// repeats states that persist.
func (p *Parser) ibdiagnet(line string) (f schema.Failure, o outcome) {
	trimmed := strings.TrimSpace(line)
	if m := ibdiagTime.FindStringSubmatch(trimmed); m != nil {
		if t, ok := p.reportTime(m[1]); ok {
			p.report = t
			return f, nothing
		}
	}
	m := ibdiagLine.FindStringSubmatch(trimmed)
	if m == nil {
		if p.only("ibdiagnet") {
			return f, nothing
		}
		return f, notMine
	}
	if m[1] == "I" || !ibdiagDown.MatchString(m[2]) {
		return f, nothing
	}
	f = schema.Failure{Kind: schema.LinkFailed, Detail: "ibdiagnet: " + m[2]}
	if g := ibdiagGUID.FindStringSubmatch(m[2]); g != nil {
		f.Device, f.Port = g[1], g[2]
	} else if g := ibdiagPath.FindStringSubmatch(m[2]); g != nil {
		f.Device, f.Port = ibdiagDevice(g[1], g[2]), g[3]
	} else {
		return f, malformed
	}
	at := p.report
	if at.IsZero() {
		at = p.opt.Reference
	}
	if at.IsZero() {
		return f, noTime
	}
	f.Time = schema.InstantOf(at)
	return f, found
}

// ibdiagDevice is the node GUID if the path has it, otherwise its first part: "node1/mlx5_0" is an adapter.
func ibdiagDevice(first, path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	for _, part := range parts {
		if m := ibdiagNode.FindStringSubmatch(part); m != nil {
			return m[1]
		}
	}
	if len(first) == 17 && (first[0] == 'S' || first[0] == 'H') {
		return first[1:]
	}
	if parts[0] != "" && parts[0][0] != 'U' { // U1 is a chip of a switch
		return first + " " + parts[0]
	}
	return first
}

func (p *Parser) reportTime(text string) (time.Time, bool) {
	text = strings.TrimSpace(text)
	for _, layout := range []string{"2006-01-02 15:04:05 MST -0700", "Mon Jan _2 15:04:05 2006", "Mon Jan _2 15:04:05 MST 2006"} {
		if t, err := time.ParseInLocation(layout, text, p.opt.Zone); err == nil {
			return t, true
		}
	}
	return p.zoned(text)
}

// netwatch logs of Cray's xtnlrd (Monet, section 2.2): a time, and a text with the location, a cname such
// as c12-2c2s3g1l24 or the coordinates of a Gemini router and a direction, (19,5,4) X+.
var (
	cname       = regexp.MustCompile(`\bc\d+-\d+c\d+s\d+(?:[agn]\d+)?(?:l\d+)?\b`)
	coordinates = regexp.MustCompile(`\((\d+),\s?(\d+),\s?(\d+)\)\]?(?:\s*([XYZ][+-]))?`)
	shortDate   = regexp.MustCompile(`^(\d{6}) (\d\d:\d\d:\d\d)(?:\.\d+)?\s+(.*)$`)
	netDown     = regexp.MustCompile(`(?i)\b(link ?inactive|channel ?inactive|link(?: has)? failed|failed link|lcb(?: lane)? (?:failed|failure)|link (?:is )?down|link ?failure|lane mask 0)\b`)
	netUp       = regexp.MustCompile(`(?i)\b(link ?active|link(?: is)? (?:up|recovered|restored)|link ?recovery complete|reinitiali[sz]ed)\b`)
	netNode     = regexp.MustCompile(`(?i)\b(gemini|router|blade|module|asic) (failed|failure|down|powered? (?:down|off)|unavailable|restored|up|powered? on|warm ?swap(?:ped)? in)\b`)
	netNodeUp   = regexp.MustCompile(`(?i)^(restored|up|powered? on|warm)`)
	netThrottle = regexp.MustCompile(`(?i)\b(congestion protection|throttl(?:e|ed|ing))`)
	netRelease  = regexp.MustCompile(`(?i)\b(unthrottl|throttl\w* (?:off|removed|released|ended)|congestion protection (?:ended|released|off))`)
)

// netwatch parses a line of the netwatch log. The format differs between releases and is not published; the
// expressions match what the lines have in common: a time, a location, and words for the event.
func (p *Parser) netwatch(line string) (f schema.Failure, o outcome) {
	at, text, ok, mine := p.netwatchTime(line)
	place, grid := cname.FindString(text), coordinates.FindStringSubmatch(text)
	throttled := netThrottle.MatchString(text)
	if !mine || place == "" && grid == nil && !throttled {
		if p.only("netwatch") {
			return f, nothing
		}
		return f, notMine
	}
	f.Detail = text
	node := netNode.FindStringSubmatch(text)
	switch {
	case throttled && netRelease.MatchString(text):
		return f, nothing
	case throttled && place == "" && grid == nil && !p.only("netwatch"):
		return f, notMine // also matched by a syslog rule
	case throttled:
		f.Kind = schema.Throttled
	case netDown.MatchString(text):
		f.Kind = schema.LinkFailed
	case netUp.MatchString(text):
		f.Kind = schema.LinkRestored
	case node != nil && netNodeUp.MatchString(node[2]):
		f.Kind = schema.NodeRestored
	case node != nil:
		f.Kind = schema.NodeFailed
	default:
		return f, nothing
	}
	if f.Kind != schema.Throttled {
		f.Device = place
		if grid != nil {
			f.Device, f.Port = strings.Join(grid[1:4], ","), grid[4]
		} else if i := strings.LastIndexByte(place, 'l'); i > 0 {
			f.Device, f.Port = place[:i], place[i:]
		}
	}
	if !ok {
		return f, noTime
	}
	f.Time = schema.InstantOf(at)
	return f, found
}

// netwatchTime splits the time off a line: 120612 10:41:41, a date and time, or a syslog time.
func (p *Parser) netwatchTime(line string) (at time.Time, text string, ok, mine bool) {
	if m := shortDate.FindStringSubmatch(line); m != nil {
		t, err := time.ParseInLocation("060102 15:04:05", m[1]+" "+m[2], p.opt.Zone)
		return t, m[3], err == nil, true
	}
	return p.stamp(line)
}
