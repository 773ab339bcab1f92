// Package ibsim starts a simulated InfiniBand subnet for a test: ibsim answers the management datagrams
// of every switch and adapter in a netlist, a real OpenSM routes it, and the real diagnostic tools
// (ibnetdiscover, perfquery, ...) talk to it. Input: a netlist. Output: methods to run those tools and to
// change counters and links. Subnets are isolated from each other by their socket names and need no
// privileges. The programs come from `make deps-test`.
package ibsim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/internal/test/proc"
)

const (
	waitTimeout  = 60 * time.Second // a small subnet is up in 0.1 s, one of 2,000 nodes in some seconds
	pollInterval = 5 * time.Millisecond
	stopTimeout  = 5 * time.Second
	logTailLines = 30
)

// Subnet is a running simulated subnet.
type Subnet struct {
	tb      testing.TB
	dir     string // netlist, logs, OpenSM's caches
	library string // the umad library that the tools are made to load
	ibsim   *proc.Process
	opensm  *proc.Process
	console io.WriteCloser
	answers int // console lines answered
}

// Start returns once OpenSM is master and has assigned all LIDs and routes. The netlist is in the format
// of ibnetdiscover; FatTree generates one. If something is not installed, the test fails and says what
// to install.
func Start(tb testing.TB, netlist string) *Subnet {
	tb.Helper()
	s := &Subnet{tb: tb, dir: tb.TempDir(), library: findLibrary(tb)}
	tb.Cleanup(s.cleanup)
	if err := s.startIbsim(netlist); err != nil {
		tb.Fatal(err)
	}
	if err := s.startOpenSM(); err != nil {
		tb.Fatal(err)
	}
	return s
}

// Dir is the folder with the subnet's logs, such as opensm.log.
func (s *Subnet) Dir() string { return s.dir }

// Command returns a command that sees the subnet instead of the machine's adapters.
func (s *Subnet) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program(name), args...)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), s.environ()...)
	return cmd
}

// Prefix makes any argument vector see the subnet when it is put before it, for code under test whose
// command is configurable.
func (s *Subnet) Prefix() []string {
	return append([]string{"env", "-C", s.dir}, s.environ()...)
}

// Output runs a tool to its end and returns what it printed; a failure fails the test.
func (s *Subnet) Output(name string, args ...string) string {
	s.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	out, err := s.Command(ctx, name, args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, exit.Stderr)
		}
		s.tb.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}

// Console sends ibsim a line and returns its answer. `Help` lists the commands.
func (s *Subnet) Console(line string) string {
	s.tb.Helper()
	answer, err := s.ask(line)
	if err != nil {
		s.tb.Fatal(err)
	}
	return answer
}

// SetCounter sets a counter of a port, such as PortCounters.PortXmitWait or
// PortCountersExtended.PortXmitData; the tools read it from then on. The node is named by its identifier
// in the netlist, S-... or H-....
func (s *Subnet) SetCounter(node string, port int, counter string, value uint64) {
	s.tb.Helper()
	line := fmt.Sprintf("PerformanceSet %q[%d] %s=%d", node, port, counter, value)
	if answer := s.Console(line); !strings.Contains(answer, "has been set to") {
		s.tb.Fatalf("ibsim: %s: %s", line, answer)
	}
}

// Unlink unplugs the cable of a port and returns once OpenSM has routed around it.
func (s *Subnet) Unlink(node string, port int) {
	s.tb.Helper()
	s.changeLink("Unlink", node, port)
}

// Relink restores the cable and returns once OpenSM routes over it.
func (s *Subnet) Relink(node string, port int) {
	s.tb.Helper()
	s.changeLink("ReLink", node, port)
}

// refusal is the prefix of ibsim's answer if it does not know the node or the port.
const refusal = "# "

func (s *Subnet) changeLink(command, node string, port int) {
	s.tb.Helper()
	before := s.sweeps()
	line := fmt.Sprintf("%s %q[%d]", command, node, port)
	answer := s.Console(line)
	if strings.HasPrefix(answer, refusal) {
		s.tb.Fatalf("ibsim: %s: %s", line, answer)
	}
	if err := s.await(line+": a new sweep of OpenSM", func() bool { return s.sweeps() > before }); err != nil {
		s.tb.Fatal(err)
	}
}

func (s *Subnet) environ() []string {
	return []string{
		"IBSIM_SOCKNAME=" + s.socketName(),
		"OSM_CACHE_DIR=" + s.dir,
		"OSM_TMP_DIR=" + s.dir,
		"PATH=" + os.Getenv("PATH") + ":" + sbin,
		"LD_PRELOAD=" + s.library,
	}
}

// socketName is part of an abstract socket's name of at most 107 bytes, followed by ":out9".
func (s *Subnet) socketName() string {
	return fmt.Sprintf("giverny-%d-%s", os.Getpid(), lastBytes(s.dir, 60))
}

func lastBytes(text string, n int) string { return text[max(0, len(text)-n):] }

func (s *Subnet) startIbsim(netlist string) error {
	path := filepath.Join(s.dir, "netlist")
	if err := os.WriteFile(path, []byte(netlist), 0o644); err != nil {
		return err
	}
	size := measure(netlist)
	cmd := exec.Command("ibsim", "-s", "-N", strconv.Itoa(size.nodes), "-S", strconv.Itoa(size.switches),
		"-P", strconv.Itoa(size.ports), path)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), "IBSIM_SOCKNAME="+s.socketName())
	var err error
	if s.console, err = cmd.StdinPipe(); err != nil {
		return fmt.Errorf("start ibsim: %w", err)
	}
	if s.ibsim, err = proc.Start(cmd, s.ibsimLog()); err != nil {
		return err
	}
	return s.await("ibsim to read the netlist", func() bool {
		return strings.Contains(readAll(s.ibsimLog()), "Network simulator ready")
	})
}

// openSMConfig disables the periodic sweep: traps trigger one when a link changes. The log is flushed per
// line, because waiting for a sweep reads it.
const openSMConfig = "sweep_interval 0\nforce_log_flush TRUE\n"

func (s *Subnet) startOpenSM() error {
	config := filepath.Join(s.dir, "opensm.conf")
	if err := os.WriteFile(config, []byte(openSMConfig), 0o644); err != nil {
		return err
	}
	cmd := s.Command(context.Background(), "opensm", "-F", config, "-f", s.openSMLog())
	var err error
	if s.opensm, err = proc.Start(cmd, filepath.Join(s.dir, "opensm.out")); err != nil {
		return err
	}
	return s.await("OpenSM to bring the subnet up", func() bool { return s.sweeps() > 0 })
}

// ask sends the line and then an unknown one: when ibsim complains about that, the answer to the first
// is complete.
func (s *Subnet) ask(line string) (string, error) {
	start := len(readAll(s.ibsimLog()))
	s.answers++
	marker := fmt.Sprintf("giverny-marker-%d", s.answers)
	if _, err := fmt.Fprintf(s.console, "%s\n%s\n", line, marker); err != nil {
		return "", fmt.Errorf("ibsim console: %s: %w", line, err)
	}
	end := fmt.Sprintf("command '%s' unknown", marker)
	var answer string
	err := s.await("ibsim's answer to "+line, func() bool {
		var done bool
		answer, _, done = strings.Cut(readAll(s.ibsimLog())[start:], end)
		return done
	})
	return strings.TrimSpace(strings.TrimRight(strings.ReplaceAll(answer, "sim> ", ""), "# \n")), err
}

// sweeps counts how often OpenSM has finished routing.
func (s *Subnet) sweeps() int { return strings.Count(readAll(s.openSMLog()), "SUBNET UP") }

func (s *Subnet) ibsimLog() string  { return filepath.Join(s.dir, "ibsim.log") }
func (s *Subnet) openSMLog() string { return filepath.Join(s.dir, "opensm.log") }

// await polls until done, the end of a process, or the deadline.
func (s *Subnet) await(what string, done func() bool) error {
	deadline := time.Now().Add(waitTimeout)
	for !done() {
		if s.ended() {
			return fmt.Errorf("waiting for %s: a process of the subnet ended\n%s", what, s.logs())
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waited %s for %s\n%s", waitTimeout, what, s.logs())
		}
		time.Sleep(pollInterval)
	}
	return nil
}

func (s *Subnet) ended() bool {
	for _, process := range []*proc.Process{s.ibsim, s.opensm} {
		if process == nil {
			continue
		}
		select {
		case <-process.Done():
			return true
		default:
		}
	}
	return false
}

func (s *Subnet) logs() string {
	var text strings.Builder
	for _, process := range []*proc.Process{s.ibsim, s.opensm} {
		if process != nil {
			fmt.Fprintf(&text, "%s\n", process.LogTail(logTailLines))
		}
	}
	return text.String()
}

func (s *Subnet) cleanup() {
	if s.tb.Failed() {
		s.tb.Logf("end of the logs of ibsim and OpenSM:\n%s", s.logs())
	}
	for _, process := range []*proc.Process{s.opensm, s.ibsim} {
		if process != nil {
			process.Stop(stopTimeout)
		}
	}
}

// size is what ibsim must allocate; its default limits are 256 switches and 13,312 ports.
type size struct{ nodes, switches, ports int }

var nodeLine = regexp.MustCompile(`(?m)^(Switch|Ca|Rt)\s+(\d+)\s`)

func measure(netlist string) size {
	total := size{nodes: 1, switches: 1, ports: 1}
	for _, node := range nodeLine.FindAllStringSubmatch(netlist, -1) {
		ports, _ := strconv.Atoi(node[2]) // digits by the pattern
		total.nodes++
		total.ports += ports + 1 // port 0 of a switch
		if node[1] == "Switch" {
			total.switches++
		}
	}
	return total
}

const howToInstall = "run `make deps-test` as root, or install Debian's ibsim-utils, opensm and infiniband-diags"

func findLibrary(tb testing.TB) string {
	tb.Helper()
	for _, name := range []string{"ibsim", "opensm", "perfquery"} {
		if _, err := exec.LookPath(program(name)); err != nil {
			tb.Fatalf("%s is missing: %s", name, howToInstall)
		}
	}
	found, _ := filepath.Glob("/usr/lib/*/umad2sim/libumad2sim.so")
	if len(found) == 0 {
		tb.Fatalf("libumad2sim.so is missing: %s", howToInstall)
	}
	return found[0]
}

// sbin is where Debian puts OpenSM and the tools: outside an ordinary user's PATH.
const sbin = "/usr/sbin"

func program(name string) string {
	if _, err := exec.LookPath(name); err != nil {
		return filepath.Join(sbin, name)
	}
	return name
}

func readAll(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return "" // not written yet; the wait for its contents has a limit
	}
	return string(text)
}
