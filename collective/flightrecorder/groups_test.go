package flightrecorder

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// written is one rank's dump as JSON: its groups as "name desc ranks", its operations
// as "group seq name state", and whether it has pg_config and pg_status.
type written struct {
	groups, ops    []string
	config, status bool
	from           int // record number of the first operation
}

func (w written) dump(t *testing.T, rank int) *Dump {
	t.Helper()
	var config, status, entries []string
	ids := map[string]int{}
	desc := map[string]string{}
	for i, g := range w.groups {
		f := strings.SplitN(g, " ", 3)
		ids[f[0]], desc[f[0]] = i, f[1]
		config = append(config, fmt.Sprintf(`%q:{"name":%q,"desc":%q,"ranks":%q}`, f[0], f[0], f[1], f[2]))
	}
	enqueued, completed := map[string]int{}, map[string]int{}
	for i, op := range w.ops {
		var group, name, state string
		var seq int
		if _, err := fmt.Sscanf(op, "%s %d %s %s", &group, &seq, &name, &state); err != nil {
			t.Fatalf("operation %q: %v", op, err)
		}
		entries = append(entries, fmt.Sprintf(`{"record_id":%d,"pg_id":%d,"process_group":[%q,%q],"collective_seq_id":%d,"profiling_name":"nccl:%s","time_created_ns":%d,"input_sizes":[[8]],"input_dtypes":["Float"],"state":%q,"is_p2p":false}`,
			w.from+i, ids[group], group, desc[group], seq, name, 1000*(i+1), state))
		enqueued[group] = seq
		if state == "completed" {
			completed[group] = seq
		}
	}
	for group, seq := range enqueued {
		status = append(status, fmt.Sprintf(`"%d":{"last_enqueued_collective":%d,"last_started_collective":-1,"last_completed_collective":%d}`, ids[group], seq, completed[group]))
	}
	parts := []string{`"version":"2.9"`}
	if w.config {
		parts = append(parts, `"pg_config":{`+strings.Join(config, ",")+`}`)
	}
	if w.status {
		parts = append(parts, `"pg_status":{`+strings.Join(status, ",")+`}`)
	}
	if len(entries) > 0 {
		parts = append(parts, `"entries":[`+strings.Join(entries, ",")+`]`)
	}
	d, err := Parse(fmt.Sprintf("_dump_%d", rank), []byte("{"+strings.Join(parts, ",")+"}"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// jobOf makes a dump for each of the ranks' operations.
func jobOf(t *testing.T, w written, ops ...[]string) (dumps []*Dump) {
	t.Helper()
	for r, o := range ops {
		w.ops = o
		dumps = append(dumps, w.dump(t, r))
	}
	return dumps
}

func TestARankWithNothingInTheGroupIsBehind(t *testing.T) {
	for name, c := range map[string]struct {
		written
		ahead []string // what ranks 0 and 2 did; rank 1 lacks the last
	}{
		"with pg_status": {written{groups: []string{"w default_pg [0, 1, 2]"}, config: true, status: true}, []string{"w 1 all_reduce started"}},
		"without pg_status": {written{groups: []string{"w default_pg [0, 1, 2]", "x OTHER [0, 1, 2]"}, config: true},
			[]string{"x 1 barrier completed", "w 1 all_reduce started"}},
	} {
		report := analyse(t, jobOf(t, c.written, c.ahead, c.ahead[:len(c.ahead)-1], c.ahead))
		if !slices.Equal(report.Stopped, []int{1}) || len(report.Waits) != 2 {
			t.Errorf("%s: %+v, want rank 1 stopped", name, report)
		}
	}
}

func TestTheRootOfAChainOverTwoGroups(t *testing.T) {
	w := written{groups: []string{"w default_pg [0, 1, 2, 3]", "s STAGE [2, 3]"}, config: true, status: true}
	ahead := []string{"w 1 barrier completed", "w 2 all_reduce scheduled"}
	report := analyse(t, jobOf(t, w, ahead, ahead, []string{"w 1 barrier completed", "s 1 all_gather started"}, []string{"w 1 barrier completed"}))
	if !slices.Equal(report.Stopped, []int{3}) || len(report.Waits) != 3 {
		t.Errorf("%+v, want rank 3: rank 2 waits for it, and the others for rank 2", report)
	}
}

func TestTwoGroupsThatHangApart(t *testing.T) {
	w := written{config: true, status: true}
	var dumps []*Dump
	for r := range 6 {
		w.groups = []string{"w default_pg [0, 1, 2, 3, 4, 5]", []string{"a DP [0, 1, 2]", "b DP [3, 4, 5]"}[r/3]}
		w.ops = []string{"w 1 barrier completed", []string{"a", "b"}[r/3] + " 1 all_reduce started"}
		if r == 1 || r == 5 {
			w.ops = w.ops[:1]
		}
		dumps = append(dumps, w.dump(t, r))
	}
	if report := analyse(t, dumps); !slices.Equal(report.Stopped, []int{1, 5}) {
		t.Errorf("%+v, want ranks 1 and 5", report)
	}
}

func TestAFullBufferSaysNothingOfAnOlderGroup(t *testing.T) {
	w := written{groups: []string{"w default_pg [0, 1]", "a DP [0, 1]"}, config: true, from: 2000}
	report := analyse(t, jobOf(t, w, []string{"w 1 barrier completed", "a 1 all_reduce started"}, []string{"w 1 barrier completed"}))
	if len(report.Stopped) > 0 {
		t.Errorf("%+v: rank 1's entry of group a may have left the buffer", report)
	}
}

func TestGroupsWithoutConfigAreThoseOfTheEntries(t *testing.T) {
	ops := []string{"w 1 all_reduce completed", "w 2 all_reduce started"}
	for _, status := range []bool{false, true} {
		w := written{groups: []string{"w default_pg [0, 1, 2]"}, status: status}
		report := analyse(t, jobOf(t, w, ops, ops, ops[:1]))
		if !slices.Equal(report.Stopped, []int{2}) || len(report.Missing) > 0 || len(report.Notes) != 1 {
			t.Errorf("%+v, want rank 2 behind and a note", report)
		}
		w.groups = []string{"w MODEL [0, 1, 2]"}
		report = analyse(t, jobOf(t, w, ops, ops[:1], ops, []string{"x 1 barrier completed"}))
		if !slices.Equal(report.Stopped, []int{1}) {
			t.Errorf("%+v, want rank 1; rank 3 has no entry in the group", report)
		}
	}
}

func TestCoalescedOperationsDoNotDisagree(t *testing.T) {
	w := written{groups: []string{"w default_pg [0, 1, 2]"}, config: true, status: true}
	for _, closing := range []string{"coalesced", "REDUCE_SCATTER_coalesced"} {
		ops := []string{"w 1 barrier completed", "w 2 reduce_scatter started", "w 2 reduce_scatter started", "w 2 " + closing + " started"}
		report := analyse(t, jobOf(t, w, ops, ops, ops[:1]))
		if len(report.Disagreements) > 0 || !slices.Equal(report.Stopped, []int{2}) {
			t.Errorf("%s: %+v, want rank 2 stopped and no disagreement", closing, report)
		}
		other := []string{"w 1 barrier completed", "w 2 all_reduce started"}
		report = analyse(t, jobOf(t, w, ops, other, ops))
		if len(report.Disagreements) != 1 || !slices.Equal(report.Disagreements[0].Ranks, []int{1}) {
			t.Errorf("%s: %+v, want rank 1 to disagree", closing, report)
		}
	}
}

func TestAnInvertedOrderIsACycle(t *testing.T) {
	w := written{groups: []string{"w default_pg [0, 1, 2]", "a A [0, 1]", "b B [0, 1]"}, config: true, status: true}
	for name, more := range map[string][2][]string{
		"first only":    {},
		"both enqueued": {{"b 1 all_reduce scheduled"}, {"a 1 all_reduce scheduled"}},
	} {
		dumps := jobOf(t, w, append([]string{"w 1 barrier completed", "a 1 all_reduce started"}, more[0]...),
			append([]string{"w 1 barrier completed", "b 1 all_reduce started"}, more[1]...), []string{"w 1 barrier completed", "w 2 barrier started"})
		report := analyse(t, dumps)
		if !slices.Equal(report.Cycle, []int{0, 1}) || len(report.Stopped) > 0 {
			t.Errorf("%s: %+v, want a cycle of 0 and 1, which 2 only waits for", name, report)
		}
		const want = "a cycle of waits: rank 0 in nccl:all_reduce 1 of group a A waits for rank 1, rank 1 in nccl:all_reduce 1 of group b B waits for rank 0"
		if report.Text() != want {
			t.Errorf("%s: %q, want %q", name, report.Text(), want)
		}
		d, err := Diagnose(dumps)
		if err != nil || len(d.Culprits) != 1 || d.Culprits[0].Object != "ranks 0, 1" {
			t.Errorf("%s: %+v, %v, want the ranks of the cycle", name, d.Culprits, err)
		}
	}
}

func TestContainersAreNamed(t *testing.T) {
	tar := make([]byte, 512)
	copy(tar[257:], "ustar")
	for data, want := range map[string]string{"PK\x03\x04rest": "zip", "\x1f\x8b\x08": "gzip", "\x28\xb5\x2f\xfdx": "zstd", string(tar): "tar"} {
		if _, err := Parse("_dump_1", []byte(data)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "_dump_1") {
			t.Errorf("%v, want a refusal that names %s", err, want)
		}
	}
}

// A single dump that lists a million ranks does not add any.
func TestRanksOfAGroupGoByMostDumps(t *testing.T) {
	dumps := job(t, 16, 5, func(r int, e *Entry) bool { return r != 2 || e.Seq < 4 })
	odd := *dumps[7]
	odd.Groups = map[string]Group{"0": {Desc: "default_pg", Ranks: upTo(1 << 20)}}
	dumps[7] = &odd
	report := analyse(t, dumps)
	if report.Ranks != 16 || len(report.Missing) > 0 || !slices.Equal(report.Stopped, []int{2}) || !strings.Contains(strings.Join(report.Notes, "\n"), "the dump of rank 7 lists other ranks for group 0") {
		t.Errorf("%d ranks, %d missing, stopped %v, notes %q; want rank 2 of 16 stopped", report.Ranks, len(report.Missing), report.Stopped, report.Notes)
	}
}

// Files beyond the job's ranks, copies or of another job, readable or not, are not ranks.
func TestStrayDumps(t *testing.T) {
	w := written{groups: []string{"w default_pg [0, 1, 2]"}, config: true, status: true}
	ahead := []string{"w 1 barrier completed", "w 2 all_reduce started"}
	job := jobOf(t, w, ahead, ahead[:1], ahead)
	w.ops = ahead
	damaged, err := Unread("_dump_4", ErrCut)
	if err != nil {
		t.Fatal(err)
	}
	for name, stray := range map[string]*Dump{
		"copy":      w.dump(t, 3),
		"other job": written{groups: []string{"w default_pg [0, 1, 2, 3, 4]"}, config: true, ops: ahead}.dump(t, 4),
		"no config": written{groups: w.groups, ops: ahead}.dump(t, 3),
		"damaged":   damaged,
	} {
		report := analyse(t, append(slices.Clone(job), stray))
		if !slices.Equal(report.Stopped, []int{1}) || report.Ranks != 3 || len(report.Read) != 3 || len(report.Missing) > 0 || len(report.Waits) != 2 {
			t.Errorf("%s: %+v, want rank 1 of 3 stopped", name, report)
		}
		if want := fmt.Sprintf("the dump of rank %d is ignored: the job has 3 ranks and this is not one of them (pg_config)", stray.Rank); !slices.Contains(report.Notes, want) {
			t.Errorf("%s: notes %q, want %q", name, report.Notes, want)
		}
	}
	if report := analyse(t, []*Dump{w.dump(t, 7), w.dump(t, 8)}); len(report.Read) != 2 {
		t.Errorf("%+v, want both files that are all named otherwise", report)
	}
}
