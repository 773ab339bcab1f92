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
	"github.com/giverny/giverny/internal/config"
	"github.com/giverny/giverny/internal/plural"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
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
	devices := devicesOf(loaded[0].Graph, names, hosts)
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

// devicesOf returns the devices of each host in a fabric, none for a host that is not known.
func devicesOf(g *topology.Graph, names nodes.Map, hosts []string) [][]string {
	resolver := nodes.New([]*topology.Graph{g}, names)
	devices := make([][]string, len(hosts))
	for i, host := range hosts {
		if found, reason := resolver.Device(host); reason == "" && len(found) > 0 {
			devices[i] = found[0]
		}
	}
	return devices
}

// PublishCollective publishes a report like an agent's result, which the fabric's
// analyser stores, and returns its ID.
func (p *Process) PublishCollective(ctx context.Context, fabric string, r *report.Report) (id string, err error) {
	f, err := FabricNamed(p.cfg.Fabrics, fabric)
	if err != nil {
		return "", err
	}
	agent, err := p.cfg.Collect.AgentName() // results are signed and verified under this name
	if err != nil {
		return "", err
	}
	if err := p.reachKafka(); err != nil {
		return "", err
	}
	defer p.Close()
	signer, err := resultSigner(&p.cfg, agent)
	if err != nil {
		return "", err
	}
	return publishCollective(ctx, command.Publisher{Sink: kafka.NewProducer(p.client), Signer: signer}, f.Name, f.Partition, agent, r, time.Now)
}

func publishCollective(ctx context.Context, out command.Publisher, fabric string, partition int, agent string, r *report.Report, now func() time.Time) (id string, err error) {
	output, err := command.Output(r)
	if err != nil {
		return "", err
	}
	result := schema.CommandResult{CommandID: r.ID(), Fabric: fabric, Agent: agent, Time: schema.Instant(now().UnixNano()), Status: schema.CommandDone, Kind: report.Kind, Output: output}
	if err := out.Publish(ctx, partition, &result); err != nil {
		return "", fmt.Errorf("publish collective %s: %w", result.CommandID, err)
	}
	return result.CommandID, nil
}
