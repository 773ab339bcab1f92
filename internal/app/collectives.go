package app

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/agent"
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/plural"
)

// CollectiveDevices returns the devices of each host in a fabric, or in the only one;
// nodeMap is a node map file as for feeds, or empty. A host without a device is an
// error.
func (p *Process) CollectiveDevices(fabric, nodeMap string, hosts []string) ([][]string, error) {
	f, err := FabricNamed(p.cfg.Fabrics, fabric)
	if err != nil {
		return nil, err
	}
	loaded, err := LoadFabrics([]config.Fabric{f}, p.log)
	if err != nil {
		return nil, err
	}
	names, err := nodes.OpenMap(os.Open, nodeMap)
	if err != nil {
		return nil, fmt.Errorf("--node-map: %w", err)
	}
	devices := agent.DevicesOf(loaded[0].Graph, names, hosts)
	var unknown []string
	for i, host := range hosts {
		if len(devices[i]) == 0 {
			unknown = append(unknown, host)
		}
	}
	if len(unknown) > 0 {
		const shown = 5
		return nil, fmt.Errorf("no device of fabric %s for %s of the collective (%s): give --node-map FILE with lines of host, tab, device",
			f.Name, plural.Count(len(unknown), "host", "hosts"), strings.Join(unknown[:min(len(unknown), shown)], ", "))
	}
	return devices, nil
}

// PublishCollective publishes a report like an agent's result, which the fabric's
// analyser stores, and returns its ID.
func (p *Process) PublishCollective(ctx context.Context, fabric string, r *report.Report) (id string, err error) {
	f, err := FabricNamed(p.cfg.Fabrics, fabric)
	if err != nil {
		return "", err
	}
	name, err := p.cfg.Collect.AgentName() // results are signed and verified under this name
	if err != nil {
		return "", err
	}
	if err := p.reachKafka(); err != nil {
		return "", err
	}
	defer p.Close()
	signer, err := agent.ResultSigner(&p.cfg, name)
	if err != nil {
		return "", err
	}
	return agent.PublishCollective(ctx, command.Publisher{Sink: kafka.NewProducer(p.client), Signer: signer}, f.Name, f.Partition, name, r, time.Now)
}
