//go:build integration

package apachekafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func produce(t *testing.T, b *Broker, topic string, value string) error {
	t.Helper()
	answer, err := b.Client().Produce(testContext(t), &kafkago.ProduceRequest{
		Topic: topic, Partition: 0, RequiredAcks: kafkago.RequireAll,
		Records: kafkago.NewRecordReader(kafkago.Record{Value: kafkago.NewBytes([]byte(value))}),
	})
	if err != nil {
		return err
	}
	return answer.Error
}

// fetch returns the lengths or, if short, the texts of all messages in partition 0.
func fetch(t *testing.T, b *Broker, topic string) []string {
	t.Helper()
	answer, err := b.Client().Fetch(testContext(t), &kafkago.FetchRequest{
		Topic: topic, Partition: 0, Offset: 0, MinBytes: 1, MaxBytes: 8 << 20, MaxWait: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Error != nil {
		t.Fatal(answer.Error)
	}
	var values []string
	for {
		record, err := answer.Records.ReadRecord()
		if errors.Is(err, io.EOF) {
			return values
		}
		if err != nil {
			t.Fatal(err)
		}
		value, err := kafkago.ReadAll(record.Value)
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, string(value))
	}
}

func TestDataOutliveACrash(t *testing.T) {
	b := Start(t, Options{MaxMessageBytes: 3 << 20})
	b.CreateTopic("counters", 2, map[string]string{"max.message.bytes": fmt.Sprint(3 << 20)})
	large := strings.Repeat("x", 2<<20)
	for _, value := range []string{"before", large} {
		if err := produce(t, b, "counters", value); err != nil {
			t.Fatal(err)
		}
	}
	addr := b.Addr()

	b.Kill9()
	if conn, err := net.DialTimeout("tcp", addr, time.Second); err == nil {
		conn.Close()
		t.Fatal("a killed broker still accepts connections")
	}
	b.Restart()

	if b.Addr() != addr {
		t.Errorf("after the restart the broker is at %s, was at %s", b.Addr(), addr)
	}
	if err := produce(t, b, "counters", "after"); err != nil {
		t.Fatal(err)
	}
	got := fetch(t, b, "counters")
	if len(got) != 3 || got[0] != "before" || got[1] != large || got[2] != "after" {
		t.Errorf("after the restart partition 0 holds %d messages, want before, 2 MiB, after", len(got))
	}
	if !strings.Contains(b.Log(), "INFO") {
		t.Error("the broker's log is silent; is a binding for slf4j among the jars?")
	}
}

func TestLimitsAndMissingTopics(t *testing.T) {
	b := Start(t, Options{})
	b.CreateTopic("small", 1, nil)
	if err := produce(t, b, "small", strings.Repeat("x", 2<<20)); !errors.Is(err, kafkago.MessageSizeTooLarge) {
		t.Errorf("2 MiB into a topic of 1 MiB: %v, want %v", err, kafkago.MessageSizeTooLarge)
	}
	if err := produce(t, b, "absent", "x"); err == nil {
		t.Error("a topic that does not exist took a message")
	}
	b.Stop()
	b.Restart()
	if err := produce(t, b, "small", "x"); err != nil {
		t.Errorf("after an orderly stop: %v", err)
	}
}
