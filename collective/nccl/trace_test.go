package nccl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
	"github.com/giverny/giverny/collective/nccl"
)

// ringTrace is the file of one rank of a ring all-reduce as NCCL's example plug-in writes
// it: iterations of 2(n-1) network steps of 1 ms on one channel. In the second iteration
// rank 1 sends step 2 30 ms later than it could ("late"), or step 2 of rank 1 takes 30 ms
// longer ("slow"). The clock of each rank begins at another time.
func ringTrace(rank, ranks int, fault string, clock float64) string {
	const step = 1000.0 // microseconds
	steps := 2 * (ranks - 1)
	var b strings.Builder
	fmt.Fprintln(&b, "[")
	at, net := clock+5000, 0
	for iteration := range 2 {
		// begin and end of every transfer, on a clock that all share, from the first step
		begin, end := schedule(ranks, steps, step, iteration == 1, fault)
		length := 0.0
		fmt.Fprintf(&b, `{"name": "AllReduce", "cat": "COLL", "ph": "b", "id": %d, "pid": %d, "tid": 1, "ts": %f, "args": {"SeqNum": %d, "CommHash": 673864846479792718, "Rank": %d, "Count": 32768, "Datatype": "ncclFloat32", "Algorithm": "RING", "Protocol": "LL", "nMaxChannels": 1}},`+"\n", iteration, 4000+rank, at-50, iteration, rank)
		fmt.Fprintf(&b, `{"name": "ScheduleSend", "cat": "PROXY", "ph": "b", "id": %d, "pid": %d, "tid": 1, "ts": %f, "args": {"Channel": 0, "Peer": %d, "Steps": %d, "ChunkSize": 32768, "transSize": 229376}},`+"\n", iteration, 4000+rank, at-20, (rank+1)%ranks, steps)
		fmt.Fprintf(&b, `{"name": "ScheduleSend", "cat": "PROXY", "ph": "e", "id": %d, "pid": %d, "tid": 1, "ts": %f},`+"\n", iteration, 4000+rank, at-10)
		for s := range steps {
			from, to := at+begin[s][rank], at+end[s][rank]
			fmt.Fprintf(&b, `{"name": "SendGpuWait", "cat": "NET", "ph": "b", "id": %d, "pid": %d, "tid": 1, "ts": %f, "args": {"Step": %d}},`+"\n", net, 4000+rank, at, s)
			fmt.Fprintf(&b, `{"name": "SendGpuWait", "cat": "NET", "ph": "e", "id": %d, "pid": %d, "tid": 1, "ts": %f},`+"\n", net, 4000+rank, from)
			fmt.Fprintf(&b, `{"name": "SendWait", "cat": "NET", "ph": "b", "id": %d, "pid": %d, "tid": 1, "ts": %f, "args": {"Step": %d}},`+"\n", net, 4000+rank, from, s)
			fmt.Fprintf(&b, `{"name": "SendWait", "cat": "NET", "ph": "e", "id": %d, "pid": %d, "tid": 1, "ts": %f},`+"\n", net, 4000+rank, to)
			net++
			for r := range ranks {
				length = max(length, end[s][r])
			}
		}
		fmt.Fprintf(&b, `{"name": "AllReduce", "cat": "COLL", "ph": "e", "id": %d, "pid": %d, "tid": 1, "ts": %f},`+"\n", iteration, 4000+rank, at+length)
		at += length
	}
	fmt.Fprintln(&b, "{}]")
	return b.String()
}

func schedule(ranks, steps int, step float64, faulty bool, fault string) (begin, end [][]float64) {
	before := make([]float64, ranks)
	for s := range steps {
		from, to := make([]float64, ranks), make([]float64, ranks)
		for r := range ranks {
			from[r] = max(before[r], before[(r+ranks-1)%ranks])
			if faulty && fault == "late" && r == 1 && s == 1 {
				from[r] += 30_000
			}
			to[r] = from[r] + step
			if faulty && fault == "slow" && r == 1 && s == 1 {
				to[r] += 30_000
			}
		}
		begin, end, before = append(begin, from), append(end, to), to
	}
	return begin, end
}

func diagnoseTraces(t *testing.T, texts ...string) collective.Diagnosis {
	t.Helper()
	var traces []*nccl.Trace
	for i, text := range texts {
		trace, err := nccl.ReadTrace(fmt.Sprintf("dump_%d.json", i), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		traces = append(traces, trace)
	}
	run, err := nccl.Run(traces)
	if err != nil {
		t.Fatal(err)
	}
	return collective.Diagnose(run, collective.Options{})
}

// For rings, the traces of ranks whose clocks are hours apart yield the makespan, the
// critical path, and who was late or slow.
func TestTraces(t *testing.T) {
	const ranks = 8
	for fault, want := range map[string]struct {
		makespan int64
		class    collective.Class
	}{"none": {28e6, ""}, "late": {58e6, collective.Straggler}, "slow": {58e6, collective.HostNICContention}} {
		var texts []string
		for rank := range ranks {
			texts = append(texts, ringTrace(rank, ranks, fault, float64(rank*rank)*1.7e9))
		}
		d := diagnoseTraces(t, texts...)
		if d.Ranks != ranks || d.Steps != 14 || d.Iterations != 2 || d.MakespanNanos < want.makespan-2000 || d.MakespanNanos > want.makespan+2000 {
			t.Errorf("%s: %d ranks, %d steps, %d iterations, makespan %d, want %d", fault, d.Ranks, d.Steps, d.Iterations, d.MakespanNanos, want.makespan)
		}
		sum := int64(0)
		for _, s := range d.CriticalPath {
			sum += s.EndNanos - s.BeginNanos
		}
		if sum != d.MakespanNanos {
			t.Errorf("%s: segments sum to %d", fault, sum)
		}
		if want.class == "" {
			if len(d.Culprits) > 0 {
				t.Errorf("%s: %+v", fault, d.Culprits)
			}
			continue
		}
		if len(d.Culprits) != 1 || d.Culprits[0].Class != want.class || d.Culprits[0].Object != "host 1" || d.Culprits[0].CostNanos < 28e6 || d.Culprits[0].CostNanos > 31e6 {
			t.Errorf("%s: %+v", fault, d.Culprits)
		}
	}
}

// Older versions write some values without quotes, and a killed process leaves the list
// open.
func TestTracesOfOtherVersions(t *testing.T) {
	var texts []string
	for rank := range 4 {
		text := strings.ReplaceAll(ringTrace(rank, 4, "none", 0), `"Datatype": "ncclFloat32"`, `"Datatype": ncclFloat32, "Stream": 0x262ca50`)
		if rank == 3 {
			text = text[:strings.LastIndex(text, `"ts"`)]
		}
		texts = append(texts, text)
	}
	d := diagnoseTraces(t, texts...)
	if d.Iterations != 2 || d.Steps != 6 || len(d.Culprits) > 0 || !strings.Contains(strings.Join(d.Notes, "\n"), "dump_3.json is truncated") {
		t.Errorf("%+v", d)
	}
}

// A rank whose sends have not ended blocks the others.
func TestTracesOfAHang(t *testing.T) {
	const ranks = 4
	var texts []string
	for rank := range ranks {
		text := ringTrace(rank, ranks, "none", 0)
		lines := strings.Split(text, "\n")
		for i := len(lines) - 1; rank == 2 && i > 0; i-- { // its last send begins and does not end
			if strings.Contains(lines[i], `"SendWait"`) && strings.Contains(lines[i], `"ph": "e"`) {
				lines[i] = lines[i][:strings.LastIndex(lines[i], `"ts"`)] + `"ts": 0.000000},`
				break
			}
		}
		texts = append(texts, strings.Join(lines, "\n"))
	}
	if d := diagnoseTraces(t, texts...); len(d.StoppedRanks) != 1 || d.StoppedRanks[0] != 2 || len(d.Culprits) == 0 || d.Culprits[0].Class != collective.Hang {
		t.Errorf("%+v", d)
	}
}

// Ranks without a file are missing, not stopped: how far they got is unknown. What waits for their data is not a hang
// either, as in a trace of one rank that ends after two of its steps.
func TestTracesOfSomeRanks(t *testing.T) {
	whole := ringTrace(3, 4, "", 0)
	cut := whole[:strings.Index(whole, `"args": {"Step": 2}`)]
	for name, texts := range map[string][]string{"one of four": {ringTrace(2, 4, "", 0)}, "two of four": {ringTrace(1, 4, "", 0), ringTrace(2, 4, "", 77)}, "cut off": {cut[:strings.LastIndex(cut, "\n")]}} {
		d := diagnoseTraces(t, texts...)
		if len(d.StoppedRanks) != 0 || len(d.MissingRanks) != 4-len(texts) || len(d.CriticalPath) == 0 {
			t.Errorf("%s: stopped %v, missing %v: %s", name, d.StoppedRanks, d.MissingRanks, d.Text)
		}
	}
}

func TestTracesRefuse(t *testing.T) {
	for want, text := range map[string]string{
		"not a list of trace events":   `{"header": {}}`,
		"a.json:2: ts":                 "[\n" + `{"ph": "b", "cat": "COLL", "ts": -5}]`,
		"a.json:1: \"nonsense\"":       `[nonsense`,
		"more than 65536 bytes":        `[{"name": "` + strings.Repeat("x", 70_000) + `"}]`,
		"of rank -1":                   `[{"name": "AllReduce", "cat": "COLL", "ph": "b", "ts": 1, "args": {"CommHash": 5, "Rank": -1}}]`,
		"send over channel -1 to peer": `[{"name": "AllReduce", "cat": "COLL", "ph": "b", "ts": 1, "args": {"CommHash": 5, "Rank": 1}},{"name": "Send", "cat": "PROXY", "ph": "b", "ts": 1, "args": {"Channel": -1}}]`,
	} {
		if _, err := nccl.ReadTrace("a.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
	empty, err := nccl.ReadTrace("a.json", []byte("[\n{}]"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nccl.Run([]*nccl.Trace{empty}); err == nil || !strings.Contains(err.Error(), "NCCL_PROFILE_EVENT_MASK") {
		t.Error(err)
	}
}

func FuzzReadTrace(f *testing.F) {
	f.Add([]byte(ringTrace(0, 3, "slow", 0)))
	f.Add([]byte(`{"traceEvents":[{"ph":"b","cat":"COLL","ts":1,"args":{"CommHash":1e400}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		trace, err := nccl.ReadTrace("f", data)
		if err != nil {
			return
		}
		if run, err := nccl.Run([]*nccl.Trace{trace}); err == nil {
			collective.Diagnose(run, collective.Options{})
		}
	})
}
