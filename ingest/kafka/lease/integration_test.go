//go:build integration

package lease_test

import (
	"testing"
	"time"

	"github.com/giverny/giverny/internal/boot"
	"github.com/giverny/giverny/internal/test/apachekafka"
)

func TestApacheKafka(t *testing.T) {
	real := apachekafka.Start(t, apachekafka.Options{Properties: map[string]string{
		"group.min.session.timeout.ms": "1000", "group.initial.rebalance.delay.ms": "0"}})
	config := testConfig(3 * time.Second)
	config.Brokers = []string{real.Addr()}
	conformance(t, config, nil, boot.Clock)
}
