package nccl

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/collective"
)

// verbose is a record as the Inspector's documentation shows it.
const verbose = `{
  "header": {"id": "0xe62dedaa97644a", "rank": 4, "n_ranks": 8, "nnodes": 1},
  "metadata": {"inspector_output_format_version": "v4.0", "git_rev": "9019a1912-dirty", "rec_mechanism": "nccl_profiler_interface", "dump_timestamp_us": 1752867229276385, "hostname": "hostname", "pid": 438776},
  "coll_perf": {"coll": "ReduceScatter", "coll_sn": 1231, "coll_msg_size_bytes": 2147483648, "coll_exec_time_us": 41057, "coll_timing_source": "kernel_gpu", "coll_algobw_gbs": 418.439467, "coll_busbw_gbs": 366.134533,
    "event_trace_sn": {"coll_start_sn": 1, "coll_stop_sn": 2, "kernel_events": [{"channel_id": 0, "kernel_start_sn": 3, "kernel_stop_sn": 48, "kernel_record_sn": 47}]},
    "event_trace_ts": {"coll_start_ts": 1752867229235059, "coll_stop_ts": 1752867229235064, "kernel_events": [{"channel_id": 0, "kernel_start_ts": 1752867229235181, "kernel_stop_ts": 1752867229275811, "kernel_record_ts": 1752867229275811}]}}}
{"header": {"id": "0xe62dedaa97644a", "rank": 4, "n_ranks": 8}, "metadata": {}, "dump_stats": {"coll_records": 1}}`

func TestTheDocumentedRecord(t *testing.T) {
	calls, err := Read("a.log", []byte(verbose), nil)
	want := Call{Communicator: "0xe62dedaa97644a", Rank: 4, Ranks: 8, Process: Process{"hostname", 438776}, Operation: "ReduceScatter", Sequence: 1231,
		ExecNanos: 41_057_000, BeginNanos: 1752867229235181000, EndNanos: 1752867229275811000}
	if err != nil || len(calls) != 1 || calls[0] != want {
		t.Errorf("%+v, %v, want %+v", calls, err, want)
	}
}

// job is n ranks in one communicator; exec is each one's time in ms, 0 for no record.
func lines(n, collectives int, exec func(rank, sequence int) int) string {
	var b strings.Builder
	for s := range collectives {
		for r := range n {
			if ms := exec(r, s); ms > 0 {
				fmt.Fprintf(&b, `{"header":{"id":"0x1","rank":%d,"n_ranks":%d},"metadata":{"hostname":"h%d","pid":7},"coll_perf":{"coll":"AllReduce","coll_sn":%d,"coll_msg_size_bytes":8,"coll_exec_time_us":%d000}}`+"\n", r, n, r, s, ms)
			}
		}
	}
	return b.String()
}

func diagnose(t *testing.T, text string) collective.Diagnosis {
	t.Helper()
	calls, err := Read("a.log", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Diagnose(calls)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestTheRankThatComesLast(t *testing.T) {
	d := diagnose(t, lines(4, 10, func(r, s int) int { return map[bool]int{true: 20, false: 50}[r == 2 && s%3 > 0] }))
	if !slices.Equal(d.LateRanks, []int{2}) || len(d.Culprits) != 1 || d.Culprits[0].Class != collective.Straggler || d.Culprits[0].CostNanos != 6*30_000_000 {
		t.Errorf("%+v, want rank 2 late, 180 ms", d)
	}
}

func TestRanksThatStoppedOrAreMissing(t *testing.T) {
	d := diagnose(t, lines(5, 10, func(r, s int) int {
		if r == 4 || r == 3 && s > 6 {
			return 0
		}
		return 50
	}))
	if !slices.Equal(d.StoppedRanks, []int{3}) || !slices.Equal(d.MissingRanks, []int{4}) || len(d.LateRanks) > 0 || !strings.HasSuffix(d.Text, "; no records of rank 4") {
		t.Errorf("%+v, want rank 3 stopped and 4 missing", d)
	}
}

// If records name very many ranks, each in its own collective or all in one, the work is linear in the records.
func TestRecordsOfVeryManyRanks(t *testing.T) {
	const records = 30_000
	for name, sequence := range map[string]func(i int) int64{"a collective each": func(i int) int64 { return int64(i) }, "one collective": func(int) int64 { return 7 }} {
		var calls []Call
		for i := range records {
			calls = append(calls, Call{Communicator: "a", Rank: i, Ranks: records, Process: Process{Host: "h", PID: int64(i)}, Operation: "AllReduce", Sequence: sequence(i)})
		}
		d, err := Diagnose(calls)
		if err != nil || d.Ranks != records || len(d.MissingRanks) != 0 {
			t.Errorf("%s: %d ranks, %d missing, %v", name, d.Ranks, len(d.MissingRanks), err)
		}
		if want := map[bool]int{true: records - 2}[name == "a collective each"]; len(d.StoppedRanks) != want || len(d.Culprits) != want {
			t.Errorf("%s: %d stopped, %d culprits, want %d", name, len(d.StoppedRanks), len(d.Culprits), want)
		}
	}
}

func TestHealthyAndDoubled(t *testing.T) {
	text := lines(4, 10, func(r, s int) int { return 50 + r })
	if d := diagnose(t, text+text); len(d.Culprits)+len(d.LateRanks)+len(d.StoppedRanks) > 0 || len(d.Notes) != 1 {
		t.Errorf("%+v, want no rank, and doubles", d)
	}
	mixed := text + strings.Replace(lines(4, 1, func(r, s int) int { return map[bool]int{true: 50}[r == 3] }), `"coll_sn":0`, `"coll_sn":11`, 1) +
		strings.Replace(strings.Replace(lines(4, 1, func(r, s int) int { return map[bool]int{true: 50}[r == 1] }), `"coll_sn":0`, `"coll_sn":11`, 1), "AllReduce", "Broadcast", 1)
	if d := diagnose(t, mixed); len(d.Disagreement) != 1 || !strings.Contains(d.Text, "Broadcast") {
		t.Errorf("%+v, want a disagreement", d)
	}
}

func TestBadRecords(t *testing.T) {
	good := lines(1, 2, func(r, s int) int { return 1 })
	for text, want := range map[string]string{
		good + `{"header":`:                          "a.log:3: ",
		good + "{}":                                  "no header",
		`{"header":{"rank":4,"n_ranks":2}}`:          "rank 4 of 2",
		`{"header":{"rank":0,"n_ranks":2000000000}}`: "rank 0 of",
		`{"header":{"n_ranks":1},"coll_perf":{"coll_exec_time_us":-1}}`: "coll_exec_time_us",
		"text": "a.log:1: ",
	} {
		if _, err := Read("a.log", []byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
	if _, err := Diagnose(nil); err == nil {
		t.Error("nothing was diagnosed")
	}
}

// TestCutFile: from a truncated file the complete records are read, and the error says where it ends.
func TestCutFile(t *testing.T) {
	text := lines(1, 3, func(r, s int) int { return 1 })
	calls, err := Read("a.log", []byte(text[:len(text)-40]), nil)
	var cut *CutError
	if !errors.As(err, &cut) || cut.Line != 3 || len(calls) != 2 {
		t.Errorf("%d calls, error %v", len(calls), err)
	}
}

// The network steps of a ring are its chunk steps in order, loop by loop: 2(n-1) for an
// all-reduce, n-1 for an all-gather or reduce-scatter, of two slices each where NCCL's
// step numbers advance by two. Each chunk step awaits the one before it from the ring's
// predecessor, in the same slice.
func TestStepsOfARing(t *testing.T) {
	const ranks = 4
	numbered := func(n, by int) (list []TracedStep) {
		for i := range n {
			list = append(list, TracedStep{Step: i * by, BeginNanos: int64(100 * (i + 1)), EndNanos: int64(100*(i+1) + 50)})
		}
		return list
	}
	for _, c := range []struct {
		name, operation, algorithm string
		steps                      []TracedStep
		want                       string // step/chunk<awaited step of each network step
	}{
		{"all-reduce, two loops", "AllReduce", "RING", numbered(12, 1), "1/0<- 2/0<1 3/0<2 4/0<3 5/0<4 6/0<5 1/1<- 2/1<1 3/1<2 4/1<3 5/1<4 6/1<5"},
		{"all-gather", "AllGather", "RING", numbered(3, 1), "1/0<- 2/0<1 3/0<2"},
		{"reduce-scatter in slices, two loops", "ReduceScatter", "RING", numbered(12, 2), "1/0<- 1/1<- 2/0<1 2/1<1 3/0<2 3/1<2 1/2<- 1/3<- 2/2<1 2/3<1 3/2<2 3/3<2"},
		{"not a whole number of sliced chunks", "AllGather", "RING", numbered(3, 2), "1/0<- 2/0<1 3/0<2"},
		{"broadcast", "Broadcast", "RING", numbered(3, 2), "1/0<- 2/0<- 3/0<-"},
		{"a tree", "AllReduce", "TREE", numbered(3, 1), "1/0<- 2/0<- 3/0<-"},
		{"network steps not profiled", "AllGather", "RING", nil, "1/0<-"},
		{"the last never sent", "AllGather", "RING", append(numbered(2, 1), TracedStep{Step: 2}), "1/0<- 2/0<1"},
	} {
		var traces []*Trace
		for rank := range ranks {
			send := TracedSend{Channel: 1, Peer: (rank + 1) % ranks, Bytes: 1200, BeginNanos: 100, EndNanos: 200, Steps: slices.Clone(c.steps)}
			slices.Reverse(send.Steps) // the order of the file does not matter
			traces = append(traces, &Trace{PID: int64(rank), Collectives: []TracedCollective{{Communicator: "w", Rank: rank, Operation: c.operation, Algorithm: c.algorithm, Sends: []TracedSend{send}}}})
		}
		run, err := Run(traces)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]string, ranks)
		for _, s := range run.Steps {
			awaits := "-"
			if s.AwaitsStep != collective.None {
				awaits = fmt.Sprint(s.AwaitsStep)
				if s.AwaitsRank != (s.Rank+ranks-1)%ranks {
					t.Errorf("%s: rank %d awaits rank %d, want its predecessor", c.name, s.Rank, s.AwaitsRank)
				}
			}
			if s.Peer != (s.Rank+1)%ranks || s.Channel != 1 || s.Bytes != 1200/int64(max(len(c.steps), 1)) {
				t.Errorf("%s: %+v", c.name, s)
			}
			got[s.Rank] += fmt.Sprintf(" %d/%d<%s", s.Step, s.Chunk, awaits)
		}
		for rank := range got {
			if got[rank] != " "+c.want {
				t.Errorf("%s: rank %d:%s, want %s", c.name, rank, got[rank], c.want)
			}
		}
		if noted := strings.Contains(strings.Join(run.Notes, "\n"), "it is not known what its sends wait for"); noted != (c.operation == "Broadcast" || c.algorithm == "TREE") {
			t.Errorf("%s: notes %q", c.name, run.Notes)
		}
	}
}

// A rank is late if the others waited for it by more than 1 ms and a tenth of the
// collective's time, in half of the collectives or more.
func TestHowLateIsLate(t *testing.T) {
	for _, c := range []struct {
		name   string
		usual  int // ms of the others
		last   int // ms of the rank that comes last
		late   int // in how many collectives
		of     int
		want   bool
		nanos  int64
		reason string
	}{
		{"by 11%", 100, 89, 4, 4, true, 4 * 11e6, "in 4 of 4 collectives the others waited for it"},
		{"by 9%", 100, 91, 4, 4, false, 0, ""},
		{"by 2 of 8 ms", 8, 6, 4, 4, true, 4 * 2e6, "in 4 of 4"},
		{"by 1 of 4 ms", 4, 3, 4, 4, false, 0, ""},
		{"in half", 100, 50, 2, 4, true, 2 * 50e6, "in 2 of 4"},
		{"in less than half", 100, 50, 2, 5, false, 0, ""},
	} {
		d := diagnose(t, lines(4, c.of, func(r, s int) int {
			if r == 2 && s < c.late {
				return c.last
			}
			return c.usual
		}))
		if got := slices.Equal(d.LateRanks, []int{2}); got != c.want || len(d.LateRanks) > 1 || len(d.Culprits) != len(d.LateRanks) {
			t.Errorf("%s: %+v, want late %t", c.name, d, c.want)
		} else if got && (d.Culprits[0].CostNanos != c.nanos || d.Culprits[0].Object != "rank 2" || !strings.Contains(d.Text, c.reason)) {
			t.Errorf("%s: %+v, want %d ns, %s", c.name, d.Culprits[0], c.nanos, c.reason)
		}
	}
}

// A rank has stopped if it is behind by two collectives or more: the last may be running.
func TestHowFarBehindIsStopped(t *testing.T) {
	for behind, stopped := range []bool{false, false, true, true} {
		d := diagnose(t, lines(4, 10, func(r, s int) int { return map[bool]int{false: 50}[r == 1 && s >= 10-behind] }))
		if slices.Equal(d.StoppedRanks, []int{1}) != stopped || len(d.Culprits) != len(d.StoppedRanks) {
			t.Errorf("%d behind: %+v, want stopped %t", behind, d, stopped)
		}
	}
}

// How far a rank with a truncated file got is unknown: it has not stopped for that.
func TestATruncatedFileIsNoHang(t *testing.T) {
	of := func(rank int) string {
		return lines(4, 10, func(r, s int) int { return map[bool]int{true: 50}[r == rank] })
	}
	var calls []Call
	for rank := range 4 {
		text := of(rank)
		if rank == 2 {
			text = text[:len(text)/2+20]
		}
		var err error
		if calls, err = Read("a.log", []byte(text), calls); err != nil && rank != 2 {
			t.Fatal(err)
		}
	}
	if d, err := Diagnose(calls); err != nil || len(d.StoppedRanks) > 0 || len(d.Culprits) > 0 {
		t.Errorf("%+v, %v", d, err)
	}
	calls, err := Read("b.log", []byte(`{"header":{"id":"0x1","rank":3,"n_ranks":4}} {"header"`), calls[:4])
	if err == nil || slices.ContainsFunc(calls, func(c Call) bool { return c.Cut }) {
		t.Errorf("a file without collectives: %v, marks another's: %+v", err, calls)
	}
}

// A collective begins with its first kernel and ends with its last.
func TestKernelsInAnyOrder(t *testing.T) {
	text := strings.Replace(verbose, `{"channel_id": 0, "kernel_start_ts": 1752867229235181, "kernel_stop_ts": 1752867229275811`,
		`{"channel_id": 1, "kernel_start_ts": 1752867229235182, "kernel_stop_ts": 1752867229275812}, {"channel_id": 0, "kernel_start_ts": 1752867229235181, "kernel_stop_ts": 1752867229275811`, 1)
	calls, err := Read("a.log", []byte(text), nil)
	if err != nil || len(calls) != 1 || calls[0].BeginNanos != 1752867229235181000 || calls[0].EndNanos != 1752867229275812000 {
		t.Errorf("%+v, %v", calls, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(verbose))
	f.Add([]byte(lines(3, 3, func(r, s int) int { return 1 + r })))
	f.Fuzz(func(t *testing.T, data []byte) {
		calls, err := Read("a", data, nil)
		if err != nil || len(calls) == 0 {
			return
		}
		if d, err := Diagnose(calls); err != nil || d.Text == "" {
			t.Errorf("%+v, %v", d, err)
		}
	})
}
