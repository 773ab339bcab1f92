package slurm

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/giverny/giverny/internal/bounded"
	"github.com/giverny/giverny/internal/procgroup"
)

// scontrol runs Slurm's command-line tool.
type scontrol struct{ cfg Config }

// Bounds, in bytes, of a call's output and of the part quoted in an error.
const (
	maxOutput = 8 << 20 // perCall nodes are about 200 KB
	maxError  = 500
)

// killAfter is how long to wait for the output of a killed call to close.
const killAfter = 2 * time.Second

// look reads the states of nodes. For unknown nodes scontrol prints a message each and
// fails, but still prints the others.
func (s *scontrol) look(ctx context.Context, names []string) (map[string]node, error) {
	out, err := s.run(ctx, "--oneliner", "show", "node", compress(names))
	nodes, gone, strange := parseNodes(out)
	switch missing := len(names) - len(nodes) - gone; {
	case err != nil && strange != "":
		return nil, fmt.Errorf("%w: %s", err, strange)
	case err != nil && len(out) == 0:
		return nil, err
	case missing > 0: // not the same as unknown nodes, whose marks would be forgotten
		return nil, fmt.Errorf("%s: the output lacks %d of %d nodes: %s", s.cfg.Scontrol[0], missing, len(names), cmp.Or(strange, "no other output"))
	}
	return nodes, nil
}

// set gives nodes the same state.
func (s *scontrol) set(ctx context.Context, names []string, to node, c changed) error {
	args := []string{"update", "NodeName=" + compress(names)}
	if c.weight {
		args = append(args, "Weight="+strconv.FormatUint(uint64(to.Weight), 10))
	}
	if c.features {
		args = append(args, "AvailableFeatures="+list(to.Available), "ActiveFeatures="+list(to.Active))
	}
	out, err := s.run(ctx, args...)
	if err == nil && saysError(out) { // a wrapper, such as one for sudo or ssh, may lose the exit status
		err = errors.New("it printed an error, although its exit status is 0")
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args[:2], " "), err, short(out))
	}
	return nil
}

// saysError reports whether the output of update has an error: "slurm_update error: Invalid user id", "scontrol: error: ...".
func saysError(out []byte) bool {
	for line := range bytes.Lines(out) {
		if subject, _, is := bytes.Cut(line, []byte("error: ")); is && (bytes.HasPrefix(subject, []byte("slurm_")) || bytes.HasPrefix(subject, []byte("scontrol: "))) {
			return true
		}
	}
	return false
}

func (s *scontrol) perSet() int { return perCall }

// run runs scontrol with an argument vector and returns its output.
func (s *scontrol) run(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	vector := append(append([]string{}, s.cfg.Scontrol...), args...)
	cmd := procgroup.Command(ctx, vector, killAfter)
	out := &bounded.Buffer{Limit: maxOutput, Full: cancel}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	switch {
	case out.Over():
		err = fmt.Errorf("the output has more than %d bytes", maxOutput)
	case ctx.Err() != nil:
		err = fmt.Errorf("timed out after %v (%w)", s.cfg.Timeout, ctx.Err())
	}
	if err != nil {
		return out.Bytes(), fmt.Errorf("%s: %w", vector[0], err)
	}
	return out.Bytes(), nil
}

// short is the beginning of a program's output, as one line.
func short(out []byte) string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, string(out[:min(len(out), 4*maxError)]))
	text = strings.Join(strings.Fields(text), " ")
	return strings.ToValidUTF8(text[:min(len(text), maxError)], "")
}

// parseNodes parses the output of show node --oneliner: a line of KEY=value pairs per
// node. gone counts unknown nodes; strange is the first line that is neither.
func parseNodes(out []byte) (nodes map[string]node, gone int, strange string) {
	nodes = map[string]node{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if !strings.HasPrefix(line, "NodeName=") {
			unknown := strings.HasPrefix(line, "Node ") && strings.HasSuffix(line, " not found")
			if unknown {
				gone++
			}
			if strange == "" && !unknown && strings.TrimSpace(line) != "" {
				strange = short([]byte(line))
			}
			continue
		}
		name, _ := value(line, "NodeName")
		n, err := parseNode(line)
		if weight, _ := value(line, "Weight"); err == nil && strings.HasSuffix(line, " Weight="+weight) && bytes.HasSuffix(out, []byte(line)) {
			err = errors.New("the output ends within its Weight") // which would be restored later
		}
		if err != nil {
			return nodes, gone, fmt.Sprintf("node %s: %v", name, err)
		}
		nodes[name] = n
	}
	if lines.Err() != nil {
		strange = lines.Err().Error()
	}
	return nodes, gone, strange
}

func parseNode(line string) (n node, err error) {
	weight, ok := value(line, "Weight")
	if !ok {
		return n, errors.New("it has no Weight")
	}
	number, err := strconv.ParseUint(weight, 10, 32)
	if err != nil {
		return n, fmt.Errorf("its Weight: %w", err)
	}
	n.Weight = uint32(number)
	state, _ := value(line, "State")
	n.use = strings.Split(state, "+")
	available, _ := value(line, "AvailableFeatures")
	active, _ := value(line, "ActiveFeatures")
	n.Available, n.Active = splitFeatures(available), splitFeatures(active)
	return n, nil
}

// value returns the value of the first KEY= of a line, up to the next blank. Free text
// (Comment, Extra, Reason) is at the end of a line, so it cannot match first.
func value(line, key string) (string, bool) {
	at := strings.Index(" "+line, " "+key+"=")
	if at < 0 {
		return "", false
	}
	rest := line[at+len(key)+1:]
	end, _, _ := strings.Cut(rest, " ")
	return end, true
}

func splitFeatures(text string) []string {
	if text == "" || text == "(null)" {
		return nil
	}
	return strings.Split(text, ",")
}
