//go:build integration

package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"go.uber.org/goleak"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/secret"
	"github.com/giverny/giverny/internal/test/apachekafka"
)

// One broker serves the whole suite; every subtest has its own topics and group.
func TestApacheKafka(t *testing.T) {
	real := apachekafka.Start(t, apachekafka.Options{})
	n := 0
	conformance(t, func(t *testing.T) *broker {
		n++
		noLeaks(t, goleak.IgnoreAnyFunction("github.com/giverny/giverny/internal/test/proc.(*Process).run"))
		config := testConfig()
		config.Brokers = []string{real.Addr()}
		config.TopicPrefix = fmt.Sprintf("test%d.", n)
		config.Consumer.Group = fmt.Sprintf("test%d", n)
		return &broker{config: config, stop: real.Kill9, start: real.Restart, appendTime: true}
	})
}

func TestApacheKafkaSecurity(t *testing.T) {
	for _, c := range []struct {
		name    string
		options apachekafka.Options
	}{
		{"PLAIN over TLS", apachekafka.Options{TLS: apachekafka.ServerTLS, SASL: apachekafka.Plain}},
		{"SCRAM-SHA-256", apachekafka.Options{SASL: apachekafka.ScramSHA256}},
		{"mutual TLS alone", apachekafka.Options{TLS: apachekafka.MutualTLS}},
		{"SCRAM-SHA-512 over mutual TLS", apachekafka.Options{TLS: apachekafka.MutualTLS, SASL: apachekafka.ScramSHA512}},
	} {
		t.Run(c.name, func(t *testing.T) {
			real := apachekafka.Start(t, c.options)
			noLeaks(t)
			b := &broker{config: secureConfig(t, real, c.options)}
			testOrder(t, b)
			strangers(t, b, c.options)
			if c.options.TLS == apachekafka.MutualTLS {
				renewal(t, b)
			}
		})
	}
}

func secureConfig(t *testing.T, real *apachekafka.Broker, options apachekafka.Options) kafka.Config {
	t.Helper()
	config := testConfig()
	config.Brokers = []string{real.Addr()}
	if certs := real.Certificates(); certs != nil {
		config.TLS = kafka.TLS{Enabled: true, CA: certs.CAFile}
		if options.TLS == apachekafka.MutualTLS {
			config.TLS.Cert, config.TLS.Key = certs.ClientCert, certs.ClientKey
		}
	}
	if options.SASL != apachekafka.NoSASL {
		user, password := real.Login()
		file := filepath.Join(t.TempDir(), "password")
		if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		config.SASL = kafka.SASL{Mechanism: string(options.SASL), User: user, PasswordFile: file}
	}
	return config
}

// strangers are clients that must be rejected, with an error that says why.
func strangers(t *testing.T, b *broker, options apachekafka.Options) {
	t.Helper()
	ping := func(change func(c *kafka.Config)) error {
		stranger := *b
		change(&stranger.config)
		p := newPeer(t, &stranger)
		return p.client.Ping(p.ctx)
	}
	if options.TLS != apachekafka.NoTLS {
		err := ping(func(c *kafka.Config) { c.TLS.CA = "" })
		if err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
			t.Errorf("an unknown authority: %v", err)
		}
		if err := ping(func(c *kafka.Config) { c.TLS.ServerName = "elsewhere" }); err == nil || !strings.Contains(err.Error(), "not elsewhere") {
			t.Errorf("another name in the certificate: %v", err)
		}
	}
	if options.TLS == apachekafka.MutualTLS {
		if err := ping(func(c *kafka.Config) { c.TLS.Cert, c.TLS.Key = "", "" }); err == nil {
			t.Error("a client without a certificate was let in")
		}
	}
	if options.SASL != apachekafka.NoSASL {
		err := ping(func(c *kafka.Config) { c.SASL.Password, c.SASL.PasswordFile = secret.NewText("wrong"), "" })
		if !errors.Is(err, kafkago.SASLAuthenticationFailed) {
			t.Errorf("a wrong password: %v", err)
		}
	}
}

// renewal replaces a client's certificate, which the broker rejects, by one that it accepts, without a new client.
func renewal(t *testing.T, b *broker) {
	t.Helper()
	good, renewed := b.config.TLS, *b
	dir := t.TempDir()
	renewed.config.TLS.Cert, renewed.config.TLS.Key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	foreign := apachekafka.NewCertificates(t, t.TempDir())
	replace := func(cert, key string) {
		t.Helper()
		for to, from := range map[string]string{renewed.config.TLS.Cert: cert, renewed.config.TLS.Key: key} {
			text, err := os.ReadFile(from)
			if err == nil {
				err = os.WriteFile(to, text, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	replace(foreign.ClientCert, foreign.ClientKey)
	p := newPeer(t, &renewed)
	if err := p.client.Ping(p.ctx); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate of another authority: %v", err)
	}
	replace(good.Cert, good.Key)
	waitFor(t, "the renewed certificate", func() bool { return p.client.Ping(p.ctx) == nil })
}

// TestApacheKafkaPermissions: a client that may use topics but not create them works with those that somebody else has
// created. A broker denies creation whether they exist or not.
func TestApacheKafkaPermissions(t *testing.T) {
	const agent, password = "agent", "pond"
	real := apachekafka.Start(t, apachekafka.Options{SASL: apachekafka.Plain, User: "admin", Password: "water-lilies", Properties: map[string]string{
		"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
		"super.users":           "User:ANONYMOUS;User:admin", // the broker itself is the former
		"listener.name.client.plain.sasl.jaas.config": fmt.Sprintf("org.apache.kafka.common.security.plain.PlainLoginModule required user_admin=%q user_%s=%q;",
			"water-lilies", agent, password),
	}})
	admin := newPeer(t, &broker{config: secureConfig(t, real, apachekafka.Options{SASL: apachekafka.Plain})})
	admin.topics(t, 2)
	var rights []kafkago.ACLEntry
	for _, operation := range []kafkago.ACLOperationType{kafkago.ACLOperationTypeRead, kafkago.ACLOperationTypeWrite, kafkago.ACLOperationTypeDescribe} {
		rights = append(rights, kafkago.ACLEntry{ResourceType: kafkago.ResourceTypeTopic, ResourceName: "*", ResourcePatternType: kafkago.PatternTypeLiteral,
			Principal: "User:" + agent, Host: "*", Operation: operation, PermissionType: kafkago.ACLPermissionTypeAllow})
	}
	answer, err := real.Client().CreateACLs(admin.ctx, &kafkago.CreateACLsRequest{ACLs: rights})
	if err = errors.Join(append(answer.Errors, err)...); err != nil {
		t.Fatal(err)
	}
	own := secureConfig(t, real, apachekafka.Options{SASL: apachekafka.Plain})
	own.SASL.User, own.SASL.Password, own.SASL.PasswordFile = agent, secret.NewText(password), ""
	restricted := newPeer(t, &broker{config: own})
	restricted.topics(t, 2)
	restricted.produce(t, event("f", 1, 0))
	if err := restricted.client.EnsureTopics(restricted.ctx, 3); err == nil || !strings.Contains(err.Error(), "needs 3 partitions") {
		t.Errorf("topics with too few partitions: %v", err)
	}
	own.TopicPrefix = "missing."
	says := ""
	for patience := 3 * time.Second; patience < time.Minute && !strings.Contains(says, "create it manually"); patience *= 2 { // it waits for them as long as it can
		waiting, stop := context.WithTimeout(restricted.ctx, patience)
		says = fmt.Sprint(newPeer(t, &broker{config: own}).client.EnsureTopics(waiting, 1))
		stop()
	}
	if !strings.Contains(says, "create it manually") {
		t.Errorf("topics that are missing: %s", says)
	}
}
