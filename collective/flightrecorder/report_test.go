package flightrecorder

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const ms = int64(1_000_000)

// job makes the dumps of n ranks in one group that enqueue the same collectives, 100 ms
// apart and completed except the last; change may alter an entry or drop it.
func job(t *testing.T, n, collectives int, change func(rank int, e *Entry) bool) []*Dump {
	t.Helper()
	var dumps []*Dump
	for r := range n {
		var entries []string
		enqueued, completed := -1, -1
		for seq := range collectives {
			e := Entry{RecordID: int64(seq), Seq: int64(seq), Op: "nccl:all_reduce", Inputs: Tensors{Sizes: "[[1024]]"}, Outputs: Tensors{Sizes: "[[1024]]"}, State: Completed, CreatedNanos: int64(seq)*100*ms + int64(r)*1000}
			if seq == collectives-1 {
				e.State = Started
			}
			if change != nil && !change(r, &e) {
				continue
			}
			enqueued = seq
			if e.State == Completed {
				completed = seq
			}
			entries = append(entries, fmt.Sprintf(`{"record_id":%d,"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":%d,"p2p_seq_id":%d,"profiling_name":%q,"time_created_ns":%d,"time_discovered_completed_ns":%d,"input_sizes":%s,"input_dtypes":["Float"],"output_sizes":%s,"output_dtypes":["Float"],"state":%q,"is_p2p":%v}`,
				e.RecordID, e.Seq, e.P2PSeq, e.Op, e.CreatedNanos, e.CompletedNanos, e.Inputs.Sizes, e.Outputs.Sizes, []string{"scheduled", "started", "completed"}[e.State], e.P2P))
		}
		ranks := strings.ReplaceAll(fmt.Sprint(upTo(n)), " ", ", ")
		data := fmt.Sprintf(`{"version":"2.9","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":%q}},"pg_status":{"0":{"last_enqueued_collective":%d,"last_started_collective":-1,"last_completed_collective":%d}},"entries":[%s]}`,
			ranks, enqueued, completed, strings.Join(entries, ","))
		d, err := Parse(fmt.Sprintf("trace_%d.json", r), []byte(data))
		if err != nil {
			t.Fatal(err)
		}
		dumps = append(dumps, d)
	}
	return dumps
}

func upTo(n int) (ranks []int) {
	for r := range n {
		ranks = append(ranks, r)
	}
	return ranks
}

func analyse(t *testing.T, dumps []*Dump) Report {
	t.Helper()
	report, err := reportOf(dumps)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestARankThatDoesNotEnqueue(t *testing.T) {
	report := analyse(t, job(t, 8, 6, func(r int, e *Entry) bool { return r != 5 || e.Seq < 5 }))
	if !slices.Equal(report.Stopped, []int{5}) || !report.Hung || len(report.Waits) != 7 {
		t.Errorf("%+v, want rank 5 stopped and 7 waits", report)
	}
}

func TestARankWithoutDumpThatAllWaitFor(t *testing.T) {
	dumps := job(t, 8, 6, nil)
	report := analyse(t, slices.Delete(dumps, 3, 4))
	if !slices.Equal(report.Stopped, []int{3}) || !slices.Equal(report.Missing, []int{3}) {
		t.Errorf("%+v, want rank 3 missing and stopped", report)
	}
}

// With one dump of sixteen, or half of them, no rank is accused.
func TestFewDumpsAccuseNobody(t *testing.T) {
	for _, n := range []int{1, 8} {
		report := analyse(t, job(t, 16, 6, nil)[:n])
		d, err := Diagnose(job(t, 16, 6, nil)[:n])
		if err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("of %s of 16 ranks %s read: which rank stopped cannot be determined", rankList(upTo(n)), map[bool]string{true: "was", false: "were"}[n == 1])
		if len(report.Stopped) > 0 || !report.Hung || len(report.Missing) != 16-n || !strings.Contains(report.Text(), want) || !strings.Contains(report.Text(), "rank 0 is in nccl:all_reduce 5 of group 0") {
			t.Errorf("%d dumps: %+v %q, want nobody accused", n, report, report.Text())
		}
		if len(d.Culprits) != 1 || d.Culprits[0].Object != "group 0 default_pg" || !strings.Contains(d.Culprits[0].Evidence, want) {
			t.Errorf("%d dumps: culprits %+v, want the group alone", n, d.Culprits)
		}
	}
	idle := analyse(t, job(t, 16, 6, func(_ int, e *Entry) bool { e.State = Completed; return true })[3:4])
	if text := idle.Text(); idle.Hung || !strings.Contains(text, "only the dump of rank 3 of 16 ranks was read") || strings.Contains(text, "no hang") {
		t.Errorf("%q, want what one dump tells", text)
	}
}

func TestNobodyWaits(t *testing.T) {
	report := analyse(t, job(t, 4, 6, func(_ int, e *Entry) bool { e.State = Completed; return true }))
	if report.Hung || len(report.Stopped)+len(report.Late)+len(report.Skews) > 0 || report.Text() != "no rank waits: no hang" {
		t.Errorf("%+v %q, want no hang", report, report.Text())
	}
}

func TestAnOperationThatAllAreIn(t *testing.T) {
	report := analyse(t, job(t, 4, 6, nil))
	if !report.Hung || len(report.Stopped) > 0 || !strings.Contains(report.Text(), "do not complete") {
		t.Errorf("%+v %q, want a hang without a rank to blame", report, report.Text())
	}
}

func TestAKernelThatDoesNotStart(t *testing.T) {
	report := analyse(t, job(t, 4, 6, func(r int, e *Entry) bool {
		if r == 2 && e.Seq >= 4 {
			e.State = Scheduled
		}
		return true
	}))
	if !slices.Equal(report.Stopped, []int{2}) {
		t.Errorf("%+v, want rank 2, whose peers completed what it did not", report)
	}
}

func TestADisagreement(t *testing.T) {
	report := analyse(t, job(t, 4, 6, func(r int, e *Entry) bool {
		if r == 1 && e.Seq == 5 {
			e.Op = "nccl:broadcast"
		}
		return true
	}))
	if len(report.Disagreements) != 1 || !slices.Equal(report.Disagreements[0].Ranks, []int{1}) || report.Disagreements[0].Seq != 5 ||
		!strings.Contains(report.Text(), "rank 1 disagrees on") {
		t.Errorf("%+v %q, want rank 1 named", report, report.Text())
	}
	report = analyse(t, job(t, 4, 6, func(r int, e *Entry) bool {
		if r == 3 && e.Seq == 5 {
			e.Inputs.Sizes = "[[2048]]"
		}
		return true
	}))
	if len(report.Disagreements) != 1 || !slices.Equal(report.Disagreements[0].Ranks, []int{3}) {
		t.Errorf("%+v, want rank 3 named for its size", report)
	}
}

// Sizes are compared where they must be the same on all ranks, and nowhere else.
func TestSizesThatDisagree(t *testing.T) {
	for _, c := range []struct {
		op              string
		inputs, outputs bool // that rank 2 differs in them is a disagreement
	}{
		{"nccl:all_gather", true, true}, {"nccl:_all_gather_base", true, true}, {"nccl:all_gather_into_tensor_coalesced", true, true},
		{"nccl:reduce_scatter", true, true}, {"nccl:_reduce_scatter_base", true, true}, {"nccl:all_reduce", true, true}, {"nccl:broadcast", true, true}, {"nccl:reduce", true, true},
		{"nccl:gather", true, false}, {"nccl:scatter", false, true}, {"nccl:all_to_all", false, false}, {"nccl:_broadcast_oop", false, false}, {"nccl:_reduce_oop", false, false},
	} {
		for _, inputs := range []bool{true, false} {
			report := analyse(t, job(t, 4, 6, func(r int, e *Entry) bool {
				e.Op, e.Outputs.Sizes = c.op, "[[4096]]"
				if r == 2 && e.Seq == 5 && inputs {
					e.Inputs.Sizes = "[[512]]"
				} else if r == 2 && e.Seq == 5 {
					e.Outputs.Sizes = "[[2048]]"
				}
				return true
			}))
			want := inputs && c.inputs || !inputs && c.outputs
			if len(report.Disagreements) > 0 != want || want && !slices.Equal(report.Disagreements[0].Ranks, []int{2}) {
				t.Errorf("%s, inputs %v: %+v, want rank 2 named: %v", c.op, inputs, report.Disagreements, want)
			}
		}
	}
}

func TestAPipelineStageThatStops(t *testing.T) {
	report := analyse(t, job(t, 3, 2, func(r int, e *Entry) bool {
		e.P2P, e.P2PSeq = true, e.Seq
		if e.Seq == 1 {
			e.Op = []string{"nccl:send 0->1", "nccl:send 1->2", ""}[r]
		} else {
			e.Op = []string{"nccl:send 0->1", "nccl:recv 1<-0", "nccl:recv 2<-1"}[r]
		}
		return e.Op != ""
	}))
	if !slices.Equal(report.Stopped, []int{2}) {
		t.Errorf("%+v, want rank 2, which rank 1 sends to", report)
	}
}

func TestAStragglerAndClocksOffByHours(t *testing.T) {
	const hours = 5 * 3600 * 1000 * ms
	report := analyse(t, job(t, 4, 12, func(r int, e *Entry) bool {
		e.State = Completed
		if r == 2 && e.Seq%3 > 0 {
			e.CreatedNanos += 40 * ms
		}
		if r == 1 {
			e.CreatedNanos += hours
		}
		return true
	}))
	if report.Hung || !slices.Equal(report.Late, []int{2}) || len(report.Skews) != 1 || report.Skews[0].Rank != 1 {
		t.Errorf("%+v, want rank 2 late and rank 1's clock ahead", report)
	}
	if off := report.Skews[0].Nanos - hours; off < -ms || off > ms {
		t.Errorf("clock ahead by %d, want %d", report.Skews[0].Nanos, hours)
	}
}

// If all ranks complete together, a rank that always enqueues late by the same time is
// late, not a wrong clock.
func TestCompletionsShowTheClock(t *testing.T) {
	for name, c := range map[string]struct {
		late, ahead int64
		want        []int
	}{"late": {50 * ms, 0, []int{2}}, "a clock": {0, 50 * ms, nil}, "both": {50 * ms, 3600 * 1000 * ms, []int{2}}} {
		report := analyse(t, job(t, 4, 12, func(r int, e *Entry) bool {
			e.State, e.CompletedNanos = Completed, e.CreatedNanos+90*ms
			if r == 2 {
				e.CreatedNanos, e.CompletedNanos = e.CreatedNanos+c.late+c.ahead, e.CompletedNanos+c.ahead
			}
			return true
		}))
		if !slices.Equal(report.Late, c.want) || len(report.Skews) > 0 != (c.ahead > 0) {
			t.Errorf("%s: late %v, clocks %v", name, report.Late, report.Skews)
		}
	}
}

// If the ranks are split evenly on what they enqueued, both halves are named.
func TestADisagreementWithoutAMajority(t *testing.T) {
	report := analyse(t, job(t, 4, 6, func(r int, e *Entry) bool {
		if r < 2 && e.Seq == 5 {
			e.Op = "nccl:broadcast"
		}
		return true
	}))
	if want := "ranks 0, 1 enqueued broadcast"; !strings.Contains(report.Text(), want) || !strings.Contains(report.Text(), "ranks 2, 3 enqueued all_reduce") {
		t.Errorf("%q, want %q and the others", report.Text(), want)
	}
}

func TestDoubledDumpsAndRecords(t *testing.T) {
	dumps := job(t, 4, 6, func(r int, e *Entry) bool { return r != 1 || e.Seq < 5 })
	again := job(t, 4, 3, nil)
	report := analyse(t, append(dumps, again...))
	if !slices.Equal(report.Stopped, []int{1}) || len(report.Notes) != 4 {
		t.Errorf("%+v, want rank 1 stopped and 4 notes", report)
	}
	if _, err := reportOf(nil); err == nil {
		t.Error("no dumps at all gave no error")
	}
}

func TestRankOf(t *testing.T) {
	for name, want := range map[string]int{"_dump_12": 12, "a/nccl_trace_rank_3": 3, "trace_7.json": 7, "fr_0.pickle": 0, "fault_injection.log": -1, "": -1, "dump_99999999": -1} {
		if got, ok := RankOf(name); ok != (want >= 0) || ok && got != want {
			t.Errorf("RankOf(%q) = %d, %v, want %d", name, got, ok, want)
		}
	}
}

// An unreadable dump is refused and named; the others are diagnosed without it.
func TestDumpThatCannotBeRead(t *testing.T) {
	stopped := func(rank int, e *Entry) bool { return rank != 2 || e.Seq < 3 }
	whole := job(t, 6, 5, stopped)
	entry := func(fields string) string { return `{"version":"2.9","entries":[{` + fields + `}]}` }
	for name, data := range map[string]string{"trace_4.json": `{"version":"2.9","entries":[`, "dump_4": "", "x_4": "\x80\x02}",
		"calls_4": "\x80\x02cos\nsystem\n.", "zip_4": "PK\x03\x04", "text_4": "see the log", "list_4.json": `{"rank":4}`, "deep_4.json": strings.Repeat(`{"a":`, 20_000),
		"seq_4.json": entry(`"collective_seq_id":9223372036854775807`), "record_4.json": entry(`"record_id":-9223372036854775808`), "time_4.json": entry(`"time_created_ns":-5`),
		"late_4.json": entry(`"time_created_ns":9223372036854775807`), "status_4.json": `{"entries":[],"pg_status":{"0":{"last_enqueued_collective":9223372036854775807}}}`,
		"ranks_4.json": `{"entries":[],"pg_config":{"0":{"ranks":"[0, 99999999999]"}}}`, "state_4.json": entry(`"state":"lost"`)} {
		_, err := Parse(name, []byte(data))
		dump, noRank := Unread(name, err)
		if err == nil || noRank != nil || !strings.Contains(err.Error(), "; write the dump of this rank again") {
			t.Fatalf("%s: %v, %v; want a dump that cannot be read, and what to do", name, err, noRank)
		}
		report := analyse(t, append(slices.Delete(slices.Clone(whole), 4, 5), dump))
		if !slices.Equal(report.Missing, []int{4}) || !slices.Equal(report.Stopped, []int{2}) || !strings.Contains(strings.Join(report.Notes, "\n"), name+": ") {
			t.Errorf("%s: missing %v, stopped %v, notes %q; want rank 4 missing, and 2 stopped", name, report.Missing, report.Stopped, report.Notes)
		}
		if _, err := reportOf([]*Dump{dump}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s alone: %v, want an error that names it", name, err)
		}
	}
	report := analyse(t, append(slices.Clone(whole), &Dump{Rank: 4, unread: ErrCut}))
	if len(report.Missing) > 0 || !strings.Contains(strings.Join(report.Notes, "\n"), "the other dump of rank 4 is used") {
		t.Errorf("missing %v, notes %q; want the dump of rank 4 that can be read to count", report.Missing, report.Notes)
	}
	if _, err := Unread("dump", ErrCut); err == nil {
		t.Error("a file without a rank in its name stands for a rank")
	}
}

// If pg_status contradicts the entries about a completed collective, the entries count.
func TestStatusAgainstEntries(t *testing.T) {
	dumps := job(t, 4, 5, nil)
	for _, d := range dumps {
		for id, s := range d.Status {
			s.Completed = 4
			d.Status[id] = s
		}
	}
	report := analyse(t, dumps)
	if len(report.Stopped) > 0 || !report.Hung || len(report.Notes) == 0 {
		t.Errorf("stopped %v, hung %v, notes %q; want nobody accused of a hang, and a note", report.Stopped, report.Hung, report.Notes)
	}
}

// A hang begins when the first rank enqueued what it waits in; a finished job with its first entry.
func TestBeginOfAHang(t *testing.T) {
	hung, err1 := Diagnose(job(t, 4, 3, func(rank int, e *Entry) bool { return rank != 0 || e.Seq < 2 }))
	through, err2 := Diagnose(job(t, 4, 3, func(rank int, e *Entry) bool {
		e.State = Completed
		e.CreatedNanos += ms
		return true
	}))
	if err1 != nil || err2 != nil || hung.FirstNanos != 200*ms+1000 || through.FirstNanos != ms {
		t.Errorf("hung since %d, %v; through since %d, %v", hung.FirstNanos, err1, through.FirstNanos, err2)
	}
}
