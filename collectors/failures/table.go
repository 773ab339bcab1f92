package failures

import (
	"encoding/csv"
	"strings"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/schema"
)

// columns of a table in the default order.
var columns = []string{"time", "kind", "device", "port", "detail"}

// kinds allowed in a table, with synonyms.
var kinds = map[string]schema.EventKind{
	"link_failed": schema.LinkFailed, "link_restored": schema.LinkRestored,
	"switch_failed": schema.SwitchFailed, "switch_restored": schema.SwitchRestored,
	"node_failed": schema.NodeFailed, "node_restored": schema.NodeRestored,
	"protection": schema.Throttled, string(schema.Throttled): schema.Throttled,
}

// table parses time, kind, device, port and detail, separated by tabs, commas or semicolons, with an optional header.
func (p *Parser) table(line string) (f schema.Failure, o outcome) {
	comma := p.comma
	if comma == 0 {
		comma = '\t'
		if !strings.Contains(line, "\t") {
			comma = ','
			if at := strings.IndexAny(line, ",;"); at >= 0 && line[at] == ';' { // spreadsheets of countries with a decimal comma
				comma = ';'
			}
		}
	}
	fields := strings.Split(line, string(comma))
	if comma != '\t' {
		in := csv.NewReader(strings.NewReader(line))
		in.Comma = comma
		in.LazyQuotes = true
		read, err := in.Read()
		if err != nil {
			return f, notMine
		}
		fields = read
	}
	for i := range fields {
		fields[i] = strings.TrimSpace(strings.TrimPrefix(fields[i], "\ufeff"))
	}
	if p.header(fields) {
		p.comma = comma
		return f, nothing
	}
	kind, known := kinds[strings.ToLower(p.cell(fields, "kind"))]
	at, ok := p.zoned(p.cell(fields, "time"))
	if !ok && known { // seconds since 1970; a number alone does not make a table
		i, err := schema.ParseInstant(p.cell(fields, "time"), nil)
		at, ok = i.Time(), err == nil && i != 0
	}
	switch {
	case p.comma == 0 && (!ok || len(fields) < 2 || strings.ContainsAny(p.cell(fields, "kind"), " :")):
		if p.only("table") {
			return f, malformed
		}
		return f, notMine
	case !ok:
		return f, noTime
	case !known:
		return f, unknown
	}
	f = schema.Failure{Time: schema.InstantOf(at), Kind: kind, Device: p.cell(fields, "device"), Port: p.cell(fields, "port"), Detail: p.cell(fields, "detail")}
	if f.Device == "" && kind != schema.Throttled {
		return f, malformed
	}
	return f, found
}

// only reports whether the log is configured to have this format.
func (p *Parser) only(name string) bool { return p.opt.Format == name }

// header parses a line of column names.
func (p *Parser) header(fields []string) bool {
	at := map[string]int{}
	for i, name := range fields {
		at[strings.ToLower(name)] = i
	}
	_, time := at["time"]
	_, kind := at["kind"]
	if time && kind {
		p.columns = at
	}
	return time && kind
}

func (p *Parser) cell(fields []string, name string) string {
	i, ok := p.columns[name]
	if p.columns == nil {
		for n, column := range columns {
			if column == name {
				i, ok = n, true
			}
		}
	}
	if !ok || i >= len(fields) {
		return ""
	}
	if name == "detail" { // it may contain the delimiter
		return feeds.Clean(strings.Join(fields[i:min(len(fields), max(i+1, len(fields)-len(p.columns)+i+1))], " "), 500)
	}
	return fields[i]
}
