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
	if !slices.Equal(d.StoppedRanks, []int{3}) || !slices.Equal(d.MissingRanks, []int{4}) || len(d.LateRanks) > 0 {
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
