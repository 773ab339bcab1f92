package pattern

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/giverny/giverny/topology"
	"github.com/giverny/giverny/topology/topologytest"
)

const header = "process,node,op,peer,bytes,tag\n"

func parse(t rapid.TB, spec string) *topology.Graph {
	t.Helper()
	return topologytest.Parse(t, "f", spec)
}

func predictCalls(t testing.TB, spec, calls string, params ...string) *Report {
	t.Helper()
	m, err := FindModel("nsim-ace")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range params {
		if err := m.Set(p); err != nil {
			t.Fatal(err)
		}
	}
	p, err := ReadCalls(strings.NewReader(header+calls), "calls.csv")
	if err != nil {
		t.Fatal(err)
	}
	rep, err := Predict(parse(t, spec), m, p)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// manyToOne is k puts of 1 MiB to process k, each from its own node.
func manyToOne(k int) string {
	var b strings.Builder
	for i := range k {
		fmt.Fprintf(&b, "%d,%d,put,%d,1048576,0\n", i, i, k)
	}
	return b.String()
}

func shift(n, by, bytes int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d,%d,put,%d,%d,0\n", i, i, (i+by)%n, bytes)
	}
	return b.String()
}

func barriers(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d,%d,barrier,,,\n", i, i)
	}
	return b.String()
}

// TestOracles checks the closed forms of the model, with packets of 4096 and control
// packets of 32 bytes: each to within a picosecond, for unlimited and small buffers.
func TestOracles(t *testing.T) {
	const tree = "fattree:leaves=4,hosts=4,spines=4"
	const leaf = "fattree:leaves=1,hosts=16,spines=1"
	for _, c := range []struct {
		name, spec, calls string
		arrives           float64 // the last arrival; 0: not given
		first             float64 // the first arrival; 0: not given
		completes         float64 // the last completion; 0: not given
	}{
		{"put 4 B, S=1", tree, "0,0,put,1,4,0\n", 145.0571, 0, 294.2571},
		{"put 4 B, S=3", tree, "0,0,put,5,4,0\n", 426.2571, 0, 856.6571},
		{"put 1 MiB, S=1", tree, "0,0,put,1,1048576,0\n", 377119.4857, 0, 377268.6857},
		{"put 1 MiB, S=3", tree, "0,0,put,5,1048576,0\n", 377400.6857, 0, 377831.0857},
		{"two puts on one NIC", tree, "0,0,put,1,1048576,0\n0,0,put,2,1048576,0\n", 751610.9143, 377119.4857, 751760.1143},
		{"two flows on one uplink", tree, "0,0,put,4,1048576,0\n1,1,put,8,1048576,0\n", 527636.1143, 526612.1143, 0},
		{"3 to 1", leaf, manyToOne(3), 1126102.3429, 0, 0},
		{"15 to 1", leaf, manyToOne(15), 5619999.4857, 0, 0},
		{"shift ring", tree, shift(16, 4, 2<<20), 751892.1143, 751892.1143, 752322.5143},
		{"neighbour ring", tree, shift(16, 1, 2<<20), 751892.1143, 0, 752322.5143},
		{"barrier", tree, barriers(16), 0, 0, 1454.6857},
		{"get 4 B", tree, "0,0,get,1,4,0\n", 294.2571, 0, 294.2571},
		{"intra-node, then inter-node", tree, "0,0,put,9,1048576,0\n0,0,put,1,1048576,0\n9,0,compute,,0,\n", 751610.9143, 374491.4286, 751760.1143},
	} {
		for _, open := range []string{"flow_control=none", "flow_control=credits", "flow_control=pfc", "arbitration=round-robin", "nic_buffer_bytes=8192"} {
			t.Run(c.name+"/"+open, func(t *testing.T) {
				rep := predictCalls(t, c.spec, c.calls, open)
				first, last := math.Inf(1), 0.0
				for _, r := range rep.Records {
					if r.Op == Put || r.Op == Get {
						first, last = min(first, r.Arrive.Nanoseconds()), max(last, r.Arrive.Nanoseconds())
					}
				}
				near(t, "last arrival", last, c.arrives)
				near(t, "first arrival", first, c.first)
				near(t, "end", rep.End.Nanoseconds(), c.completes)
			})
		}
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if want != 0 && math.Abs(got-want) > 0.001 {
		t.Errorf("%s %.4f ns, want %.4f", what, got, want)
	}
}

// TestJSON checks the format of a call's object.
func TestJSON(t *testing.T) {
	rep := predictCalls(t, "fattree:leaves=4,hosts=4,spines=4", "0,0,put,5,1048576,0\n")
	var b strings.Builder
	if err := rep.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	want := `{"process":0,"op":"put","peer":5,"bytes":1048576,"start_ns":0,"arrive_ns":377400.6857,"complete_ns":377831.0857}` + "\n"
	if b.String() != want {
		t.Errorf("got  %swant %s", b.String(), want)
	}
}
