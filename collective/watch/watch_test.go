package watch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/collectors/nodes"
)

// bench is a watcher of one folder, with a clock and a publisher of its own.
type bench struct {
	t         *testing.T
	dir       string
	cfg       Config
	now       time.Time
	refuse    error // of publishing
	published []report.Report
	w         *Watcher
	state     string
}

func newBench(t *testing.T, format string, change func(c *Config)) *bench {
	b := &bench{t: t, dir: t.TempDir(), cfg: DefaultConfig(), now: time.Now(), state: filepath.Join(t.TempDir(), "collectives.json")}
	b.cfg.Folders = []Folder{{Dir: b.dir, Format: format, Fabric: "ib0"}}
	if change != nil {
		change(&b.cfg)
	}
	b.start()
	return b
}

// start makes the watcher, as a process does when it starts.
func (b *bench) start() {
	b.t.Helper()
	var err error
	b.w, err = New(b.cfg, Deps{StatePath: b.state, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), Now: func() time.Time { return b.now },
		Devices: func(_ *Folder, own nodes.Map, hosts []string) [][]string {
			found := make([][]string, len(hosts))
			for i, host := range hosts {
				if found[i] = own[host]; host == "2" {
					found[i] = []string{"host2"}
				}
			}
			return found
		},
		Publish: func(_ context.Context, fabric string, r *report.Report) (string, error) {
			if fabric != "ib0" {
				b.t.Errorf("published to fabric %q", fabric)
			}
			if b.refuse == nil {
				b.published = append(b.published, *r)
			}
			return r.ID(), b.refuse
		}})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
		b.t.Fatal(err)
	}
}

// look lists the folder after some time.
func (b *bench) look(after time.Duration) {
	b.now = b.now.Add(after)
	b.w.look(b.t.Context())
}

// settle waits until a job's files have settled.
func (b *bench) settle() {
	b.look(0)
	b.look(b.cfg.Settle)
}

// dropped compares the drop counters with those wanted; all others must be 0.
func (b *bench) dropped(want map[string]int) {
	b.t.Helper()
	for _, reason := range reasons() {
		if got := int(testutil.ToFloat64(b.w.metrics.dropped.WithLabelValues(reason))); got != want[reason] {
			b.t.Errorf("%d dropped as %s, want %d", got, reason, want[reason])
		}
	}
}

func (b *bench) jobs() (jobs []string) {
	for _, r := range b.published {
		jobs = append(jobs, r.Job)
	}
	return jobs
}

const transfers = `2 3 1 1 3 10000 10000 1300 2000000000 500 500
3 2 1 1 2 10000 10000 1300 2000000000 600 500
2 3 2 3 0 10000 10000 1300 2000000600 500 500
3 2 2 2 2 10000 10000 1300 2000000600 500 500
`

// inspected is what two ranks' Inspectors write; the second one is 200 ms late.
func inspected(rank, sequence, micros int) string {
	return fmt.Sprintf(`{"header":{"id":"0xa","rank":%d,"n_ranks":2,"nnodes":1},"metadata":{"hostname":"h","pid":%d},"coll_perf":{"coll":"AllReduce","coll_sn":%d,"coll_msg_size_bytes":4096,"coll_exec_time_us":%d}}`+"\n", rank, 100+rank, sequence, micros)
}

// A job is published once its files have settled, again when they change, but not after a restart; a file with a
// temporary name counts once it is renamed.
func TestAJobIsPublishedWhenItsFilesRest(t *testing.T) {
	b := newBench(t, "vedrfolnir", nil)
	b.write("17/out/fct.txt.tmp", transfers[:100])
	b.settle()
	if len(b.published) != 0 {
		t.Fatalf("published %v of a file that is being written", b.jobs())
	}
	b.write("17/out/fct.txt.tmp", transfers)
	if err := os.Rename(filepath.Join(b.dir, "17/out/fct.txt.tmp"), filepath.Join(b.dir, "17/out/fct.txt")); err != nil {
		t.Fatal(err)
	}
	b.look(0)
	b.look(b.cfg.Settle - time.Second)
	if len(b.published) != 0 {
		t.Fatal("published before the files had come to rest")
	}
	b.look(time.Second)
	b.look(time.Minute)
	if got := b.jobs(); !slices.Equal(got, []string{"17"}) || b.published[0].Diagnosis.MakespanNanos != 1100 || b.published[0].Format != "vedrfolnir" {
		t.Fatalf("published %v: %+v", got, b.published)
	}
	first := b.published[0]
	if first.Devices[0][0] != "host2" || len(first.Devices[1]) != 0 || !strings.Contains(strings.Join(first.Diagnosis.Notes, ";"), "no regions for 1 host of the ranks") {
		t.Errorf("devices %v, notes %q", first.Devices, first.Diagnosis.Notes)
	}
	b.dropped(map[string]int{dropNoDevice: 1})
	b.start()
	b.look(0)
	b.look(time.Hour)
	if len(b.published) != 1 {
		t.Fatal("published again after a restart")
	}
	b.write("17/node_map.tsv", "3\thost3\n")
	b.settle()
	if len(b.published) != 2 || b.published[1].Devices[1][0] != "host3" || b.published[1].ID() != first.ID() {
		t.Errorf("after a map of nodes came: %d published, the last %+v, want the id of the first", len(b.published), b.published[len(b.published)-1].Devices)
	}
	b.dropped(nil)
	b.write("17/node_map.tsv", "3 host3\n")
	b.settle()
	if len(b.published) != 3 || len(b.published[2].Devices[1]) != 0 {
		t.Errorf("with a map that cannot be read %d published, the last %+v", len(b.published), b.published[len(b.published)-1].Devices)
	}
	b.dropped(map[string]int{dropNodeMap: 1, dropNoDevice: 1})
}

// dump is that of one of two ranks, which waits since a second.
func dump(rank int, second int64) string {
	return fmt.Sprintf(`{"version":"2.9","pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1]"}},"pg_status":{"0":{"last_enqueued_collective":0,"last_started_collective":-1,"last_completed_collective":-1}},"entries":[{"record_id":0,"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":0,"p2p_seq_id":0,"profiling_name":"nccl:all_reduce","time_created_ns":%d,"time_discovered_completed_ns":null,"input_sizes":[[%d]],"input_dtypes":["Float"],"output_sizes":[[1]],"output_dtypes":["Float"],"state":"scheduled","is_p2p":false}]}`,
		second*1e9, 1+rank)
}

// A hang begins when its dumps say so. A late dump belongs to it; the next hang is a new one.
func TestHangsBeginWhenTheirDumpsSaySo(t *testing.T) {
	b := newBench(t, "flight-recorder", nil)
	const first = 1_758_610_505
	b.write("17/trace_1.json", dump(1, first))
	b.settle()
	b.write("17/trace_0.json", dump(0, first-2))
	b.settle()
	b.write("17/trace_0.json", dump(0, first+600))
	b.write("17/trace_1.json", dump(1, first+600))
	b.settle()
	if len(b.published) != 3 {
		t.Fatalf("published %d", len(b.published))
	}
	for i, want := range []int64{first, first, first + 600} {
		r := b.published[i]
		if got := int64(r.Begin) / 1e9; got != want || strings.Contains(strings.Join(r.Diagnosis.Notes, ";"), "in UTC") {
			t.Errorf("report %d: begins at %d, want %d; notes %q", i, got, want, r.Diagnosis.Notes)
		}
	}
}

// A truncated or invalid file of one rank is skipped; the others are diagnosed.
func TestUnreadableFilesAreLeftOut(t *testing.T) {
	b := newBench(t, "nccl-inspector", nil)
	b.write("9/rank0.log", inspected(0, 1, 201_000)+inspected(0, 2, 201_000))
	b.write("9/rank1.log", inspected(1, 1, 1000)+inspected(1, 2, 1000))
	b.write("9/rank2.log", inspected(0, 1, 1000)[:90])
	b.write("9/bomb.json", strings.Repeat("[", 1<<20))
	b.settle()
	if len(b.published) != 1 || !slices.Equal(b.published[0].Diagnosis.LateRanks, []int{1}) {
		t.Fatalf("published %+v", b.published)
	}
	b.dropped(map[string]int{dropUnreadable: 2})
	b.write("10/rank0.log", "hello")
	b.settle()
	b.look(time.Hour)
	b.dropped(map[string]int{dropUnreadable: 2, dropNoRecords: 1})
}

// A constantly growing Inspector log is diagnosed after patience.
func TestFilesThatKeepChangingAreDiagnosedAfterPatience(t *testing.T) {
	b := newBench(t, "nccl-inspector", func(c *Config) { c.Settle, c.Patience = time.Minute, 5*time.Minute })
	text := ""
	for i := range 12 {
		text += inspected(0, i, 1000)
		b.write("9/rank0.log", text)
		b.write("9/rank1.log", strings.ReplaceAll(text, `"rank":0`, `"rank":1`))
		b.look(30 * time.Second)
	}
	if len(b.published) != 1 {
		t.Errorf("published %d times in 6 minutes, want 1", len(b.published))
	}
}

// Links out of the folder, pipes, foreign files, files beside the jobs, and too many or too large ones are counted
// but not opened.
func TestWhatIsNoRecordIsCounted(t *testing.T) {
	b := newBench(t, "nccl-inspector", func(c *Config) { c.MaxFiles, c.MaxBytes = 3, 1<<20 })
	secret := filepath.Join(t.TempDir(), "secret.log")
	if err := os.WriteFile(secret, []byte(inspected(0, 1, 5)), 0o600); err != nil {
		t.Fatal(err)
	}
	b.write("stray.log", "x")
	b.write("9/core.bin", "x")
	b.write("9/rank0.log", inspected(0, 1, 1000))
	b.write("9/a/b/c/deep.log", "x")
	if err := errors.Join(os.Symlink(secret, filepath.Join(b.dir, "9/rank1.log")), syscall.Mkfifo(filepath.Join(b.dir, "9/rank2.log"), 0o600), os.Symlink("/", filepath.Join(b.dir, "root"))); err != nil {
		t.Fatal(err)
	}
	b.settle()
	if got := b.jobs(); !slices.Equal(got, []string{"9"}) || b.published[0].Diagnosis.Ranks != 2 || !slices.Equal(b.published[0].Diagnosis.MissingRanks, []int{1}) {
		t.Errorf("published %v: %+v", got, b.published)
	}
	want := map[string]int{dropNoJob: 2, dropForeign: 2, dropNotRegular: 2}
	b.dropped(want)
	for i := range 5 {
		b.write(fmt.Sprintf("10/rank%d.log", i), inspected(i%2, i, 1000))
	}
	b.write("11/rank0.log", strings.Repeat(inspected(0, 1, 1000), 8000))
	b.settle()
	want[dropTooMany], want[dropTooLarge] = 1, 1
	b.dropped(want)
	if got := b.jobs(); !slices.Equal(got, []string{"9"}) {
		t.Errorf("published %v, one of them a part of a job", got)
	}
	for _, surplus := range []string{"10/rank3.log", "10/rank4.log"} {
		if err := os.Remove(filepath.Join(b.dir, surplus)); err != nil {
			t.Fatal(err)
		}
	}
	b.settle()
	b.dropped(want)
	if got := b.jobs(); !slices.Equal(got, []string{"9", "10"}) {
		t.Errorf("published %v", got)
	}
}

// A report that cannot be published is retried with back-off; one that is permanently rejected is not.
func TestReportsThatAreNotTaken(t *testing.T) {
	b := newBench(t, "vedrfolnir", nil)
	b.refuse = errors.New("spool is full")
	b.write("17/fct.txt", transfers)
	b.settle()
	if b.w.State() != "behind" {
		t.Errorf("state %q, want behind", b.w.State())
	}
	b.look(time.Second) // not yet
	if n := testutil.ToFloat64(b.w.metrics.retries); n != 1 {
		t.Errorf("%v retries, want 1", n)
	}
	b.refuse = nil
	b.look(time.Minute)
	if len(b.published) != 1 || b.w.State() != "" {
		t.Errorf("%d published, state %q", len(b.published), b.w.State())
	}
	b.refuse = &FinalError{Err: errors.New("too large")}
	b.write("18/fct.txt", transfers)
	b.settle()
	b.look(time.Hour)
	b.dropped(map[string]int{dropNoDevice: 2, dropNotTaken: 1})
}

// Old jobs are ignored, a missing folder is an error state but not fatal, and the state of deleted jobs is dropped.
func TestOldJobsAndFoldersThatAreGone(t *testing.T) {
	b := newBench(t, "vedrfolnir", func(c *Config) { c.Folders[0].Dir += "/" })
	b.write("1/fct.txt", transfers)
	b.now = b.now.Add(48 * time.Hour)
	b.settle()
	b.dropped(map[string]int{dropOld: 1})
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	b.look(time.Minute)
	if b.w.State() != "unreadable" || testutil.ToFloat64(b.w.metrics.failures) != 1 {
		t.Errorf("state %q", b.w.State())
	}
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b.look(time.Minute)
	if b.w.State() != "" || len(b.w.jobs) != 0 || len(b.published) != 0 {
		t.Errorf("state %q, %d jobs, %d published", b.w.State(), len(b.w.jobs), len(b.published))
	}
}

// A job that cannot be listed for a while is counted once, and its published state is kept.
func TestAJobThatCannotBeListed(t *testing.T) {
	b := newBench(t, "vedrfolnir", nil)
	root, err := os.OpenRoot(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	folder := &b.cfg.Folders[0]
	known := &job{handled: handled{Files: "of yesterday", RunID: "1"}}
	b.w.jobs[keyOf(b.dir, "17")] = known
	for range 2 {
		for _, name := range []string{"17", "18"} { // there are no such folders
			if done, err := b.w.job(t.Context(), root, folder, name); done || err != nil {
				t.Errorf("job %s: %v, %v", name, done, err)
			}
		}
	}
	b.dropped(map[string]int{dropUnreadable: 2})
	if b.w.jobs[keyOf(b.dir, "17")] != known || known.RunID != "1" {
		t.Error("what was published of a job is forgotten")
	}
}

func TestValidateNamesEveryKeyOfTheWatcher(t *testing.T) {
	if c := DefaultConfig(); c.Validate() != nil || c.Enabled() {
		t.Errorf("default: %v", c.Validate())
	}
	c := Config{Folders: []Folder{{Format: "x"}, {Dir: "/a", Format: "simulated"}, {Dir: "/a/", Format: "simulated"}}, Settle: -1, Patience: -2}
	err := c.Validate()
	for _, key := range []string{"folders.0.dir", "folders.0.format", "folders.2.dir", "interval", "settle", "patience", "max_age", "max_bytes", "max_files"} {
		if err == nil || !strings.Contains(err.Error(), key+": ") {
			t.Errorf("no fault of %s in %v", key, err)
		}
	}
}

// Run lists the folders at once, and ends with its context.
func TestRunLooksAndEnds(t *testing.T) {
	b := newBench(t, "vedrfolnir", func(c *Config) { c.Settle = 0; c.Interval = 10 * time.Millisecond })
	b.write("17/fct.txt", transfers)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.w.Run(ctx); err != nil {
		t.Error(err)
	}
}

// The record of what was published is written as soon as it can be again, and until then a state says that it is not. A
// folder that can be listed is not reported as one that cannot.
func TestARecordThatCannotBeWritten(t *testing.T) {
	b := newBench(t, "vedrfolnir", nil)
	b.state = filepath.Join(b.state, "below a file", "collectives.json")
	b.start()
	b.write("17/fct.txt", transfers)
	b.settle()
	if len(b.published) != 1 || b.w.State() != stateUnsaved || testutil.ToFloat64(b.w.metrics.failures) != 0 {
		t.Errorf("%d published, state %q, %v failures to list", len(b.published), b.w.State(), testutil.ToFloat64(b.w.metrics.failures))
	}
	if err := os.MkdirAll(filepath.Dir(b.state), 0o755); err != nil {
		t.Fatal(err)
	}
	b.look(time.Second)
	if b.w.State() != "" {
		t.Errorf("state %q after the record was written", b.w.State())
	}
	b.start()
	b.settle()
	if len(b.published) != 1 {
		t.Errorf("%d published, the last by a process that should know of the first", len(b.published))
	}
}
