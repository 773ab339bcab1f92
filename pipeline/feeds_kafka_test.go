//go:build integration

package pipeline

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/giverny/giverny/analysis"
	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/internal/test/apachekafka"
	"github.com/giverny/giverny/schema"
)

// runOnKafka runs a new pipeline of a fabric, as one process does, until enough is stored.
func runOnKafka(t *testing.T, b *apachekafka.Broker, r *rig, enough func(deliveries) bool) {
	t.Helper()
	client := kafkaClient(t, b)
	producer := kafka.NewProducer(client)
	cfg := analysis.DefaultConfig()
	cfg.Window.Interval, cfg.Segment.MinLinks = time.Second, 4
	f, err := New(graphOf(t, "f", "torus:4x4x4"), cfg, Deps{Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Metrics: r.metrics, Store: r.store,
		Sinks:   []Sink{NewDiagnosisAnnouncer(client, producer, "f", 0)},
		Sources: func() []Source { return KafkaSources(client, producer, "f", 0, time.Second, nil) }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // a busy machine is slow
	defer cancel()
	go func() {
		for !enough(delivered(r.store.stored("f"))) && retry.Sleep(ctx, 50*time.Millisecond) {
		}
		cancel()
	}()
	if err := f.Run(ctx); err != nil {
		t.Errorf("fabric f: %v", err)
	}
}

// deliveries counts how often each row of the feeds is in the stored intervals.
type deliveries struct {
	jobs                         map[string]int
	failures, traffic, diagnoses int
}

func delivered(stored []*schema.IntervalResult) deliveries {
	d := deliveries{jobs: map[string]int{}}
	for _, result := range stored {
		for _, j := range result.Jobs {
			d.jobs[j.ID]++
		}
		d.failures, d.traffic, d.diagnoses = d.failures+len(result.Failures), d.traffic+len(result.Traffic), d.diagnoses+len(result.Diagnoses)
	}
	return d
}

// announced reads giverny.diagnoses from the start until it has enough, and returns them by time and region.
func announced(t *testing.T, b *apachekafka.Broker, atLeast int) map[[2]uint64]schema.Diagnosis {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	found, decoder := map[[2]uint64]schema.Diagnosis{}, envelope.Decoder{}
	consumer := kafka.NewConsumer(kafkaClient(t, b), kafka.NewProducer(kafkaClient(t, b)), kafka.Assignment{Kind: envelope.Diagnoses, Fabric: "f"})
	if err := consumer.Run(ctx, func(_ context.Context, m kafka.Message) error {
		diagnoses, err := decoder.Diagnoses(m.Payload, nil)
		for _, d := range diagnoses {
			found[[2]uint64{uint64(d.Time), d.Region}] = d
		}
		if len(found) >= atLeast {
			cancel()
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// Jobs, failures and traffic go through a real broker: only bad payloads are lost, a
// restart neither loses nor repeats anything, and every stored diagnosis is announced.
func TestFeedsAndDiagnosesThroughApacheKafka(t *testing.T) {
	b := apachekafka.Start(t, apachekafka.Options{})
	g, r := graphOf(t, "f", "torus:4x4x4"), newRig()
	client := kafkaClient(t, b)
	if err := client.EnsureTopics(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var agents sync.WaitGroup
	agents.Go(func() { runAgent(ctx, t, b, g, 0, 1, time.Second) })
	defer func() { cancel(); agents.Wait() }()

	producer := kafka.NewProducer(client)
	sink := emitter.New(producer, map[string]int{"f": 0})
	now := time.Now()
	start := func(in time.Duration) schema.Instant { return schema.InstantOf(now.Add(in)) }
	jobs := []schema.Job{{Fabric: "f", ID: "runs", Nodes: []string{"0,0,0"}, Start: start(-time.Hour)}, {Fabric: "f", ID: "waits", Start: start(20 * time.Second)}}
	for _, payload := range [][]byte{[]byte("no envelope"), {}, make([]byte, 24)} {
		if err := producer.Produce(t.Context(), kafka.Record{Fabric: "f", Kind: envelope.Jobs, Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
	read := 5.0
	for _, err := range []error{sink.EmitJobs(t.Context(), "f", jobs), sink.EmitFailures(t.Context(), "f", []schema.Failure{{Fabric: "f", Time: start(0), Kind: schema.NodeFailed, Device: "x"}}),
		sink.EmitTraffic(t.Context(), "f", []schema.JobTraffic{{Fabric: "f", JobID: "runs", Time: start(0), Read: &read}})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	runOnKafka(t, b, r, func(d deliveries) bool { return d.jobs["runs"] == 1 && d.failures == 1 && d.traffic == 1 })
	ended := jobs[0]
	ended.End = start(time.Since(now))
	if err := sink.EmitJobs(t.Context(), "f", []schema.Job{ended}); err != nil {
		t.Fatal(err)
	}
	runOnKafka(t, b, r, func(d deliveries) bool { return d.jobs["runs"] == 2 && d.jobs["waits"] == 1 && d.diagnoses > 0 })

	stored := r.store.stored("f")
	got := delivered(stored)
	topic := announced(t, b, got.diagnoses)
	for _, result := range stored {
		for _, j := range result.Jobs {
			if j.ID == "waits" && !result.Snapshot.Interval.Contains(int64(j.Start)) {
				t.Errorf("job %s came with %v", j.ID, result.Snapshot.Interval)
			}
		}
		for _, d := range result.Diagnoses {
			if sent, ok := topic[[2]uint64{uint64(d.Time), d.Region}]; !ok || sent.Fabric != "f" {
				t.Errorf("the diagnosis of region %d at %s is not in the topic", d.Region, d.Time)
			}
		}
	}
	if got.jobs["runs"] != 2 || got.jobs["waits"] != 1 || got.failures != 1 || got.traffic != 1 || got.diagnoses == 0 {
		t.Errorf("%+v, want the job that runs twice, as it began and as it ended, the other once, a failure, a row of traffic, and diagnoses", got)
	}
	if missing := gaps(startsOf(stored)); len(missing) > 0 {
		t.Errorf("intervals are missing: %v", missing)
	}
	t.Logf("%d intervals: %+v", len(stored), got)
}

// A process that starts into a backlog knows the jobs of its intervals: the counters
// wait until the feeds have been read.
func TestABacklogKnowsItsJobs(t *testing.T) {
	b := apachekafka.Start(t, apachekafka.Options{})
	g, r := graphOf(t, "f", "torus:4x4x4"), newRig()
	client := kafkaClient(t, b)
	if err := client.EnsureTopics(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	sink := emitter.New(kafka.NewProducer(client), map[string]int{"f": 0})
	first := time.Now().Add(-30 * time.Second).Truncate(time.Second)
	s := &spooler{graph: g, name: "n0", all: 1}
	for n := range 20 {
		at := first.Add(time.Duration(n) * time.Second)
		batch := s.poll(uint64(n+1), time.Now())
		for i := range batch.TimeNanos {
			batch.TimeNanos[i] = at.UnixNano()
		}
		if err := sink.Emit(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 18 { // one record each, behind all counters
		j := schema.Job{Fabric: "f", ID: first.Add(time.Duration(n) * time.Second).UTC().Format("05"), Start: schema.Instant(first.Add(time.Duration(n)*time.Second).UnixNano() + 1)}
		if err := sink.EmitJobs(t.Context(), "f", []schema.Job{j}); err != nil {
			t.Fatal(err)
		}
	}
	runOnKafka(t, b, r, func(d deliveries) bool { return len(d.jobs) == 18 })
	inTime := 0
	for _, result := range r.store.stored("f") {
		for _, j := range result.Jobs {
			if result.Snapshot.Interval.Contains(int64(j.Start)) {
				inTime++
			} else if result.Snapshot.Interval.StartNanos > int64(j.Start) && result.Snapshot.Interval.StartNanos > first.UnixNano()+2*second {
				t.Errorf("job of %v came with %v", j.Start, result.Snapshot.Interval)
			}
		}
	}
	if inTime < 15 {
		t.Errorf("%d of 18 jobs came with their interval", inTime)
	}
}
