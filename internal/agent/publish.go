package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/giverny/giverny/collective/report"
	"github.com/giverny/giverny/collectors/nodes"
	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/topology"
)

// DevicesOf returns the devices of each host in a fabric, none for a host that is not known.
func DevicesOf(g *topology.Graph, names nodes.Map, hosts []string) [][]string {
	resolver := nodes.New([]*topology.Graph{g}, names)
	devices := make([][]string, len(hosts))
	for i, host := range hosts {
		if found, reason := resolver.Device(host); reason == "" && len(found) > 0 {
			devices[i] = found[0]
		}
	}
	return devices
}

// PublishCollective publishes a report like an agent's result, and returns its ID.
func PublishCollective(ctx context.Context, out command.Publisher, fabric string, partition int, agent string, r *report.Report, now func() time.Time) (id string, err error) {
	output, err := command.Output(r)
	if err != nil {
		return "", err
	}
	result := schema.CommandResult{CommandID: r.ID(), Fabric: fabric, Agent: agent, Time: schema.InstantOf(now()), Status: schema.CommandDone, Kind: report.Kind, Output: output}
	if err := out.Publish(ctx, partition, &result); err != nil {
		return "", fmt.Errorf("publish collective %s: %w", result.CommandID, err)
	}
	return result.CommandID, nil
}
