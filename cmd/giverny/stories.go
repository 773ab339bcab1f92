package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/giverny/giverny/simulate/scenario"
	"github.com/giverny/giverny/topology"
)

// storyGraph returns the fabric of a story, or its replacement.
func storyGraph(script *scenario.Script, instead string, log *slog.Logger) (*topology.Graph, error) {
	home := script.Fabric.Topology
	graph, err := loadTopology(cmp.Or(instead, home), script.Fabric.Name, log)
	if err != nil || instead == "" {
		return graph, err
	}
	was := placesOf(script)
	if err := script.PlayOn(graph, instead); err != nil {
		return nil, notPlayable(graph, instead, err)
	}
	if placesOf(script) != was {
		log.Info("simulate: hosts, links and switches of the story replaced by those of this fabric at the same place; texts of its events name the original ones",
			"story", script.Name, "written_for", home)
	}
	return graph, nil
}

// placesOf are the hosts of a story's jobs and the objects of its events.
func placesOf(script *scenario.Script) string {
	var places []string
	for i := range script.Jobs {
		places = append(places, script.Jobs[i].Hosts)
	}
	for i := range script.Events {
		places = append(places, script.Events[i].Object)
	}
	return strings.Join(places, "\n")
}

// notPlayable adds to the error of a story which stories play on the fabric.
func notPlayable(graph *topology.Graph, source string, err error) error {
	other := "write one (docs/how-to/simulate.md)"
	if names := scenario.Playable(graph); names != nil {
		other = "choose a story that plays on this fabric, " + strings.Join(names, ", ") + ", or " + other
	}
	return fmt.Errorf("--topology %s: %w; %s", source, err, other)
}

// stretch changes the duration of a story to the value of --for; 0 leaves it unchanged.
func stretch(script *scenario.Script, duration time.Duration) error {
	least := 2 * script.Interval // with less than two, jobs end when they start
	switch {
	case duration == 0:
		return nil
	case duration < least:
		return fmt.Errorf("--for %v: want at least %v, two intervals of the story, or 0 for its default", duration, least)
	}
	script.Stretch(duration)
	return nil
}
