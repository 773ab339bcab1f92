package jobs

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/collectors/jobline"
	"github.com/giverny/giverny/internal/csvfault"
	"github.com/giverny/giverny/schema"
)

// readLines reads a job as JSON per line; see jobline.Parse. A job may be repeated when it ends: the last line with an ID and
// start counts. Malformed lines are counted and skipped.
func readLines(r io.Reader, list List, zone *time.Location) (List, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(in, &list)
		if line = strings.TrimSpace(line); line != "" {
			switch job, err := jobline.Parse([]byte(line), zone); {
			case errors.Is(err, jobline.ErrNoStart):
				list.drop(feeds.NoTime, err.Error())
			case err != nil:
				list.drop(feeds.Malformed, err.Error())
			default:
				list.add(job, job.Nodes, phaseOf(&job))
			}
		}
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, fmt.Errorf("%s: %w", list.name, err)
		}
	}
}

func phaseOf(job *schema.Job) Phase {
	switch {
	case job.Start == 0:
		return Waiting
	case job.End == 0:
		return Running
	}
	return Ended
}

// readCSV reads a table with a header: job_id, nodes, start and, optionally, name, user, end and state, separated by commas,
// semicolons or tabs. Nodes are separated by blanks, semicolons or (except in coordinates such as 9,1,1) commas, or are a Slurm
// host list. Times are RFC 3339, seconds since 1970, or local to zone.
func readCSV(r *bufio.Reader, list List, zone *time.Location) (List, error) {
	head, _ := r.Peek(4 << 10)
	comma := delimiter(head)
	in := csvfault.NewReader(r)
	in.Comma = comma
	in.FieldsPerRecord = -1
	in.LazyQuotes = true
	in.ReuseRecord = true
	columns, err := in.Read()
	if err == io.EOF {
		err = errors.New("it is empty")
	}
	if err != nil {
		return list, fmt.Errorf("%s:1: %w; want a header: job_id,name,user,nodes,start,end,state", list.name, err)
	}
	at, width := map[string]int{}, len(columns)
	for i, field := range columns {
		at[strings.ToLower(strings.TrimSpace(strings.TrimPrefix(field, "\ufeff")))] = i
	}
	least := 0 // fields of a row that is not cut off
	for _, field := range []string{"job_id", "nodes", "start"} {
		i, ok := at[field]
		if !ok {
			return list, fmt.Errorf("%s:1: no column %s; want job_id,name,user,nodes,start,end,state", list.name, field)
		}
		least = max(least, i+1)
	}
	for {
		f, err := in.Read()
		if err == io.EOF {
			return list, nil
		}
		if fault, ok := errors.AsType[*csv.ParseError](err); ok {
			list.place = fault.StartLine
			list.drop(feeds.Malformed, fault.Err.Error())
			continue
		}
		if err != nil {
			return list, fmt.Errorf("%s: %w", list.name, err)
		}
		list.place, _ = in.FieldPos(0)
		if unclosed(f, at["nodes"], width, comma) {
			list.drop(feeds.Malformed, "a quoted field spans several lines: close its quotation mark")
			continue
		}
		if len(f) < least {
			list.drop(feeds.Malformed, fmt.Sprintf("%d fields where the header has %d: complete the row", len(f), width))
			continue
		}
		list.addFields(f, at, zone)
	}
}

// delimiter is the first of comma, semicolon and tab in the header of a table.
func delimiter(head []byte) rune {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	if i := bytes.IndexAny(line, ",;\t"); i >= 0 {
		return rune(line[i])
	}
	return ','
}

// unclosed reports whether an unclosed quotation mark has merged rows into a field: in a valid row of that many columns
// only a field without delimiters, such as a name, or the nodes may span several lines.
func unclosed(f []string, nodes, columns int, comma rune) bool {
	for i, field := range f {
		if strings.Contains(field, "\n") && (len(f) < columns || i != nodes && strings.ContainsRune(field, comma)) {
			return true
		}
	}
	return false
}

func (l *List) addFields(f []string, at map[string]int, zone *time.Location) {
	field := func(name string) string {
		if i, ok := at[name]; ok && i < len(f) {
			return strings.TrimSpace(f[i])
		}
		return ""
	}
	start, end, err := schema.ParseSpan(field("start"), field("end"), zone, parseTime)
	if err != nil {
		l.drop(feeds.NoTime, fmt.Sprintf("start %q, end %q: want times such as 2026-01-05T00:30:00Z", field("start"), field("end")))
		return
	}
	job := schema.Job{ID: field("job_id"), Name: field("name"), User: field("user"), State: field("state"), Start: start, End: end}
	hosts := strings.FieldsFunc(field("nodes"), func(r rune) bool { return r == ' ' || r == ';' || r == '\n' })
	l.add(job, hosts, phaseOf(&job))
}
