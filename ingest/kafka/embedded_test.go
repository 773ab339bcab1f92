package kafka_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	kafkago "github.com/segmentio/kafka-go"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/embedded"
)

func TestEmbedded(t *testing.T) {
	conformance(t, func(t *testing.T) *broker { return startEmbedded(t, testConfig(), embedded.DefaultConfig()) })
}

// restartable is an embedded broker that can be stopped and restarted.
type restartable struct {
	config  kafka.Config
	own     embedded.Config
	mu      sync.Mutex
	current *embedded.Broker // guarded by mu, as is stop
	stop    func() error
}

// startEmbedded runs an embedded broker for the duration of the test, in a new folder if none is given.
func startEmbedded(t *testing.T, config kafka.Config, own embedded.Config) *broker {
	t.Helper()
	noLeaks(t)
	if own.Dir == "" {
		own.Dir = t.TempDir()
	}
	e := &restartable{config: config, own: own}
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	check(e.run())
	b := &broker{config: e.client(), dial: e.dial, stop: func() { check(e.end()) }, start: func() { check(e.run()) }}
	t.Cleanup(b.stop)
	return b
}

func (e *restartable) run() error {
	next, err := embedded.New(e.own, e.config, quiet())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- next.Run(ctx) }()
	e.mu.Lock()
	defer e.mu.Unlock()
	e.current, e.stop = next, func() error { cancel(); return <-done }
	return nil
}

// client returns the configuration of its clients.
func (e *restartable) client() kafka.Config {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.current.Client(e.config)
}

func (e *restartable) end() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stop()
}

func (e *restartable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	e.mu.Lock()
	current := e.current
	e.mu.Unlock()
	return current.Dial(ctx, network, address)
}

func TestEmbeddedForgetsWhatIsOld(t *testing.T) {
	config := testConfig()
	own := embedded.DefaultConfig()
	own.RetentionBytes, own.SegmentBytes = 1<<20, 1<<20
	b := startEmbedded(t, config, own)
	p := newPeer(t, b)
	p.topics(t, 1)
	fill := func() {
		for range 8 {
			p.produce(t, kafka.Record{Fabric: "f", Kind: envelope.Counters, Payload: make([]byte, 512<<10)})
		}
	}
	first := func() int64 {
		answer, err := kafka.RawClient(p.client).ListOffsets(p.ctx, &kafkago.ListOffsetsRequest{
			Topics: map[string][]kafkago.OffsetRequest{config.Topic(envelope.Counters): {kafkago.FirstOffsetOf(0)}}})
		if err != nil {
			return -1
		}
		return answer.Topics[config.Topic(envelope.Counters)][0].FirstOffset
	}
	reader := kafka.NewConsumer(p.client, nil, kafka.Assignment{Kind: envelope.Counters, Fabric: "f", Tail: true})
	if since, err := reader.HeldSince(p.ctx); err != nil || !since.IsZero() {
		t.Errorf("a whole log has its records since %v, %v", since, err)
	}
	began := time.Now()
	fill()
	waitFor(t, "the log to be cut", func() bool { return first() >= 5 })
	if since, err := reader.HeldSince(p.ctx); err != nil || since.Before(began.Add(-time.Second)) || since.After(time.Now()) {
		t.Errorf("a log that was cut has its records since %v, %v; they came after %v", since, err, began)
	}
	b.stop()
	b.start()
	fill()
	waitFor(t, "the log to be cut after a restart", func() bool { return first() >= 13 })
}

// Each of ten thousand agents sends one small record per interval, which kafka-go keeps in a page of 64 KiB of its own:
// a response must not take hundreds of megabytes.
func TestAResponseOfSmallRecordsIsBounded(t *testing.T) {
	config := testConfig()
	b := startEmbedded(t, config, embedded.DefaultConfig())
	p := newPeer(t, b)
	p.topics(t, 1)
	const records = 3000
	for range records {
		p.produce(t, kafka.Record{Fabric: "f", Kind: envelope.Counters, Payload: make([]byte, 3<<10)})
	}
	inUse := func() (bytes uint64) {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, peak := inUse(), uint64(0)
	ctx, cancel := context.WithCancel(p.ctx)
	n := 0
	if err := kafka.NewConsumer(p.client, p.producer, kafka.Assignment{Kind: envelope.Counters, Fabric: "f"}).Run(ctx, func(context.Context, kafka.Message) error {
		if n%500 == 0 {
			peak = max(peak, inUse())
		}
		if n++; n == records {
			cancel()
		}
		return nil
	}); err != nil || n != records {
		t.Fatalf("%d records, %v", n, err)
	}
	if took := int64(peak) - int64(before); took > 80<<20 {
		t.Errorf("reading took %d MiB", took>>20)
	}
}

func TestEmbeddedFolderIsLocked(t *testing.T) {
	dir := t.TempDir()
	b := startEmbedded(t, testConfig(), embedded.Config{Dir: dir, SegmentBytes: 1 << 20, RetentionBytes: -1})
	p := newPeer(t, b)
	p.topics(t, 1) // it is running
	own := embedded.DefaultConfig()
	own.Dir = dir
	synctest.Test(t, func(t *testing.T) { // with the bubble's clock, by which it waits for the first one to exit
		second, err := embedded.New(own, b.config, quiet())
		if err != nil {
			t.Fatal(err)
		}
		if err := second.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "in use by process") {
			t.Errorf("a second broker ran in the folder: %v", err)
		}
		if _, err := second.Dial(t.Context(), "", ""); !errors.Is(err, net.ErrClosed) {
			t.Errorf("dialling a broker that ended: %v", err)
		}
	})
}

// A tail that waits for the answers to one command logs nothing on its standard error.
func TestATailFromNowIsSilent(t *testing.T) {
	b := startEmbedded(t, testConfig(), embedded.DefaultConfig())
	p := newPeer(t, b)
	p.topics(t, 1)
	for _, lookback := range []time.Duration{0, time.Minute} {
		var logged bytes.Buffer
		metrics, err := kafka.NewMetrics(prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		client, err := kafka.NewClient(b.config, b.dial, metrics, slog.New(slog.NewTextHandler(&logged, nil)))
		if err != nil {
			t.Fatal(err)
		}
		tail := kafka.NewConsumer(client, nil, kafka.Assignment{Kind: envelope.Events, Fabric: "f", Tail: true, Lookback: lookback})
		ctx, cancel := context.WithCancel(p.ctx)
		ended := make(chan error, 1)
		go func() { ended <- tail.Run(ctx, func(context.Context, kafka.Message) error { return nil }) }()
		waitFor(t, "the end of the log", func() bool { return tail.ReadUpTo().UnixNano() > 0 })
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		client.Close()
		if said := strings.Contains(logged.String(), "kafka: reading"); said != (lookback > 0) {
			t.Errorf("a tail that looks back %v logs %q", lookback, logged.String())
		}
	}
}

func TestEmbeddedInMemory(t *testing.T) {
	noLeaks(t)
	config := testConfig()
	e := &restartable{config: config, own: embedded.DefaultConfig()}
	if err := e.run(); err != nil {
		t.Fatal(err)
	}
	defer e.end()
	p := newPeer(t, &broker{config: e.client(), dial: e.dial})
	defer p.client.Close()
	p.topics(t, 1)
	p.produce(t, event("f", 0, 0))
	wantPayloads(t, p.read(t, eventsOf("f", 0), 1), "f-0")
}

// childDir makes the test binary run as a broker that is killed.
const childDir = "GIVERNY_EMBEDDED_CHILD"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := produceUntilKilled(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// A process with the embedded broker is killed repeatedly. Nothing acknowledged is lost.
func TestEmbeddedSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	acked := 0
	for round := range 3 {
		acked = runChild(t, dir, acked, acked+200)
		t.Logf("round %d: killed after %d records", round, acked)
	}
	own := embedded.DefaultConfig()
	own.Dir = dir
	p := newPeer(t, startEmbedded(t, testConfig(), own))
	p.topics(t, 1)
	p.produce(t, event("end", 0, 0))
	got := withoutRepeats(p.readAtLeast(t, kafka.Assignment{Kind: envelope.Events}, "end-0"))
	for i := range acked {
		if want := fmt.Sprint("f-", i); got[i] != want {
			t.Fatalf("record %d is %s, want %s", i, got[i], want)
		}
	}
}

// runChild starts the child, kills it once it has reported until records, and returns how many it reported.
func runChild(t *testing.T, dir string, from, until int) (acked int) {
	t.Helper()
	child := exec.Command(os.Args[0], strconv.Itoa(from))
	child.Env = append(os.Environ(), childDir+"="+dir)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for acked = from; acked < until && lines.Scan(); acked++ {
		if lines.Text() != fmt.Sprint(acked) {
			t.Errorf("the child says %q, want %d", lines.Text(), acked)
		}
	}
	_ = child.Process.Kill()
	for lines.Scan() { // what was acknowledged before the kill arrived
		acked++
	}
	_ = child.Wait()
	if acked < until {
		t.Fatalf("the child ended after %d records, want %d", acked, until)
	}
	return acked
}

func produceUntilKilled(dir string) error {
	from, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return err
	}
	own := embedded.DefaultConfig()
	own.Dir = dir
	e := &restartable{config: testConfig(), own: own}
	if err := e.run(); err != nil {
		return err
	}
	p, err := newClientOf(&broker{config: e.client(), dial: e.dial})
	if err != nil {
		return err
	}
	if err := p.client.EnsureTopics(context.Background(), 1); err != nil {
		return err
	}
	for i := from; ; i++ {
		if err := p.producer.Produce(context.Background(), event("f", 0, i)); err != nil {
			return err
		}
		fmt.Println(i)
	}
}

func BenchmarkEmbedded(b *testing.B) {
	for _, size := range []int{4 << 10, 512 << 10} {
		b.Run(fmt.Sprintf("payload=%dKiB", size>>10), func(b *testing.B) { benchmarkEmbedded(b, size) })
	}
}

// benchmarkEmbedded sends records through producer, broker, disk and consumer.
func benchmarkEmbedded(b *testing.B, size int) {
	own := embedded.DefaultConfig()
	own.Dir = b.TempDir()
	e := &restartable{config: testConfig(), own: own}
	if err := e.run(); err != nil {
		b.Fatal(err)
	}
	defer e.end()
	p, err := newClientOf(&broker{config: e.client(), dial: e.dial})
	if err != nil {
		b.Fatal(err)
	}
	defer p.client.Close()
	if err := p.client.EnsureTopics(context.Background(), 1); err != nil {
		b.Fatal(err)
	}
	record := kafka.Record{Fabric: "f", Kind: envelope.Counters, Payload: make([]byte, size)}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan error, 1)
	b.SetBytes(int64(size))
	b.ResetTimer()
	go func() {
		n := 0
		done <- kafka.NewConsumer(p.client, p.producer, kafka.Assignment{Kind: envelope.Counters, Fabric: "f"}).Run(ctx, func(context.Context, kafka.Message) error {
			if n++; n == b.N {
				cancel()
			}
			return nil
		})
	}()
	for range b.N {
		if err := p.producer.Produce(context.Background(), record); err != nil {
			b.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}
