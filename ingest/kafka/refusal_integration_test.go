//go:build integration

package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/giverny/giverny/ingest/envelope"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/spool"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/test/apachekafka"
	"github.com/giverny/giverny/internal/test/metric"
)

// refusing is a broker that answers an agent, but can be made to reject its records.
type refusing struct {
	t     *testing.T
	real  *apachekafka.Broker
	admin *peer
	topic string
}

const agentUser, agentPassword = "agent", "pond"

func newRefusing(t *testing.T) (*refusing, *peer) {
	real := apachekafka.Start(t, apachekafka.Options{SASL: apachekafka.Plain, User: "admin", Password: "water-lilies", Properties: map[string]string{
		"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users":           "User:ANONYMOUS;User:admin",
		"listener.name.client.plain.sasl.jaas.config": fmt.Sprintf("org.apache.kafka.common.security.plain.PlainLoginModule required user_admin=%q user_%s=%q;",
			"water-lilies", agentUser, agentPassword)}})
	config := secureConfig(t, real, apachekafka.Options{SASL: apachekafka.Plain})
	r := &refusing{t: t, real: real, admin: newPeer(t, &broker{config: config}), topic: config.TopicPrefix + "events"}
	r.admin.topics(t, 1)
	r.access(kafkago.ACLOperationTypeDescribe, true)
	r.access(kafkago.ACLOperationTypeRead, true)
	r.access(kafkago.ACLOperationTypeWrite, true)
	config.SASL.User, config.SASL.Password, config.SASL.PasswordFile = agentUser, secret.NewText(agentPassword), ""
	config.Producer.SpoolAfter = time.Second
	return r, newPeer(t, &broker{config: config})
}

// access gives the agent a right on all topics, or takes it.
func (r *refusing) access(operation kafkago.ACLOperationType, allow bool) {
	r.t.Helper()
	r.accessTo("*", operation, allow)
}

func (r *refusing) accessTo(topic string, operation kafkago.ACLOperationType, allow bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var errs []error
	if allow {
		answer, err := r.real.Client().CreateACLs(ctx, &kafkago.CreateACLsRequest{ACLs: []kafkago.ACLEntry{{ResourceType: kafkago.ResourceTypeTopic, ResourceName: topic,
			ResourcePatternType: kafkago.PatternTypeLiteral, Principal: "User:" + agentUser, Host: "*", Operation: operation, PermissionType: kafkago.ACLPermissionTypeAllow}}})
		errs = append(answer.Errors, err)
	} else {
		_, err := r.real.Client().DeleteACLs(ctx, &kafkago.DeleteACLsRequest{Filters: []kafkago.DeleteACLsFilter{{ResourceTypeFilter: kafkago.ResourceTypeTopic, ResourceNameFilter: topic,
			ResourcePatternTypeFilter: kafkago.PatternTypeLiteral, PrincipalFilter: "User:" + agentUser, HostFilter: "*", Operation: operation, PermissionType: kafkago.ACLPermissionTypeAllow}}})
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		r.t.Fatal(err)
	}
}

// A topic that an agent may not write to does not block the records of others.
func TestADeniedTopicDoesNotBlockOthers(t *testing.T) {
	r, p := newRefusing(t)
	config := spool.DefaultConfig()
	config.Dir = t.TempDir()
	a := startAgent(t, p, config)
	defer a.stop(t)
	r.access(kafkago.ACLOperationTypeWrite, false)
	time.Sleep(time.Second) // until the broker has applied it
	for i := range 20 {
		other := event("f", 0, i)
		other.Kind = envelope.Jobs
		for _, record := range []kafka.Record{event("f", 0, i), other} {
			if err := a.producer.Produce(p.ctx, record); err != nil {
				t.Fatal(err)
			}
		}
	}
	r.accessTo(strings.TrimSuffix(r.topic, "events")+"jobs", kafkago.ACLOperationTypeWrite, true)
	waitFor(t, "the jobs to pass", func() bool { return a.spool.Len() == 20 })
	if err := a.producer.Ready(p.ctx); err == nil || !strings.Contains(err.Error(), "giverny.events/0 accepts no records") || strings.Contains(err.Error(), "giverny.jobs") {
		t.Errorf("ready: %v", err)
	}
	r.access(kafkago.ACLOperationTypeWrite, true)
	waitFor(t, "an empty spool", func() bool { return a.spool.Len() == 0 && a.producer.Ready(p.ctx) == nil })
}

func (r *refusing) maxMessageBytes(n int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	answer, err := r.real.Client().IncrementalAlterConfigs(ctx, &kafkago.IncrementalAlterConfigsRequest{Resources: []kafkago.IncrementalAlterConfigsRequestResource{{
		ResourceType: kafkago.ResourceTypeTopic, ResourceName: r.topic,
		Configs: []kafkago.IncrementalAlterConfigsRequestConfig{{Name: "max.message.bytes", Value: fmt.Sprint(n), ConfigOperation: kafkago.ConfigOperationSet}}}}})
	if err == nil {
		err = answer.Resources[0].Error
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// A broker that answers but rejects what an agent sends is a fault of its readiness; the records wait in the spool, and all
// arrive once it accepts them. GIVERNY_REFUSE_FOR lengthens the fault.
func TestARefusedRecordWaitsInTheSpool(t *testing.T) {
	last := 8 * time.Second
	if text := os.Getenv("GIVERNY_REFUSE_FOR"); text != "" {
		var err error
		if last, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	r, p := newRefusing(t)
	var cancel context.CancelFunc
	p.ctx, cancel = context.WithTimeout(context.Background(), 3*last+5*time.Minute)
	defer cancel()
	config := spool.DefaultConfig()
	config.Dir = t.TempDir()
	a := startAgent(t, p, config)
	defer a.stop(t)
	var want []string
	put := func(payload string) {
		t.Helper()
		record := event("f", 0, len(want))
		record.Payload = append(record.Payload, payload...)
		want = append(want, string(record.Payload))
		if err := a.producer.Produce(p.ctx, record); err != nil {
			t.Fatal(err)
		}
	}
	large := strings.Repeat("x", 100<<10)
	for _, c := range []struct {
		name, want     string
		refuse, accept func()
	}{
		{"no right", "Topic Authorization Failed", func() { r.access(kafkago.ACLOperationTypeWrite, false) }, func() { r.access(kafkago.ACLOperationTypeWrite, true) }},
		{"all too large", "Message Size Too Large", func() { r.maxMessageBytes(100) }, func() { r.maxMessageBytes(2 << 20) }},
		{"some too large", "max.message.bytes", func() { r.maxMessageBytes(64 << 10) }, func() { r.maxMessageBytes(2 << 20) }},
	} {
		put("before " + c.name)
		waitFor(t, "an empty spool", func() bool { return a.spool.Len() == 0 && a.producer.Ready(p.ctx) == nil })
		c.refuse()
		time.Sleep(time.Second) // until the broker has applied it
		for began := time.Now(); time.Since(began) < last; time.Sleep(100 * time.Millisecond) {
			put("small")
			if len(want)%20 == 0 {
				put(large)
			}
		}
		err := a.producer.Ready(p.ctx)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: ready: %v", c.name, err)
		}
		if n := a.spool.Len(); n == 0 || c.name == "some too large" && n > len(want)/10 {
			t.Errorf("%s: %d records wait, of %d", c.name, n, len(want))
		}
		t.Logf("%s: %v; spool: %s", c.name, err, a.spool.State())
		c.accept()
		waitFor(t, "the spool to drain", func() bool { return a.spool.Len() == 0 })
		waitFor(t, "readiness", func() bool { return a.producer.Ready(p.ctx) == nil })
	}
	put("last")
	reader := newPeer(t, &broker{config: *p.client.Config()})
	got := map[string]bool{}
	for _, payload := range reader.readAtLeast(t, kafka.Assignment{Kind: event("f", 0, 0).Kind, Fabric: "f", Tail: true, Lookback: time.Hour}, want[len(want)-1]) {
		got[payload] = true
	}
	if lost := slices.DeleteFunc(slices.Clone(want), func(s string) bool { return got[s] }); len(lost) > 0 {
		t.Errorf("%d of %d records lost, the first %.60q", len(lost), len(want), lost[0])
	}
	if n := metric.Sum(t, p.metrics, "giverny_kafka_produce_dropped_total"); n != 0 {
		t.Errorf("%v records counted as dropped", n)
	}
	t.Logf("%d records, %d read", len(want), len(slices.Collect(maps.Keys(got))))
}
