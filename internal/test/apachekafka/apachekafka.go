// Package apachekafka starts a real Apache Kafka broker for a test: one node, KRaft, on loopback, with its
// data in the test's temporary folder, and TLS and SASL if requested; further brokers can join it. Input:
// options. Output: an address and a client for it. The broker ends with the test, or with the test process if that dies first; it can
// be killed and restarted. The jars come from `make deps-test`.
package apachekafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/giverny/giverny/internal/test/freeport"
	"github.com/giverny/giverny/internal/test/proc"
	"github.com/giverny/giverny/internal/test/repo"
)

const (
	startTimeout = 90 * time.Second // a start takes 3-5 s on two idle cores
	stopTimeout  = 20 * time.Second
	logTailLines = 40
	logErrors    = 5 // the first ones say why it ended; the last lines are its shutdown
)

// Options configure the clients' listener. The zero value is plain text without a login.
type Options struct {
	TLS             TLS
	SASL            SASL
	User, Password  string            // for SASL, in ASCII without commas; Start picks them if User is empty
	MaxMessageBytes int               // message.max.bytes; 0 is the broker's default, 1 MiB
	Properties      map[string]string // further server properties; they win over the starter's own
	// Advertise, if not nil, is called with the broker's address and returns the one to advertise to clients, such
	// as that of a proxy.
	Advertise func(addr string) (string, error)
}

// TLS is the TLS mode of the listener.
type TLS int

const (
	NoTLS     TLS = iota
	ServerTLS     // the broker shows a certificate
	MutualTLS     // so must the client
)

// SASL is the login mechanism, in Kafka's spelling.
type SASL string

const (
	NoSASL      SASL = ""
	Plain       SASL = "PLAIN"
	ScramSHA256 SASL = "SCRAM-SHA-256"
	ScramSHA512 SASL = "SCRAM-SHA-512"
)

// Broker is one running Kafka.
type Broker struct {
	tb        testing.TB
	opts      Options
	joined    *Broker // the node that is the controller; nil if this one is
	dir       string  // properties, certificates, data, log
	classpath string
	certs     *Certificates // nil without TLS
	ports     ports
	shown     string // the advertised address
	process   *proc.Process
	transport *kafkago.Transport
}

// Start returns once the broker answers a client with the same security settings as the tests'. If
// something is not installed, the test fails and says what to install.
func Start(tb testing.TB, opts Options) *Broker {
	tb.Helper()
	return start(tb, opts, nil)
}

// Join starts a second broker of the cluster, with the same options. It is no controller: while it is down, the first
// one reduces the sets of in-sync replicas.
func (b *Broker) Join() *Broker {
	b.tb.Helper()
	return start(b.tb, b.opts, b)
}

func start(tb testing.TB, opts Options, joined *Broker) *Broker {
	tb.Helper()
	b := &Broker{tb: tb, opts: opts, joined: joined, dir: tb.TempDir(), classpath: classpath(tb)}
	if opts.SASL != NoSASL && opts.User == "" {
		b.opts.User, b.opts.Password = "giverny", "water-lilies"
	}
	if opts.TLS != NoTLS {
		b.certs = NewCertificates(tb, b.dir)
	}
	b.transport = b.newTransport(b.opts.User, b.opts.Password)
	tb.Cleanup(b.cleanup)
	b.ports = ports{client: freeport.Port(tb), internal: freeport.Port(tb), controller: freeport.Port(tb)}
	if err := b.formatAndRun(); err != nil {
		tb.Fatal(err)
	}
	return b
}

// Addr is the host:port of the clients' listener; it is the same after a restart.
func (b *Broker) Addr() string { return b.ports.addr(b.ports.client) }

// Login is the user and password that the listener accepts; empty without SASL.
func (b *Broker) Login() (user, password string) { return b.opts.User, b.opts.Password }

// Certificates are the CA and the client's key pair; nil without TLS.
func (b *Broker) Certificates() *Certificates { return b.certs }

// Transport has the listener's security settings; Client uses it.
func (b *Broker) Transport() *kafkago.Transport { return b.transport }

// Client is a client on Transport.
func (b *Broker) Client() *kafkago.Client {
	return &kafkago.Client{Addr: kafkago.TCP(b.Addr()), Timeout: 10 * time.Second, Transport: b.transport}
}

// Log returns the end of the broker's log.
func (b *Broker) Log() string { return b.process.LogTail(logTailLines) }

// Kill9 kills the broker like a crash. Its data remain for Restart.
func (b *Broker) Kill9() {
	b.process.Kill()
	b.transport.CloseIdleConnections()
}

// Stop shuts the broker down cleanly. Its data remain for Restart.
func (b *Broker) Stop() {
	b.process.Stop(stopTimeout)
	b.transport.CloseIdleConnections()
}

// Restart kills the broker if it is running, starts it at the same address with the same data,
// and returns once every partition accepts messages.
func (b *Broker) Restart() {
	b.tb.Helper()
	b.Kill9()
	if err := b.run(); err != nil {
		b.tb.Fatal(err)
	}
}

// CreateTopic returns once every partition accepts messages. config has topic settings
// such as max.message.bytes.
func (b *Broker) CreateTopic(name string, partitions int, config map[string]string) {
	b.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	topic := kafkago.TopicConfig{Topic: name, NumPartitions: partitions, ReplicationFactor: 1}
	for key, value := range config {
		topic.ConfigEntries = append(topic.ConfigEntries, kafkago.ConfigEntry{ConfigName: key, ConfigValue: value})
	}
	made, err := b.Client().CreateTopics(ctx, &kafkago.CreateTopicsRequest{Topics: []kafkago.TopicConfig{topic}})
	if err == nil {
		err = made.Errors[name]
	}
	if err != nil {
		b.tb.Fatalf("create topic %s: %v", name, err)
	}
	if err := b.poll(ctx, func() error { return b.settled(ctx, name) }); err != nil {
		b.tb.Fatalf("create topic %s: %v", name, err)
	}
}

// settled returns an error unless every partition of the topics (all, if none is given) answers.
// Metadata are not sufficient: they name a leader before it has opened its log.
func (b *Broker) settled(ctx context.Context, topics ...string) error {
	transport := b.newTransport(b.opts.User, b.opts.Password) // the shared one answers from its cache
	defer transport.CloseIdleConnections()
	client := &kafkago.Client{Addr: kafkago.TCP(b.Addr()), Timeout: 10 * time.Second, Transport: transport}
	cluster, err := client.Metadata(ctx, &kafkago.MetadataRequest{Topics: topics})
	if err != nil {
		return err
	}
	if len(cluster.Brokers) == 0 {
		return errors.New("the controller has not admitted the broker yet")
	}
	ends := &kafkago.ListOffsetsRequest{Topics: map[string][]kafkago.OffsetRequest{}}
	for _, topic := range cluster.Topics {
		if topic.Error != nil {
			return fmt.Errorf("topic %s: %w", topic.Name, topic.Error)
		}
		for _, partition := range topic.Partitions {
			if topic.Internal && partition.Leader.Port != b.ports.client {
				continue // kafka-go asks this broker for internal topics, even if the other one leads them
			}
			ends.Topics[topic.Name] = append(ends.Topics[topic.Name], kafkago.LastOffsetOf(partition.ID))
		}
	}
	if len(ends.Topics) == 0 {
		return nil
	}
	answer, err := client.ListOffsets(ctx, ends)
	if err != nil {
		return err
	}
	for topic, partitions := range answer.Topics {
		for _, partition := range partitions {
			if partition.Error != nil {
				return fmt.Errorf("partition %d of topic %s: %w", partition.Partition, topic, partition.Error)
			}
		}
	}
	return nil
}

func (b *Broker) formatAndRun() error {
	b.shown = b.Addr()
	if b.opts.Advertise != nil {
		var err error
		if b.shown, err = b.opts.Advertise(b.Addr()); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(b.dir, propertiesFile), []byte(b.properties()), 0o600); err != nil {
		return err
	}
	if err := b.format(); err != nil {
		return err
	}
	return b.run()
}

// format formats the data folder; SCRAM logins are part of the cluster's metadata from the first record.
func (b *Broker) format() error {
	args := []string{"kafka.tools.StorageTool", "format", "--config", propertiesFile,
		"--cluster-id", "Z2l2ZXJueS10ZXN0LWthZg"}
	if b.opts.SASL == ScramSHA256 || b.opts.SASL == ScramSHA512 {
		args = append(args, "--add-scram",
			fmt.Sprintf("%s=[name=%s,password=%s]", b.opts.SASL, b.opts.User, b.opts.Password))
	}
	if out, err := b.java(args...).CombinedOutput(); err != nil {
		return fmt.Errorf("format the broker's data folder: %w\n%s", err, out)
	}
	return nil
}

// Process returns the current or last process.
func (b *Broker) Process() *proc.Process { return b.process }

// Launch starts the broker on the same data, without waiting until it is ready. The previous process must have
// ended. It must not be called concurrently.
func (b *Broker) Launch() (*proc.Process, error) {
	process, err := proc.Start(b.java("kafka.Kafka", propertiesFile), filepath.Join(b.dir, "broker.log"))
	if err == nil {
		b.process = process
	}
	return process, err
}

func (b *Broker) run() error {
	if _, err := b.Launch(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	err := b.poll(ctx, func() error { return b.settled(ctx) })
	if err == nil {
		return nil
	}
	return fmt.Errorf("kafka on %s is not ready: %w\n%s\n...\n%s", b.Addr(), err, b.process.LogMatch("ERROR", logErrors), b.Log())
}

// poll retries until success, the end of the broker, or the deadline.
func (b *Broker) poll(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-b.process.Done():
			return fmt.Errorf("the broker ended: %w", errors.Join(b.process.Err(), err))
		case <-ctx.Done():
			return fmt.Errorf("gave up after %s: %w", startTimeout, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (b *Broker) java(args ...string) *exec.Cmd {
	jvm := []string{
		"-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData",
		"-Djava.io.tmpdir=" + b.dir,
		"-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaConfig=warn", // else it prints every setting
		"-Dorg.slf4j.simpleLogger.log.org.apache.kafka.common.config.AbstractConfig=warn",
		"-cp", b.classpath,
	}
	cmd := exec.Command("java", append(jvm, args...)...)
	cmd.Dir = b.dir
	return cmd
}

func (b *Broker) cleanup() {
	b.transport.CloseIdleConnections()
	if b.process == nil {
		return
	}
	if b.tb.Failed() {
		b.tb.Logf("end of the broker's log:\n%s", b.Log())
	}
	b.process.Kill()
}

func classpath(tb testing.TB) string {
	tb.Helper()
	if _, err := exec.LookPath("java"); err != nil {
		tb.Fatal("java is missing: run `make deps-test` as root, or install Debian's default-jdk-headless")
	}
	libs := filepath.Join(repo.Dir(tb), ".deps", "kafka", "libs")
	if jars, _ := filepath.Glob(filepath.Join(libs, "kafka_*.jar")); len(jars) == 0 {
		tb.Fatalf("no Apache Kafka in %s: run `make deps-test`", libs)
	}
	return filepath.Join(libs, "*")
}

// ports are the three listeners of a node: for the tests, for the broker itself, for the controller.
type ports struct{ client, internal, controller int }

func (ports) addr(port int) string { return net.JoinHostPort("127.0.0.1", fmt.Sprint(port)) }
