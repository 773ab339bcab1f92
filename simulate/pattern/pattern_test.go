package pattern

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/simulate/packet"
)

const tree = "fattree:leaves=4,hosts=4,spines=4"

func nsimACE(t testing.TB) Model {
	t.Helper()
	m, err := FindModel("nsim-ace")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func predict(t testing.TB, spec string, p *Program) *Report {
	t.Helper()
	rep, err := Predict(parse(t, spec), nsimACE(t), p)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func readYAML(t testing.TB, file string, nodes int) *Program {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	p, err := ReadYAML(bytes.NewReader(data), file, nodes)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// figure1 is the paper's sample program in Go.
func figure1(p *Proc) {
	switch p.ID {
	case 0:
		p.Compute(100000)
		h := p.Put(1, 4, 0)
		p.Complete(h)
	case 1:
		p.Poll(0)
	}
}

// TestFigure1 runs the paper's sample from a table, a file and Go.
func TestFigure1(t *testing.T) {
	const table = header + "0,0,compute,,100000,\n0,0,put,1,4,0\n0,0,complete,,,0\n1,1,poll,,,0\n"
	fromTable, err := ReadCalls(strings.NewReader(table), "figure1.csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Program{fromTable, readYAML(t, "figure1.yaml", 16), New("figure 1", 2, 1, figure1)} {
		rep := predict(t, tree, p)
		var got []string
		for _, r := range rep.Records {
			got = append(got, fmt.Sprintf("%d %s %.1f %.1f", r.Process, r.Op, r.Start.Nanoseconds(), r.Complete.Nanoseconds()))
		}
		want := []string{"0 compute 0.0 100000.0", "0 put 100000.0 100294.3", "0 complete 100000.0 100294.3", "1 poll 0.0 100145.1"}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", p.Name, got, want)
		}
	}
}

// TestProgramsRunAgain: a program gives the same report each time, and leaves no
// coroutine behind, even if a run is abandoned.
func TestProgramsRunAgain(t *testing.T) {
	defer goleak.VerifyNone(t)
	programs := []*Program{readYAML(t, "stencil.yaml", 16), New("deadlockError", 2, 1, func(p *Proc) {
		if p.ID == 0 {
			for {
				p.Put(1, 1<<20, 7)
				p.Poll(3)
			}
		}
		p.CompleteAll()
		p.Barrier()
	})}
	for _, b := range builtins {
		spec := b.name + ":processes=8,per-node=2,bytes=10000"
		if b.name == "halo" {
			spec += ",dims=2x4"
		}
		p, err := Builtin(spec, 16)
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, p)
	}
	for _, p := range programs {
		var first, second bytes.Buffer
		for _, out := range []*bytes.Buffer{&first, &second} {
			rep, err := Predict(parse(t, tree), nsimACE(t), p)
			if err != nil {
				fmt.Fprint(out, err)
				continue
			}
			if err := errors.Join(rep.WriteJSON(out), rep.WriteText(out)); err != nil {
				t.Fatal(err)
			}
		}
		if first.Len() == 0 || first.String() != second.String() {
			t.Errorf("%s: two runs differ:\n%s\n%s", p.Name, first.String(), second.String())
		}
		if p.Name == "deadlockError" && !strings.Contains(first.String(), "process 0 has been waiting") {
			t.Errorf("deadlockError program: %s", first.String())
		}
	}
}

// TestCollectives: the times of built-in patterns follow from those of their puts.
func TestCollectives(t *testing.T) {
	single := func(bytes float64) float64 {
		return predictCalls(t, tree, fmt.Sprintf("0,0,put,5,%.0f,0\n", bytes)).Records[0].Arrive.Nanoseconds()
	}
	for _, c := range []struct {
		spec string
		want float64 // of the slowest process, ns
	}{
		{"ring:bytes=2MiB", single(2<<20) + 430.4},
		{"ring:bytes=1MiB,rounds=3", 3 * (single(1<<20) + 430.4)},
		{"allreduce-ring:bytes=16MiB", 30 * single(1<<20)},
		{"allreduce-halving:bytes=16MiB,processes=16", 2 * (single(8<<20) + single(4<<20) + single(2<<20) + single(1<<20))},
	} {
		p, err := Builtin(c.spec, 16)
		if err != nil {
			t.Fatal(err)
		}
		got := predict(t, tree, p).End.Nanoseconds()
		if math.Abs(got/c.want-1) > 0.02 {
			t.Errorf("%s: %.0f ns, want about %.0f", c.spec, got, c.want)
		}
	}
}

// TestPollsAndCompletes: the n-th poll of a tag waits for the n-th put, the n-th
// complete of a tag for the n-th post, and an empty complete for all.
func TestPollsAndCompletes(t *testing.T) {
	rep := predictCalls(t, tree, `0,0,put,1,1048576,5
0,0,put,1,1048576,5
0,0,complete,,,5
0,0,complete,,,5
0,0,get,1,4,8
0,0,complete,,,
1,1,poll,,,5
1,1,poll,,,5
`)
	r := rep.Records
	for _, c := range []struct{ call, put int }{{2, 0}, {3, 1}, {5, 4}} {
		if r[c.call].Complete != r[c.put].Complete {
			t.Errorf("call %d returns at %v, the transfer is complete at %v", c.call, r[c.call].Complete, r[c.put].Complete)
		}
	}
	if r[6].Complete != r[0].Arrive || r[7].Complete != r[1].Arrive {
		t.Errorf("polls return at %v and %v, puts arrive at %v and %v", r[6].Complete, r[7].Complete, r[0].Arrive, r[1].Arrive)
	}
}

// TestBreakdown: a put's time is its time alone plus its waits, and the puts that it
// waits for are named.
func TestBreakdown(t *testing.T) {
	rep := predictCalls(t, tree, "0,0,put,1,1048576,0\n0,0,put,2,1048576,0\n4,4,put,8,1048576,0\n5,5,put,12,1048576,0\n")
	for _, r := range rep.Records {
		if sum := r.Alone + r.DMAWait + r.Contention + r.ControlWait; sum != r.Complete-r.Start {
			t.Errorf("process %d, call %d: parts sum to %v, want %v", r.Process, r.Number, sum, r.Complete-r.Start)
		}
	}
	near(t, "wait for the DMA engine", rep.Records[1].DMAWait.Nanoseconds(), 1<<20/2.8)
	has := func(waiting, holder CallRef, place string) bool {
		return slices.ContainsFunc(rep.Collisions, func(c Collision) bool {
			return c.Waiting == waiting && c.Holder == holder && c.Place == place && c.Waited > 0
		})
	}
	if !has(CallRef{0, 1}, CallRef{0, 0}, "dma") || !has(CallRef{5, 0}, CallRef{4, 0}, "link") {
		t.Errorf("collisions %+v", rep.Collisions)
	}
}

// TestExplainJob: without the job that shares its uplink a put takes its time alone.
func TestExplainJob(t *testing.T) {
	p, err := ReadCalls(strings.NewReader(header+"0,0,put,4,1048576,0\n0,0,complete,,,\n1,1,put,8,1048576,3\n1,1,complete,,,3\n8,8,poll,,,3\n"), "jobs.csv")
	if err != nil {
		t.Fatal(err)
	}
	e, err := Experiment{Graph: parse(t, tree), Model: nsimACE(t), Program: p}.Explain(Without{Processes: []int{1}})
	if err != nil {
		t.Fatal(err)
	}
	if e.Removed != 1 || len(e.Gains) != 1 || e.Gains[0].Gain < 100*packet.Microsecond || e.Put[1].Contention != 0 {
		t.Errorf("%+v", e)
	}
	var text strings.Builder
	if err := e.WriteText(&text); err != nil || !strings.Contains(text.String(), "process 0, call 0") {
		t.Errorf("%v\n%s", err, text.String())
	}
	if _, err := (Experiment{Graph: parse(t, tree), Model: nsimACE(t), Program: p}).Explain(Without{}); err == nil {
		t.Error("nothing is taken out, and there is no error")
	}
}

// TestSample reads counters while a program runs; they increase to its total bytes.
func TestSample(t *testing.T) {
	p, err := Builtin("ring:bytes=1MiB", 16)
	if err != nil {
		t.Fatal(err)
	}
	var at []packet.Time
	bytes := uint64(0)
	x := Experiment{Graph: parse(t, tree), Model: nsimACE(t), Program: p, Every: 50 * packet.Microsecond, Sample: func(s *packet.Sim) {
		at = append(at, s.Now())
		sum := uint64(0)
		for ch := range s.Channels().Len() {
			sum += s.Counters(s.Channels().Of(schema.LinkID(ch))[0]).Bytes
		}
		if sum < bytes {
			t.Errorf("counters fall from %d to %d", bytes, sum)
		}
		bytes = sum
	}}
	rep, err := x.Run()
	if err != nil {
		t.Fatal(err)
	}
	if len(at) != int(rep.End/x.Every)+1 || at[0] != x.Every || at[len(at)-1] != rep.End {
		t.Errorf("sampled at %v, the end is at %v", at, rep.End)
	}
	if want := uint64(16*2+4*2) * (1<<20 + 32); bytes != want {
		t.Errorf("%d bytes on all links, want %d", bytes, want)
	}
}

// TestFaultsInPrograms: a program whose peer is cut off reports that.
func TestFaultsInPrograms(t *testing.T) {
	g := parse(t, tree)
	p, err := ReadCalls(strings.NewReader(header+"0,0,put,5,1048576,0\n5,5,poll,,,0\n"), "calls.csv")
	if err != nil {
		t.Fatal(err)
	}
	cut := []packet.Fault{{At: 100 * packet.Microsecond, Link: schema.NoLink, Device: g.Hosts()[5]}}
	_, err = Experiment{Graph: g, Model: nsimACE(t), Program: p, Faults: cut}.Run()
	if err == nil || !strings.Contains(err.Error(), "failed after all retries") || !strings.Contains(err.Error(), "process 5 has been waiting") {
		t.Errorf("got %v", err)
	}
	p, err = ReadCalls(strings.NewReader(header+"0,0,put,5,1048576,0\n"), "calls.csv")
	if err != nil {
		t.Fatal(err)
	}
	rep, err := Experiment{Graph: g, Model: nsimACE(t), Program: p, Faults: cut}.Run()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := rep.WriteJSON(&out); err != nil {
		t.Fatal(err)
	}
	var object map[string]any
	if err := json.Unmarshal(out.Bytes(), &object); err != nil || object["complete_ns"] != nil || object["start_ns"] != 0.0 {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestRefusals: errors have a place and a remedy.
func TestRefusals(t *testing.T) {
	table := func(text string) error {
		_, err := ReadCalls(strings.NewReader(text), "f.csv")
		return err
	}
	file := func(text string) error {
		_, err := ReadYAML(strings.NewReader(text), "f.yaml", 16)
		return err
	}
	builtin := func(spec string) error {
		_, err := Builtin(spec, 16)
		return err
	}
	set := func(assignment string) error {
		m := nsimACE(t)
		return errors.Join(m.Set(assignment), m.Validate())
	}
	_, noModel := FindModel("nsim-ase")
	run := func(p *Program, err error) error {
		if err == nil {
			_, err = Predict(parse(t, "fattree:leaves=4,hosts=4,spines=4"), nsimACE(t), p)
		}
		return err
	}
	long, _ := ReadCalls(strings.NewReader(header+"0,0,compute,,99999999999999999,\n"), "f.csv")
	for _, c := range []struct {
		err  error
		want string
	}{
		{table(""), "empty; want a header process,node,op,peer,bytes,tag"},
		{table("process,node,op,peer\n"), `column "bytes" is missing`},
		{table("process,node,op,peer,byte,tag\n"), `did you mean "bytes"`},
		{table(header), "no calls"},
		{table(header + "0,0,putt,1,4,0\n"), `line 2: op "putt" is unknown; did you mean "put"`},
		{table(header + "0,0,put,,4,0\n"), "peer of a put"},
		{table(header + "0,0,put,1,-4,0\n"), "bytes -4"},
		{table(header + "0,0,put,1,x,0\n"), `bytes "x"`},
		{table(header + "0,0,put,1,4,0\n0,1,put,1,4,0\n"), "process 0 is on node 0 and on node 1"},
		{table(header + "0,0,complete,,,3\n"), "complete of tag 3 (call 0) has no put or get before it"},
		{table(header + "0,0,poll,,,3\n"), "poll of tag 3 (call 0) has no put to wait for"},
		{table(header + "0,0,barrier,,,\n0,0,barrier,,,\n1,1,barrier,,,\n"), "process 1 meets 1 barriers, process 0 meets 2"},
		{file(""), "empty"},
		{file("pattern: ring\n---\npattern: halo\n"), "more than one YAML document"},
		{file("processes: 2\nprograms:\n - on: 7\n   calls: [barrier]\n"), `on: "7"`},
		{file("processes: 2\nprograms:\n - on: all\n   calls: [{put: {too: 1}}]\n"), `did you mean "to"`},
		{file("processes: 2\nprograms:\n - on: all\n   calls: [{put: {to: +x}}]\n"), "want a process, +N, -N or ^N"},
		{file("processes: 2\nprograms:\n - on: all\n   calls: [{wait: 1}]\n"), `call "wait"`},
		{file("processes: 2\nprocess: 3\n"), "process"},
		{file("pattern: ringg\n"), `did you mean "ring"`},
		{builtin("ring:byte=3"), `did you mean "bytes"`},
		{builtin("ring:bytes=lots"), "64KiB"},
		{builtin("halo:dims=3x3,processes=8"), "want dims whose product is that"},
		{builtin("allreduce-halving:processes=6"), "power of two"},
		{set("packet_byte=3"), `did you mean "packet_bytes"`},
		{set("packet_bytes=three"), "want a whole number"},
		{set("packet_bytes=0"), "packet_bytes=0: want 1 to 1048576"},
		{set("barrier=tree"), "dissemination or ideal"},
		{noModel, `did you mean "nsim-ace"`},
		{run(Builtin("ring:processes=99999", 16)), "process 23: node 23 is not one of the fabric's 16 nodes\nand 99975 more"},
		{run(long, nil), "a delay of 8000 s at 0 s: a simulation lasts 7200 s"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("got %v, want %q", c.err, c.want)
		}
	}
}

// TestPieces reads an irregular list and puts it.
func TestPieces(t *testing.T) {
	pieces, err := ReadPieces(strings.NewReader("from,to,bytes\n0,5,1MiB\n2,2,0\n"), "puts.csv")
	if err != nil {
		t.Fatal(err)
	}
	p, err := Exchange{NoBarrier: true}.Program("puts", pieces)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "end", predict(t, tree, p).End.Nanoseconds(), 377831.0857)
	for bad, want := range map[string]string{"": "puts.csv: want a header", "a,b,c\n": "puts.csv: want a header", "from,to,bytes\n1,2,x\n": "puts.csv: line 2: ",
		"from,to,bytes\n1,2,3\n-1,2,3\n": `puts.csv: line 3: from "-1": want a process`, "from,to,bytes\n1,2\n": "puts.csv: line 2: 2 fields where the header has 3; complete"} {
		if _, err := ReadPieces(strings.NewReader(bad), "puts.csv"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", bad, err, want)
		}
	}
}

// TestIdealBarrier: all continue when the last has arrived.
func TestIdealBarrier(t *testing.T) {
	rep := predictCalls(t, tree, "0,0,compute,,5000,\n0,0,barrier,,,\n1,1,barrier,,,\n2,1,barrier,,,\n", "barrier=ideal")
	near(t, "end", rep.End.Nanoseconds(), 5000)
	for _, r := range rep.Records {
		near(t, "return", r.Complete.Nanoseconds(), 5000)
	}
}
