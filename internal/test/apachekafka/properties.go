package apachekafka

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// File names relative to the broker's folder, its working directory: the folder is named after the test,
// and a comma in its name would split log.dirs.
const (
	propertiesFile = "server.properties"
	dataFolder     = "data"
	keystoreFile   = "broker.pem"
	truststoreFile = "ca.pem"
)

// properties returns the broker's configuration file. CLIENT is the listener under test;
// INTERNAL and CONTROLLER stay plain text, so that the options affect only clients.
func (b *Broker) properties() string {
	p := map[string]string{
		"process.roles":                            "broker,controller",
		"node.id":                                  "1",
		"controller.quorum.voters":                 "1@" + b.ports.addr(b.ports.controller),
		"controller.listener.names":                "CONTROLLER",
		"inter.broker.listener.name":               "INTERNAL",
		"listeners":                                b.listeners(b.Addr()) + ",CONTROLLER://" + b.ports.addr(b.ports.controller),
		"advertised.listeners":                     b.listeners(cmp.Or(b.shown, b.Addr())),
		"listener.security.protocol.map":           "CONTROLLER:PLAINTEXT,INTERNAL:PLAINTEXT,CLIENT:" + b.protocol(),
		"log.dirs":                                 dataFolder,
		"auto.create.topics.enable":                "false", // so that a missing topic is an error
		"broker.session.timeout.ms":                "4000",  // how long a killed broker stays registered; the default is 9 s
		"broker.heartbeat.interval.ms":             "500",
		"offsets.topic.replication.factor":         "1",
		"offsets.topic.num.partitions":             "1",
		"transaction.state.log.replication.factor": "1",
		"transaction.state.log.min.isr":            "1",
		"group.initial.rebalance.delay.ms":         "0",
		"num.network.threads":                      "2",
		"num.io.threads":                           "4",
	}
	if b.joined != nil {
		p["process.roles"], p["node.id"] = "broker", "2"
		p["controller.quorum.voters"] = "1@" + b.joined.ports.addr(b.joined.ports.controller)
		p["listeners"] = b.listeners(b.Addr())
	}
	b.addTLS(p)
	b.addSASL(p)
	if b.opts.MaxMessageBytes > 0 {
		p["message.max.bytes"] = strconv.Itoa(b.opts.MaxMessageBytes)
	}
	maps.Copy(p, b.opts.Properties)

	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(p)) {
		fmt.Fprintf(&text, "%s=%s\n", key, p[key])
	}
	return text.String()
}

func (b *Broker) listeners(client string) string {
	return "CLIENT://" + client + ",INTERNAL://" + b.ports.addr(b.ports.internal)
}

func (b *Broker) protocol() string {
	switch {
	case b.opts.TLS != NoTLS && b.opts.SASL != NoSASL:
		return "SASL_SSL"
	case b.opts.TLS != NoTLS:
		return "SSL"
	case b.opts.SASL != NoSASL:
		return "SASL_PLAINTEXT"
	}
	return "PLAINTEXT"
}

func (b *Broker) addTLS(p map[string]string) {
	if b.opts.TLS == NoTLS {
		return
	}
	const listener = "listener.name.client.ssl."
	p[listener+"keystore.type"] = "PEM"
	p[listener+"keystore.location"] = keystoreFile
	p[listener+"truststore.type"] = "PEM"
	p[listener+"truststore.location"] = truststoreFile
	p[listener+"client.auth"] = "none"
	if b.opts.TLS == MutualTLS {
		p[listener+"client.auth"] = "required"
	}
}

func (b *Broker) addSASL(p map[string]string) {
	if b.opts.SASL == NoSASL {
		return
	}
	mechanism := string(b.opts.SASL)
	p["listener.name.client.sasl.enabled.mechanisms"] = mechanism
	login := "org.apache.kafka.common.security.scram.ScramLoginModule required;"
	if b.opts.SASL == Plain {
		login = fmt.Sprintf("org.apache.kafka.common.security.plain.PlainLoginModule required user_%s=%q;",
			b.opts.User, b.opts.Password)
	}
	p["listener.name.client."+strings.ToLower(mechanism)+".sasl.jaas.config"] = login
}
