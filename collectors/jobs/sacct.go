package jobs

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/schema"
)

// SacctOptions are how to parse output of sacct.
type SacctOptions struct {
	// Zone is the zone of the host on which sacct ran, since it prints local time; nil: times without a zone are an error.
	Zone *time.Location
	// RawIDs uses JobIDRaw, 8084960, instead of JobID, 8012944_24093, as the ID of an array element.
	RawIDs bool
}

// Limits of a record, which spans several lines if a name contains newlines.
const (
	maxRecordBytes = 4 << 20
	maxRecordLines = 100
)

// header matches a line of field names. They are letters; whatever separates the first two is the delimiter.
var header = regexp.MustCompile(`^([A-Za-z]+)([^A-Za-z\r\n]+)[A-Za-z]+`)

// ReadSacct parses the output of `sacct --parsable` or `--parsable2`, with a header and any delimiter. It requires
// the fields JobID (or JobIDRaw), State, Start, End and NodeList, and uses User and JobName. Steps are skipped.
// Names may contain invalid UTF-8, newlines and, if JobName is the only such field, the delimiter. Malformed
// records are counted and skipped; it fails only for an unsuitable header or a read error.
func ReadSacct(r io.Reader, name string, opt SacctOptions) (List, error) {
	return readSacct(r, List{name: name}, opt)
}

func readSacct(r io.Reader, list List, opt SacctOptions) (List, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	first, err := readLine(in, &list)
	if err != nil && err != io.EOF {
		return list, fmt.Errorf("%s: %w", list.name, err)
	}
	p, headErr := newSacctParser(first, opt)
	if headErr != nil {
		return list, fmt.Errorf("%s:1: %w", list.name, headErr)
	}
	p.list = &list
	for err == nil {
		var line string
		if line, err = readLine(in, &list); err == nil || line != "" {
			p.line(line)
		}
	}
	p.flush()
	switch {
	case err != io.EOF:
		return list, fmt.Errorf("%s: %w", list.name, err)
	case p.zoneless != "":
		return List{name: list.name}, fmt.Errorf("%s: %s has no time zone: SLURM_TIME_FORMAT did not reach sacct. If command runs it by ssh, sudo or in a container, "+
			"add env SLURM_TIME_FORMAT=%%s TZ=UTC before sacct", list.name, p.zoneless)
	}
	return list, nil
}

// readLine reads a line without its end. A line that is too long is counted and returned empty.
func readLine(in *bufio.Reader, list *List) (string, error) {
	var line []byte
	list.place++
	for {
		part, err := in.ReadSlice('\n')
		if len(line) <= maxRecordBytes {
			line = append(line, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if len(line) > maxRecordBytes {
			list.drop(feeds.TooLong, fmt.Sprintf("the line is longer than %d bytes", maxRecordBytes))
			line = nil
		}
		return strings.TrimRight(string(line), "\r\n"), err
	}
}

type sacctParser struct {
	zone      *time.Location
	zoned     bool // times without a zone are an error
	delimiter string
	fields    int
	at        map[string]int // by name of the field
	nameAt    int            // of JobName, or -1
	list      *List

	pending string // incomplete record
	lines   int    // number of its lines so far

	zoneless string                    // one of these
	resized  map[string]schema.Instant // by job: the end of its last run before its nodes changed
}

func newSacctParser(head string, opt SacctOptions) (*sacctParser, error) {
	m := header.FindStringSubmatch(head)
	if m == nil {
		return nil, fmt.Errorf("%.60q is not a header line of sacct: run it with --parsable2 and without --noheader", head)
	}
	p := &sacctParser{zone: cmp.Or(opt.Zone, time.UTC), zoned: opt.Zone == nil, delimiter: m[2], at: map[string]int{}, nameAt: -1, resized: map[string]schema.Instant{}}
	names := strings.Split(strings.TrimSuffix(head, p.delimiter), p.delimiter) // --parsable adds one at the end
	p.fields = len(names)
	for i, name := range names {
		p.at[name] = i
	}
	if i, ok := p.at["JobName"]; ok {
		p.nameAt = i
	}
	id := "JobID"
	if _, ok := p.at[id]; !ok || opt.RawIDs {
		id = "JobIDRaw"
	}
	p.at["id"] = p.at[id]
	for _, name := range []string{id, "State", "Start", "End", "NodeList"} {
		if _, ok := p.at[name]; !ok {
			return nil, fmt.Errorf("no field %s: run sacct with --parsable2 --format=JobID,User,State,Start,End,NodeList,JobName", name)
		}
	}
	return p, nil
}

// split splits a record. If there are too many fields, those that belong to JobName are joined again, unless they may
// belong to NodeList.
func (p *sacctParser) split(record string) []string {
	if f := p.quoted(record); f != nil {
		return f
	}
	f := strings.Split(record, p.delimiter)
	if len(f) == p.fields+1 && f[p.fields] == "" {
		f = f[:p.fields] // --parsable
	}
	over := len(f) - p.fields
	if over <= 0 || p.nameAt < 0 || p.commas() {
		return f
	}
	name := strings.Join(f[p.nameAt:p.nameAt+over+1], p.delimiter)
	return slices.Concat(f[:p.nameAt], []string{name}, f[p.nameAt+over+1:])
}

// commas reports whether the delimiter also separates the nodes of a list.
func (p *sacctParser) commas() bool { return p.delimiter == "," }

// quoted splits a record that another program wrote as CSV, with quotation marks, which sacct does not write; nil if it is
// none.
func (p *sacctParser) quoted(record string) []string {
	if !p.commas() || !strings.Contains(record, `"`) {
		return nil
	}
	in := csv.NewReader(strings.NewReader(record))
	if f, err := in.Read(); err == nil && len(f) == p.fields {
		return f
	}
	return nil
}

// line processes a line: a record, a part of one, or garbage. A record with too few fields continues in the
// next line, unless that is a record by itself.
func (p *sacctParser) line(line string) {
	if p.lines == 0 && line == "" {
		return
	}
	if p.lines > 0 {
		if whole := p.split(line); len(whole) == p.fields && p.plausible(whole) {
			p.flush()
		}
	}
	if p.lines > 0 {
		p.pending += "\n"
	}
	p.pending += line
	p.lines++
	switch f := p.split(p.pending); {
	case len(f) == p.fields:
		p.pending, p.lines = "", 0
		p.record(f)
	case len(f) > p.fields, p.lines >= maxRecordLines, len(p.pending) > maxRecordBytes:
		p.flush()
	}
}

// flush drops a record that remained incomplete.
func (p *sacctParser) flush() {
	if p.lines > 0 {
		detail := fmt.Sprintf("the record that ends before or here has %d fields, want %d", len(p.split(p.pending)), p.fields)
		if p.commas() {
			detail += "; node lists contain commas too: run sacct with --parsable2"
		}
		p.list.drop(feeds.Malformed, detail)
	}
	p.pending, p.lines = "", 0
}

// jobID matches a job ID: a number, of an array's element or elements, or of a part of a heterogeneous job; a step
// follows a dot.
var jobID = regexp.MustCompile(`^[0-9]+(_([0-9]+|\[[^\]]*\]?))?(\+[0-9]+)?(\..+)?$`)

// plausible reports whether fields are a record.
func (p *sacctParser) plausible(f []string) bool {
	_, _, err := schema.ParseSpan(f[p.at["Start"]], f[p.at["End"]], p.zone, parseTime)
	return err == nil && jobID.MatchString(f[p.at["id"]])
}

func (p *sacctParser) record(f []string) {
	m := jobID.FindStringSubmatch(f[p.at["id"]])
	if text := f[p.at["Start"]]; p.zoned && zoneless(text) {
		p.zoneless = text
		return
	}
	start, end, err := schema.ParseSpan(f[p.at["Start"]], f[p.at["End"]], p.zone, parseTime)
	switch {
	case m == nil || err != nil:
		p.list.drop(feeds.Malformed, fmt.Sprintf("id %q, start %q, end %q: one of them cannot be parsed", f[p.at["id"]], f[p.at["Start"]], f[p.at["End"]]))
		return
	case m[4] != "":
		p.list.Steps++
		return
	case strings.HasPrefix(m[2], "["):
		return // pending elements of an array
	}
	hosts, err := slurmNodes(f[p.at["NodeList"]])
	if err != nil {
		p.list.drop(feeds.Malformed, fmt.Sprintf("job %s: nodes: %v", m[0], err))
		return
	}
	if resized := p.resized[m[0]]; end == 0 || end > resized {
		start = max(start, resized)
	}
	job := schema.Job{ID: m[0], State: f[p.at["State"]], Start: start, End: end, Name: p.optional(f, "JobName"), User: p.optional(f, "User")}
	phase := slurmPhase(job.State, end)
	switch {
	case phase != Waiting && start == 0:
		phase = Waiting // cancelled before it started
	case phase == Running && end != 0:
		phase = Ended // RESIZING: sacct lists no end of a run that goes on
	}
	if job.State == slurmResized {
		p.resized[job.ID] = end
	}
	p.list.add(job, hosts, phase)
}

func (p *sacctParser) optional(f []string, name string) string {
	if i, ok := p.at[name]; ok {
		return f[i]
	}
	return ""
}
