package engine_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/giverny/giverny/search"
	"github.com/giverny/giverny/search/simulated"
)

// programArgument makes the test binary an engine program: subsystem F with protocol
// violations at some identifiers, such as "late@5".
const programArgument = "engine-program"

func TestMain(m *testing.M) {
	if runFake() {
		return
	}
	if len(os.Args) > 1 && os.Args[1] == programArgument {
		speak(os.Args[2:])
		return
	}
	goleak.VerifyTestMain(m)
}

// program is the command of an engine program with the given violations.
func program(errs ...string) []string {
	return append([]string{os.Args[0], programArgument}, errs...)
}

func speak(errs []string) {
	model, err := simulated.New("F", 1, simulated.Flakiness{})
	if err != nil {
		panic(err)
	}
	d := model.Describe()
	space, err := search.NewSpace(d.Dimensions)
	if err != nil {
		panic(err)
	}
	does := map[int]string{}
	for _, e := range errs {
		what, at, _ := strings.Cut(e, "@")
		id, _ := strconv.Atoi(at)
		does[id] = what
	}
	fmt.Fprintln(os.Stderr, "program begins")
	out := json.NewEncoder(os.Stdout)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var r struct {
			Type     string          `json:"type"`
			ID       int             `json:"id"`
			Workload json.RawMessage `json:"workload"`
		}
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			panic(err)
		}
		switch r.Type {
		case "describe":
			if does[0] != "" {
				misbehave(does[0], 0)
			}
			_ = out.Encode(d)
		case "measure":
			if misbehave(does[r.ID], r.ID) {
				continue
			}
			if good, ok := strings.CutPrefix(strings.Join(errs, ""), "only="); ok { // any workload but the first kills it
				if first, err := os.ReadFile(good); err != nil {
					_ = os.WriteFile(good, r.Workload, 0o600)
				} else if string(first) != string(r.Workload) {
					os.Exit(3)
				}
			}
			w, err := space.ParseWorkload(r.Workload)
			if err != nil {
				panic(err)
			}
			m := model.Measure(w)
			answer := struct {
				ID int `json:"id"`
				search.Measurement
			}{r.ID, m}
			_ = out.Encode(answer)
			if does[r.ID] == "doubled" {
				_ = out.Encode(answer)
			}
		case "stop":
			if does[-1] == "deaf" {
				time.Sleep(time.Hour)
			}
			return
		}
	}
}

// misbehave violates the protocol, and reports whether that was the answer.
func misbehave(what string, id int) bool {
	const fine = `"status":"ok","seconds":1,"directions":[{"gbps":100,"mpps":1,"size_bytes":1000}],"tx_pause_percent":[0,0],"counters":{}`
	print := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	switch what {
	case "text":
		print("warming up, please wait")
	case "wrongid":
		print(`{"id":%d,%s}`, id+1000, fine)
	case "noid":
		print(`{%s}`, fine)
	case "status":
		print(`{"id":%d,"status":"splendid"}`, id)
	case "negative":
		print(`{"id":%d,%s}`, id, strings.Replace(fine, "100,", "-100,", 1))
	case "beyond":
		print(`{"id":%d,%s}`, id, strings.Replace(fine, "100,", "1e12,", 1))
	case "forever":
		print(`{"id":%d,%s}`, id, strings.Replace(fine, `"seconds":1`, `"seconds":1e308`, 1))
	case "missing":
		print(`{"id":%d,%s}`, id, strings.Replace(fine, `"gbps":100,`, "", 1))
	case "nopause":
		print(`{"id":%d,%s}`, id, strings.Replace(fine, `"tx_pause_percent":[0,0],`, "", 1))
	case "nan":
		print(`{"id":%d,%s}`, id, strings.Replace(fine, "100,", "NaN,", 1))
	case "three":
		print(`{"id":%d,%s}`, id, strings.Replace(fine, `[{"gbps":100,"mpps":1,"size_bytes":1000}]`, `[{"gbps":1,"mpps":1},{"gbps":1,"mpps":1},{"gbps":1,"mpps":1}]`, 1))
	case "onepause":
		print(`{"id":%d,%s}`, id, strings.Replace(fine, "[0,0]", "[]", 1))
	case "null":
		print(`{"id":%d,%s}`, id, strings.Replace(fine, "{}", `{"x":null}`, 1))
	case "below":
		print(`{"id":%d,%s}`, id, strings.Replace(fine, "{}", `{"x":-5}`, 1))
	case "again":
		print(`{"name":"F","dimensions":[],"counters":["x"]}`)
	case "late":
		time.Sleep(time.Hour)
	case "dead":
		os.Exit(3)
	case "huge":
		print(strings.Repeat("x", 3<<20))
	case "flood":
		for {
			fmt.Print(strings.Repeat("x", 1<<16))
		}
	default:
		return false
	}
	return true
}
