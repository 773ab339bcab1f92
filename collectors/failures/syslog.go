package failures

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/schema"
)

// entry is a parsed line of syslog.
type entry struct {
	at   time.Time
	ok   bool // the time could be parsed
	host string
	text string
}

// Line prefixes: RFC 5424, a date and time as written by rsyslog and dmesg, RFC 3164 without a year, dmesg -T, Cisco NX-OS.
var (
	rfc5424 = regexp.MustCompile(`^<\d{1,3}>1 (\S+) (\S+) (\S+) (\S+) (\S+) (?:-|(?:\[(?:[^\]\\]|\\.)*\])+) ?(.*)$`)
	dated   = regexp.MustCompile(`^(?:<\d{1,3}>)?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?) (.*)$`)
	rfc3164 = regexp.MustCompile(`^(?:<\d{1,3}>)?([A-Z][a-z]{2}) {1,2}(\d{1,2}) (?:(\d{4}) )?(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? (.*)$`)
	ctime   = regexp.MustCompile(`^\[?[A-Z][a-z]{2} ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d) (\d{4})\]? (.*)$`)
	nxos    = regexp.MustCompile(`^(?:<\d{1,3}>)?(?:: )?(\d{4}) ([A-Z][a-z]{2}) {1,2}(\d{1,2}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?: ([A-Z]{3,5}))?:? (.*)$`)
	// Host and program, "node1 kernel: text" or "node1 kernel[1]: text"; SONiC writes the severity between them.
	hostAndTag = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_.:-]*) (?:[A-Z]{3,7} )?([A-Za-z0-9_./#%-]+)(?:\[\d+\])?: (.*)$`)
	// A host without a program, "leaf1 %ETHPORT-5-IF_UP: text" or "leaf1 : 2026 Jan  5 00:30:09 CET: %ETHPORT-5-IF_UP: text".
	hostAlone = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_.:-]*) ((?:%|: ).*)$`)
)

var months = map[string]time.Month{"Jan": 1, "Feb": 2, "Mar": 3, "Apr": 4, "May": 5, "Jun": 6, "Jul": 7, "Aug": 8, "Sep": 9, "Oct": 10, "Nov": 11, "Dec": 12}

// entry parses a line; false: not a syslog line.
func (p *Parser) entry(line string) (e entry, ok bool) {
	if m := rfc5424.FindStringSubmatch(line); m != nil {
		e.at, e.ok = p.zoned(m[1])
		e.host, e.text = m[2], m[3]+": "+m[6]
		if e.host == "-" {
			e.host = p.opt.Host
		}
		return e, true
	}
	rest := ""
	if e.at, rest, e.ok, ok = p.stamp(line); !ok {
		return e, false
	}
	e.host, e.text = p.opt.Host, rest // dmesg
	if m := hostAndTag.FindStringSubmatch(rest); m != nil {
		host, colon := strings.CutSuffix(m[1], ":")
		switch {
		case !colon || strings.HasPrefix(m[2], "%"): // Cisco IOS puts a colon after the host
			e.host, e.text = host, m[2]+": "+m[3]
		default: // the first word is the program: written by the host itself
			e.text = rest
		}
	} else if m := hostAlone.FindStringSubmatch(rest); m != nil {
		e.host, e.text = strings.TrimSuffix(m[1], ":"), m[2]
	}
	return e, true
}

// stamp splits the time off a line without the structure of RFC 5424.
func (p *Parser) stamp(line string) (at time.Time, rest string, ok, mine bool) {
	if m := dated.FindStringSubmatch(line); m != nil {
		at, ok = p.zoned(m[1])
		return at, m[2], ok, true
	}
	if m := rfc3164.FindStringSubmatch(line); m != nil && months[m[1]] != 0 {
		at, ok = p.fromParts(m, p.opt.Zone)
		return at, m[8], ok, true
	}
	if m := ctime.FindStringSubmatch(line); m != nil && months[m[1]] != 0 {
		at, ok = p.fromParts([]string{"", m[1], m[2], m[6], m[3], m[4], m[5], ""}, p.opt.Zone)
		return at, m[7], ok, true
	}
	if m := nxos.FindStringSubmatch(line); m != nil && months[m[2]] != 0 {
		zone := p.opt.Zone
		if m[8] == "UTC" || m[8] == "GMT" { // other abbreviations are ambiguous
			zone = time.UTC
		}
		at, ok = p.fromParts([]string{"", m[2], m[3], m[1], m[4], m[5], m[6], m[7]}, zone)
		return at, m[9], ok, true
	}
	return at, line, false, false
}

// fromParts is the time of a month, day, year or "", hour, minute, second and fraction of a second, from index 1 of m.
func (p *Parser) fromParts(m []string, zone *time.Location) (time.Time, bool) {
	n := make([]int, 7)
	for i, text := range []string{m[2], m[4], m[5], m[6]} {
		n[i], _ = strconv.Atoi(text) // digits, by the regular expression
	}
	nanos, _ := strconv.Atoi((m[7] + "000000000")[:9])
	if n[1] > 23 || n[2] > 59 || n[3] > 60 {
		return time.Time{}, false
	}
	if m[3] != "" {
		year, _ := strconv.Atoi(m[3])
		t := time.Date(year, months[m[1]], n[0], n[1], n[2], n[3], nanos, zone)
		return p.unzoned(t), year > 1970 && year < 2200
	}
	return p.yearless(months[m[1]], n[0], n[1], n[2], n[3], nanos)
}

// rule matches messages about a kind of failure. Its named groups are port, state, device, module.
type rule struct {
	expression *regexp.Regexp
	kind       func(state string) schema.EventKind
}

// linkKind is the event for a link that entered a state, as drivers and switches name it.
func linkKind(state string) schema.EventKind {
	switch strings.ToLower(state) {
	case "up", "plugged", "active":
		return schema.LinkRestored
	}
	return schema.LinkFailed
}

func nodeKind(state string) schema.EventKind {
	if strings.Contains(strings.ToLower(state), "now responding") || strings.Contains(strings.ToLower(state), "returned to service") {
		return schema.NodeRestored
	}
	return schema.NodeFailed
}

func throttleKind(string) schema.EventKind { return schema.Throttled }

// rules for syslog messages; the first match counts. Messages of bonds, bridges and IPv6 are omitted, since they
// repeat the driver's.
var rules = []rule{
	// mlx5_core 0000:3b:00.0 ens1f0: Link down; mlx4_en: ens6: Link Up
	{regexp.MustCompile(`mlx5_core \S+ (?P<port>[^\s:]+): Link (?P<state>up|down)\b`), linkKind},
	{regexp.MustCompile(`mlx4_en: (?:\S+: )?(?P<port>[^\s:]+): Link (?P<state>Up|Down)\b`), linkKind},
	// mlx5_core 0000:08:00.0 mlx5_0: Port: 1 Link DOWN, from all InfiniBand drivers since Linux 6.14; INIT and ARMED precede ACTIVE
	{regexp.MustCompile(`\b(?P<port>[a-z][a-z0-9_]*): Port: (?P<number>\d+) Link (?P<state>ACTIVE|DOWN)\b`), linkKind},
	// mlx5_core 0000:3b:00.0: Port 1 link down
	{regexp.MustCompile(`mlx5_core (?P<port>\S+): Port (?P<number>\d+) [Ll]ink (?P<state>up|down)\b`), linkKind},
	// kernel: ib0: link down; eth0: Link is Down, from drivers that do not print their names
	{regexp.MustCompile(`^(?:kernel: )?(?:\[ *\d+\.\d+\] )?(?P<port>[a-z][a-z0-9_.-]*): [Ll]ink (?:is )?(?P<state>up|down|Up|Down)\b`), linkKind},
	// mlx4_ib: mlx4_0: Port 1 logical link is down
	{regexp.MustCompile(`(?P<port>mlx\d_\d+): Port (?P<number>\d+) logical link is (?P<state>up|down)\b`), linkKind},
	// mlx5_core 0000:3b:00.0: Port module event: module 0, Cable unplugged
	{regexp.MustCompile(`mlx5_core (?P<port>\S+): Port module event: module \d+, Cable (?P<state>plugged|unplugged|error)`), linkKind},
	// bnxt_en 0000:18:00.0 eno1: NIC Link is Down; i40e, ice, ixgbe, igb (which prints its name twice); mlxsw_spectrum 0000:03:00.0 swp1: link down
	{regexp.MustCompile(`\b[a-z0-9_]+ [0-9a-f:.]+ (?P<port>[^\s:]+): (?:[a-z0-9]+: \S+ )?(?:NIC )?[Ll]ink (?:is )?(?P<state>Up|Down|up|down)\b`), linkKind},
	// hfi1 0000:05:00.0: hfi1_0: Link down / logical link changed state
	{regexp.MustCompile(`(?P<port>hfi1_\d+): .*(?:Link|link state).*\b(?P<state>up|down|ACTIVE|DOWN|OFFLINE)\b`), linkKind},
	// SONiC: Port Ethernet0 oper state set from up to down
	{regexp.MustCompile(`Port (?P<port>\S+) oper state set from \S+ to (?P<state>up|down)\b`), linkKind},
	// Cisco, Arista: %LINEPROTO-5-UPDOWN: Line protocol on Interface Ethernet1, changed state to down
	{regexp.MustCompile(`%LINEPROTO-\d-UPDOWN: Line protocol on Interface (?P<port>[^\s,]+)(?: \([^)]*\))?, changed state to (?P<state>up|down)\b`), linkKind},
	// Cisco NX-OS: %ETHPORT-5-IF_DOWN_LINK_FAILURE: Interface Ethernet1/1 is down (Link failure)
	{regexp.MustCompile(`%ETHPORT-\d-IF_(?:DOWN_\w+|UP): Interface (?P<port>\S+) is (?P<state>up|down)\b`), linkKind},
	// Slurm: error: Nodes n[1-2] not responding, setting DOWN; Node n1 now responding; node n1 returned to service
	{regexp.MustCompile(`slurmctld: .*\b[Nn]odes? (?P<device>\S+) (?P<state>not responding, setting DOWN|now responding|returned to service)`), nodeKind},
	// congestion protection that a program reports through syslog
	{regexp.MustCompile(`(?i)(?P<state>congestion protection|throttling all|throttle (?:applied|event))`), throttleKind},
}

// syslog parses lines of syslog, the kernel, switches and slurmctld.
func (p *Parser) syslog(line string) (f schema.Failure, o outcome) {
	e, ok := p.entry(line)
	if !ok {
		if p.only("syslog") && len(line) > 0 {
			return f, nothing // often the continuation of a message
		}
		return f, notMine
	}
	for _, rule := range rules {
		m := rule.expression.FindStringSubmatch(e.text)
		if m == nil {
			continue
		}
		group := func(name string) string {
			if i := rule.expression.SubexpIndex(name); i >= 0 {
				return m[i]
			}
			return ""
		}
		f = schema.Failure{Kind: rule.kind(group("state")), Device: e.host, Port: group("port"), Detail: e.text}
		if d := group("device"); d != "" {
			f.Device = d
		}
		if number := group("number"); number != "" {
			f.Port += "/" + number
		}
		if f.Kind == schema.Throttled {
			f.Device, f.Port = "", ""
		}
		switch {
		case !e.ok:
			return f, noTime
		case f.Device == "" && f.Kind != schema.Throttled:
			return f, malformed
		}
		f.Time = schema.InstantOf(e.at)
		return f, found
	}
	return f, nothing
}
