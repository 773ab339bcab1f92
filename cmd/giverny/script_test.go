package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/giverny/giverny/internal/app"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/internal/test/freeport"
	"github.com/giverny/giverny/internal/test/repo"
)

// TestMain lets the test binary be giverny, under its own name in the scripts' PATH,
// and the embedded engine's child.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == app.EngineCommand {
		main()
		return
	}
	testscript.Main(m, map[string]func(){"giverny": main, testEngine: serveTestEngine, testProber: serveTestProber, testHost: serveTestHost})
}

// The scripts run the binary like a user. For their additional commands see
// scriptCommands.
func TestScripts(t *testing.T) { runScripts(t, "") }

// The scripts that read recorded fixtures, in $FIXTURES.
func TestRecordedScripts(t *testing.T) {
	fixtures, err := filepath.Abs(filepath.Dir(repo.Fixture(t, "SOURCES.md")))
	if err != nil {
		t.Fatal(err)
	}
	runScripts(t, "recorded", "FIXTURES="+fixtures)
}

// runScripts runs a folder of scripts with additional environment variables, such as
// "NAME=value".
func runScripts(t *testing.T, folder string, environment ...string) {
	testscript.Run(t, testscript.Params{
		Dir:           filepath.Join("testdata", "script", folder),
		Cmds:          scriptCommands,
		UpdateScripts: *update,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(append(env.Vars, "GIVERNY_HTTP_METRICS_LISTEN=127.0.0.1:0"), environment...) // scripts run in parallel
			return nil
		},
	})
}

// scriptCommands are the scripts' commands in addition to testscript's own:
//
//	freeport VARIABLE          a free address
//	occupy VARIABLE            an address that the test listens on
//	await URL [TEXT]           wait until the URL responds with 200, and with the text
//	broker VARIABLE            the address of a Kafka broker
//	unchanged URL              wait until the URL responds with 304 to the ETag of its last response
//	terminate                  SIGTERM to every command in the background
//	waitfile FILE              wait until the file exists
//	status N COMMAND ARG...    run a command that must exit with this status; stderr has its output
//	dayfile FILE DIM MINUTES   append a day file of a calm torus of DIM x DIM x DIM to the file
var scriptCommands = map[string]func(*testscript.TestScript, bool, []string){
	"freeport": func(ts *testscript.TestScript, _ bool, args []string) {
		port, release, err := freeport.Reserve()
		ts.Check(err)
		ts.Defer(release)
		ts.Setenv(args[0], fmt.Sprintf("127.0.0.1:%d", port))
	},
	"occupy": func(ts *testscript.TestScript, _ bool, args []string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		ts.Setenv(args[0], l.Addr().String())
		ts.Defer(func() { l.Close() })
	},
	"await": func(ts *testscript.TestScript, _ bool, args []string) {
		awaitAnswer(ts, args[0], strings.Join(args[1:], " "))
	},
	"broker": func(ts *testscript.TestScript, _ bool, args []string) {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
		ts.Check(err)
		ts.Defer(cluster.Close)
		ts.Setenv(args[0], cluster.ListenAddrs()[0])
	},
	"unchanged": func(ts *testscript.TestScript, _ bool, args []string) { unchanged(ts, args[0]) },
	"terminate": func(ts *testscript.TestScript, _ bool, _ []string) {
		for _, cmd := range ts.BackgroundCmds() {
			ts.Check(cmd.Process.Signal(syscall.SIGTERM))
		}
	},
	"waitfile": func(ts *testscript.TestScript, _ bool, args []string) {
		if !await.Holds(awaitTimeout, 20*time.Millisecond, func() bool {
			_, err := os.Stat(ts.MkAbs(args[0]))
			return err == nil
		}) {
			ts.Fatalf("%s is not there after %v", args[0], awaitTimeout)
		}
	},
	"status": func(ts *testscript.TestScript, _ bool, args []string) {
		err := ts.Exec(args[1], args[2:]...)
		var exit *exec.ExitError
		if !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0] {
			ts.Fatalf("it ended with %v; want status %s", err, args[0])
		}
	},
	"dayfile": func(ts *testscript.TestScript, _ bool, args []string) { writeDayFile(ts, args) },
}

const awaitTimeout = 2 * time.Minute

func awaitAnswer(ts *testscript.TestScript, url, text string) {
	var body string
	if !await.Holds(awaitTimeout, 50*time.Millisecond, func() bool {
		response, err := http.Get(url)
		if err != nil {
			body = err.Error()
			return false
		}
		var b strings.Builder
		err = response.Write(&b)
		response.Body.Close()
		body = b.String()
		return err == nil && response.StatusCode == http.StatusOK && strings.Contains(body, text)
	}) {
		ts.Fatalf("%s has not answered with %q within %v; the last answer: %s", url, text, awaitTimeout, body)
	}
}

// unchanged repeats the request with the entity tag of the last response, until nothing changes.
func unchanged(ts *testscript.TestScript, url string) {
	tag := ""
	if !await.Holds(awaitTimeout, 50*time.Millisecond, func() bool {
		request, err := http.NewRequest(http.MethodGet, url, nil)
		ts.Check(err)
		if tag != "" {
			request.Header.Set("If-None-Match", tag)
		}
		response, err := http.DefaultClient.Do(request)
		ts.Check(err)
		ts.Check(response.Body.Close())
		if tag != "" && response.StatusCode == http.StatusNotModified {
			return true
		}
		if tag = response.Header.Get("ETag"); response.StatusCode != http.StatusOK || tag == "" {
			ts.Fatalf("%s: %s, ETag %q", url, response.Status, tag)
		}
		return false
	}) {
		ts.Fatalf("%s changes with every question for %v", url, awaitTimeout)
	}
}

// dayFileStart is 2017-01-12 00:00 UTC.
const dayFileStart = 1484179200

// writeDayFile writes 5 percent of credit stall for every link.
func writeDayFile(ts *testscript.TestScript, args []string) {
	dim, err := strconv.Atoi(args[1])
	ts.Check(err)
	minutes, err := strconv.Atoi(args[2])
	ts.Check(err)
	var b strings.Builder
	values := strings.Repeat("5000000,", 6) + strings.Repeat("1000000,", 6) + strings.Repeat("30000000,", 6)
	for m := range minutes {
		for n := range dim * dim * dim {
			for range 2 { // a row for each of the two nodes
				fmt.Fprintf(&b, "%d,%s%d,%d,%d\n", dayFileStart+60*m, values, n/dim/dim, n/dim%dim, n%dim)
			}
		}
	}
	file, err := os.OpenFile(ts.MkAbs(args[0]), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	ts.Check(err)
	_, err = file.WriteString(b.String())
	ts.Check(errors.Join(err, file.Close()))
}
