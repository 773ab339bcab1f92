//go:build integration

package app

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/ingest/emitter"
	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/retry"
	"github.com/giverny/giverny/internal/test/await"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology/topologytest"
)

// Three processes share fabrics. Owners are killed with -9, frozen for longer or
// shorter than their lease, frozen during a write, and shut down cleanly, one after the
// other, under load. Then everything acknowledged by Kafka must be in the tables, once
// and with the right values, every interval must be announced, and the history of all
// inserts must show one owner at a time. GIVERNY_CHAOS_SEED repeats a run,
// GIVERNY_CHAOS_FOR is the duration of the faults, with ten fabrics instead of four;
// each kind of fault occurs at least once.
func TestChaosSharedFabrics(t *testing.T) {
	seed, err := strconv.ParseUint(cmp.Or(os.Getenv("GIVERNY_CHAOS_SEED"), fmt.Sprint(time.Now().UnixNano())), 10, 64)
	if err != nil {
		t.Fatalf("GIVERNY_CHAOS_SEED: %v", err)
	}
	length, err := time.ParseDuration(cmp.Or(os.Getenv("GIVERNY_CHAOS_FOR"), "0s"))
	if err != nil {
		t.Fatalf("GIVERNY_CHAOS_FOR: %v", err)
	}
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	fabrics := 4
	if length > 0 {
		fabrics = 10 // more than a machine running other tests can sustain at 1 s
	}
	s := newSharing(t, 3*time.Second, 3, fabrics)
	load := s.startLoad()
	for _, a := range s.analysers {
		a.start()
	}
	s.awaitLevel(s.analysers...)
	walk := &shareWalk{sharing: s, rng: rng, times: map[string][]time.Duration{}}
	for began, round := time.Now(), 0; round == 0 || time.Since(began) < length; round++ {
		for _, kind := range rng.Perm(len(shareFaults)) { // each kind once, in a new order
			walk.throw(shareFaults[kind])
		}
	}
	until, orders := time.Now(), load.audited()
	s.awaitStored(until)
	s.awaitAudit(orders)
	load.stop()
	for _, a := range s.analysers {
		a.signal(syscall.SIGTERM)
	}
	s.check(load, until.UnixNano(), walk)
}

// shareFault is a failure of an owner.
type shareFault struct {
	name string
	do   func(*shareWalk, *analyser)
}

var shareFaults = []shareFault{
	{"kill -9", (*shareWalk).kill},
	{"frozen", (*shareWalk).freeze},
	{"frozen with a write on its way", (*shareWalk).freezeWriting},
	{"frozen about as long as a session", (*shareWalk).blink},
	{"stopped", (*shareWalk).terminate},
}

// shareWalk injects one fault after the other.
type shareWalk struct {
	*sharing
	rng    *rand.Rand
	times  map[string][]time.Duration // by fault: from the fault to another owner's first interval of each fabric
	thrown int
}

// throw makes one analyser fail, and waits until all share again.
func (w *shareWalk) throw(f shareFault) {
	victim := w.analysers[w.rng.IntN(len(w.analysers))]
	time.Sleep(time.Duration(w.rng.Int64N(int64(time.Second)))) // any moment of an interval
	w.thrown++
	lost := victim.owns()
	began := time.Now()
	f.do(w, victim)
	for _, fabric := range lost {
		if took, ok := w.takenOver(victim.n, fabric, began); ok {
			w.times[f.name] = append(w.times[f.name], took)
		}
	}
	w.t.Logf("%s: analyser %d, owner of %v; all share again after %v", f.name, victim.n, lost, time.Since(began).Round(10*time.Millisecond))
}

// takenOver is the time from an instant until another analyser than the victim first
// stored an interval of a fabric.
func (s *sharing) takenOver(victim int, fabric string, began time.Time) (time.Duration, bool) {
	for _, m := range s.history.stored() {
		if m.fabric == fabric && m.by != victim && m.done.After(began) {
			return m.done.Sub(began), true
		}
	}
	return 0, false
}

// others are the analysers except one.
func (s *sharing) others(than *analyser) []*analyser {
	return slices.DeleteFunc(slices.Clone(s.analysers), func(a *analyser) bool { return a == than })
}

func (w *shareWalk) kill(victim *analyser) {
	victim.signal(syscall.SIGKILL)
	w.goOnWithout(victim)
	victim.start()
	w.awaitLevel(w.analysers...)
}

func (w *shareWalk) terminate(victim *analyser) {
	victim.signal(syscall.SIGTERM)
	w.goOnWithout(victim)
	victim.start()
	w.awaitLevel(w.analysers...)
}

func (w *shareWalk) freeze(victim *analyser) {
	victim.signal(syscall.SIGSTOP)
	w.goOnWithout(victim)
	victim.signal(syscall.SIGCONT)
	w.awaitLevel(w.analysers...)
}

// freezeWriting freezes an analyser whose insert has been checked, is in flight, and
// arrives long after another has taken over.
func (w *shareWalk) freezeWriting(victim *analyser) {
	held := w.history.hold(victim.n)
	select {
	case <-held.held:
	case <-time.After(sharePatience): // on a busy machine it may temporarily own nothing
		w.t.Fatalf("analyser %d writes nothing; it owns %v", victim.n, victim.owns())
	}
	victim.signal(syscall.SIGSTOP)
	w.goOnWithout(victim)
	close(held.release)
	victim.signal(syscall.SIGCONT)
	w.awaitLevel(w.analysers...)
}

// blink freezes an analyser until just before or after the end of its lease, when the
// group may or may not have expelled it.
func (w *shareWalk) blink(victim *analyser) {
	victim.signal(syscall.SIGSTOP)
	time.Sleep(w.session*6/10 + time.Duration(w.rng.Int64N(int64(w.session*8/10))))
	victim.signal(syscall.SIGCONT)
	time.Sleep(w.session) // time for the group to react
	w.awaitLevel(w.analysers...)
}

// goOnWithout waits until the others own all fabrics, and have stored later intervals
// of each.
func (s *sharing) goOnWithout(victim *analyser) {
	s.t.Helper()
	began := time.Now()
	s.awaitLevel(s.others(victim)...)
	s.awaitStored(began)
}

// awaitStored waits until an interval that began after an instant is stored for every
// fabric.
func (s *sharing) awaitStored(after time.Time) {
	s.t.Helper()
	missing := 0
	if await.Holds(sharePatience, 50*time.Millisecond, func() bool {
		there := map[string]bool{}
		for _, m := range s.history.stored() {
			if m.startMillis >= after.UnixMilli() {
				there[m.fabric] = true
			}
		}
		missing = len(s.fabrics) - len(there)
		return missing == 0
	}) {
		return
	}
	for _, a := range s.analysers {
		s.t.Logf("analyser %d:\n%s", a.n, a.process.LogTail(20))
	}
	s.t.Fatalf("%d fabrics are not analysed any more", missing)
}

// shareLoad polls every fabric once a second, and sends a command and a result to each
// audit.
type shareLoad struct {
	end       context.CancelFunc
	group     sync.WaitGroup
	mu        sync.Mutex
	acked     map[string][]int64 // times of the polls acknowledged by Kafka
	orders    map[string]int     // number of commands acknowledged by Kafka, with as many results
	announced []announcement
}

type announcement struct {
	fabric   string
	start    int64
	revision uint32
	regions  string // identities and births
}

// sharePercent gives every fabric one large region with varying links, and noise.
func sharePercent(links int) func(schema.LinkID) float64 {
	return func(l schema.LinkID) float64 {
		if int(l) < links/2 {
			return 40 + float64(l%7)/4
		}
		return float64(l%5) / 4
	}
}

func (s *sharing) startLoad() *shareLoad {
	t := s.t
	t.Helper()
	cfg := kafka.DefaultConfig()
	cfg.Brokers = []string{s.broker.Addr()}
	cfg.Consumer.MaxWait = time.Second
	metrics, err := kafka.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	client, err := kafka.NewClient(cfg, nil, metrics, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := client.EnsureTopics(t.Context(), len(s.fabrics)); err != nil {
		t.Fatal(err)
	}
	partitions := map[string]int{}
	for i, f := range s.fabrics {
		partitions[f] = i
	}
	producer := kafka.NewProducer(client)
	counters := emitter.New(producer, partitions)
	ctx, end := context.WithCancel(context.Background())
	l := &shareLoad{end: end, acked: map[string][]int64{}, orders: map[string]int{}}
	t.Cleanup(func() { end(); l.group.Wait(); client.Close() })
	for _, f := range s.fabrics {
		graph := topologytest.Parse(t, f, shareTopology)
		source := newLoadSource(graph)
		source.percent = sharePercent(graph.NumLinks())
		orders := &shareOrders{producer: producer, fabric: f, partition: partitions[f]}
		l.group.Go(func() { l.poll(ctx, t, f, source, counters, orders) })
		reader := kafka.NewConsumer(client, nil, kafka.Assignment{Kind: envelope.Regions, Fabric: f, Partition: partitions[f], Tail: true, Lookback: time.Hour})
		go l.listen(t.Context(), t, reader)
	}
	return l
}

func (l *shareLoad) poll(ctx context.Context, t *testing.T, fabric string, source *load, counters *emitter.Emitter, orders *shareOrders) {
	fail := func(err error) bool {
		if err != nil && ctx.Err() == nil {
			t.Errorf("%s: %v", fabric, err)
		}
		return err != nil
	}
	next := time.Now().Truncate(time.Second).Add(time.Second)
	for retry.Sleep(ctx, time.Until(next)) {
		if fail(counters.Emit(context.WithoutCancel(ctx), source.read(next.UnixNano()))) {
			return
		}
		l.mu.Lock()
		l.acked[fabric] = append(l.acked[fabric], next.UnixNano())
		n := l.orders[fabric]
		l.mu.Unlock()
		if fail(orders.send(context.WithoutCancel(ctx), n, schema.InstantOf(next))) {
			return
		}
		l.mu.Lock()
		l.orders[fabric]++
		l.mu.Unlock()
		next = time.Now().Truncate(time.Second).Add(time.Second)
	}
}

// shareOrders sends commands and their results to the partition of a fabric.
type shareOrders struct {
	producer  *kafka.Producer
	fabric    string
	partition int
}

func (o *shareOrders) send(ctx context.Context, number int, at schema.Instant) error {
	id := fmt.Sprintf("%s-%d", o.fabric, number)
	order := schema.Command{ID: id, Fabric: o.fabric, Kind: "agents.list", Targets: []string{"*"}, Arguments: json.RawMessage("{}"),
		Issued: at, Expires: at + schema.Instant(time.Minute), Principal: "operator"}
	var encoder envelope.Encoder
	payload, err := encoder.Commands(nil, []schema.Command{order})
	if err != nil {
		return err
	}
	if err := o.producer.Produce(ctx, kafka.Record{Fabric: o.fabric, Partition: o.partition, Kind: envelope.Commands, Payload: payload}); err != nil {
		return err
	}
	result := schema.CommandResult{CommandID: id, Fabric: o.fabric, Agent: "agent", Time: at, Status: schema.CommandDone}
	return command.Publisher{Sink: o.producer}.Publish(ctx, o.partition, &result)
}

// listen records the announcements of a fabric.
func (l *shareLoad) listen(ctx context.Context, t *testing.T, reader *kafka.Consumer) {
	var decoder envelope.Decoder
	err := reader.Run(ctx, func(_ context.Context, m kafka.Message) error {
		set, err := decoder.Regions(m.Payload)
		if err != nil {
			return err
		}
		said := announcement{fabric: set.Fabric, start: set.Interval.StartNanos, revision: set.Revision}
		for _, r := range set.Regions {
			said.regions += fmt.Sprintf("%016x born %d; ", r.ID, r.BirthNanos)
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.announced = append(l.announced, said)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// audited is the number of commands, and of results, that each audit must contain by now.
func (l *shareLoad) audited() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.orders)
}

// stop ends the load.
func (l *shareLoad) stop() {
	l.end()
	l.group.Wait()
}
