package apachekafka

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestClientListener shows the effect of each option on the broker's configuration.
func TestClientListener(t *testing.T) {
	login := Options{User: "monet", Password: "lilies"}
	for _, test := range []struct {
		name string
		opts Options
		want string
	}{
		{"plain text", Options{}, `
listener.security.protocol.map=CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,CLIENT:PLAINTEXT`},
		{"TLS", Options{TLS: ServerTLS}, `
listener.name.client.ssl.client.auth=none
listener.name.client.ssl.keystore.location=broker.pem
listener.name.client.ssl.keystore.type=PEM
listener.name.client.ssl.truststore.location=ca.pem
listener.name.client.ssl.truststore.type=PEM
listener.security.protocol.map=CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,CLIENT:SSL`},
		{"PLAIN", Options{SASL: Plain, User: login.User, Password: login.Password}, `
listener.name.client.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_monet="lilies";
listener.name.client.sasl.enabled.mechanisms=PLAIN
listener.security.protocol.map=CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,CLIENT:SASL_PLAINTEXT`},
		{"SCRAM over mutual TLS", Options{TLS: MutualTLS, SASL: ScramSHA512, User: login.User, Password: login.Password}, `
listener.name.client.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.client.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.client.ssl.client.auth=required
listener.name.client.ssl.keystore.location=broker.pem
listener.name.client.ssl.keystore.type=PEM
listener.name.client.ssl.truststore.location=ca.pem
listener.name.client.ssl.truststore.type=PEM
listener.security.protocol.map=CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,CLIENT:SASL_SSL`},
	} {
		t.Run(test.name, func(t *testing.T) {
			broker := &Broker{opts: test.opts}
			var got strings.Builder
			for line := range strings.Lines(broker.properties()) {
				if strings.HasPrefix(line, "listener.") {
					got.WriteString("\n" + strings.TrimSuffix(line, "\n"))
				}
			}
			if diff := cmp.Diff(test.want, got.String()); diff != "" {
				t.Errorf("listener settings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPropertiesOfTheTestWin(t *testing.T) {
	broker := &Broker{opts: Options{
		MaxMessageBytes: 1 << 21,
		Properties:      map[string]string{"auto.create.topics.enable": "true", "log.retention.ms": "1000"},
	}}
	for _, want := range []string{"message.max.bytes=2097152\n", "auto.create.topics.enable=true\n", "log.retention.ms=1000\n"} {
		if !strings.Contains(broker.properties(), want) {
			t.Errorf("%q is missing", want)
		}
	}
}
