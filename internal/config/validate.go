package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/hostping/order"
	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/ingest/kafka/embedded"
	"github.com/giverny/giverny/internal/faults"
	"github.com/giverny/giverny/schema"
)

// Validate joins all errors.
func (c *Config) Validate() error {
	var f faults.List
	f.Under("log", c.Log.Validate())
	f.Under("http", c.HTTP.Validate())
	f.Check(c.DataDir != "", "data_dir", "is empty")
	f.Check(c.StopTimeout > 0, "stop_timeout", "%v: want a positive duration", c.StopTimeout)
	c.validateFabrics(&f)
	f.Under("kafka", c.Kafka.Validate())
	f.Under("spool", c.Spool.Validate())
	if c.Spool.Validate() == nil {
		f.Under("", kafka.CheckSpool(c.Kafka.Client, c.Spool))
	}
	f.Under("store", c.Store.Validate())
	f.Under("collect", c.Collect.Validate())
	c.validateAgent(&f)
	f.Under("command", c.Command.Validate())
	c.validateKinds(&f)
	f.Under("feedback", c.Feedback.Validate())
	f.Under("search.offer", c.Search.Offer.Validate())
	f.Under("search.launch", c.Search.Launch.Validate())
	f.Under("hostping", c.Hostping.Validate())
	for i := range c.Search.Workloads {
		f.Under("search.workloads", faults.At(strconv.Itoa(i), c.Search.Workloads[i].Validate()))
	}
	f.Under("dashboards", c.Dashboards.Validate())
	return f.Err()
}

// validateKinds rejects patterns of command.allow that match no kind of command: the rule would allow nothing.
func (c *Config) validateKinds(all *faults.List) {
	acting := []string{order.Kind, schema.KindSearch}
	var f faults.List
	for i, rule := range c.Command.Allow {
		for j, pattern := range rule.Kinds {
			matches := func(kind string) bool { return safety.Matches([]string{pattern}, kind) }
			f.Check(slices.ContainsFunc(acting, matches), fmt.Sprintf("%d.kinds.%d", i, j), "%q matches no kind of command that acts: %s", pattern, strings.Join(acting, ", "))
		}
	}
	all.Under("command.allow", f.Err())
}

func (c *Config) validateFabrics(all *faults.List) {
	names, partitions := map[string]bool{}, map[int]string{}
	for i := range c.Fabrics {
		var f faults.List
		fabric := &c.Fabrics[i]
		f.Check(fabric.Name != "", "name", "is empty")
		f.Check(fitsIntoPath(fabric.Name), "name", "%q: want printable characters without a slash, and not . or ..: it is part of paths of the API", fabric.Name)
		f.Check(!names[fabric.Name], "name", "%q is duplicated", fabric.Name)
		names[fabric.Name] = true
		if other, taken := partitions[fabric.Partition]; taken {
			f.Add("partition", "%d is %s's; each fabric needs its own", fabric.Partition, other)
		}
		partitions[fabric.Partition] = fabric.Name
		f.Check(fabric.Partition >= 0 && fabric.Partition < maxPartitions, "partition", "%d: want 0 to %d, or %d for its position in the list", fabric.Partition, maxPartitions-1, byPlace)
		f.Check(fabric.Topology != "", "topology", "is empty; give a specification such as torus:8x8x8, or a file")
		f.Under("", fabric.Analysis.Validate())
		all.Under(fmt.Sprintf("fabrics.%d (%s)", i, schema.OneLine(fabric.Name)), f.Err())
	}
}

// fitsIntoPath reports whether a name can be a segment of API paths, and be printed in logs and on terminals.
func fitsIntoPath(name string) bool {
	return name != "." && name != ".." && !strings.Contains(name, "/") && name == schema.OneLine(name)
}

// Validate joins all errors.
func (k *Kafka) Validate() error {
	var f faults.List
	client := k.Client
	if k.Embedded {
		f.Check(len(client.Brokers) == 0, "embedded", "both kafka.embedded and kafka.brokers; set kafka.embedded: false to use the brokers")
		client.Brokers = []string{embedded.Address}
	} else if len(client.Brokers) == 0 {
		f.Add("brokers", "none; set kafka.brokers, or kafka.embedded: true")
		client.Brokers = []string{embedded.Address} // report this only once
	}
	f.Under("", client.Validate())
	f.Under("embedded_broker", k.Broker.Validate())
	return f.Err()
}

// Validate joins all errors.
func (s *Store) Validate() error {
	var f faults.List
	f.Check(s.Embedded || !s.Server.URL.IsEmpty(), "url", "none; set store.url, or store.embedded: true")
	f.Check(!s.Embedded || s.Server.URL.IsEmpty(), "embedded", "both store.embedded and store.url; set store.embedded: false to use the url")
	f.Check(!s.Embedded || s.Tables.Cluster == "", "cluster", "both store.embedded and store.cluster; set store.embedded: false and store.url to use the cluster")
	f.Under("", s.Tables.Validate())
	f.Under("engine", s.Engine.Validate())
	f.Under("analyst", s.Analyst.Validate())
	f.Check(s.Analyst.Listen == "" || s.Embedded, "analyst.listen", "%q: only the embedded store has this listener; a ClickHouse server has its own", s.Analyst.Listen)
	return f.Err()
}

// Validate joins all errors.
func (c *Collect) Validate() error {
	var f faults.List
	f.Under("", c.Polling.Validate())
	f.Under("", c.Sources.Validate())
	for _, group := range c.FeedGroups() {
		f.Under(group.Name, group.Feeds.Validate())
	}
	f.Under("collectives", c.Collectives.Validate())
	return f.Err()
}

// validateAgent checks that the fabrics of the agent and its feeds are configured.
func (c *Config) validateAgent(f *faults.List) {
	for _, group := range c.Collect.FeedGroups() {
		for _, feed := range group.Feeds.Enabled() {
			for _, name := range group.Feeds.Sections[feed].Running.Fabrics {
				f.Check(c.fabric(name) != nil, fmt.Sprintf("collect.%s.%s.fabrics", group.Name, feed), "%q is not under fabrics", name)
			}
		}
	}
	var watched faults.List
	for i, folder := range c.Collect.Collectives.Folders {
		watched.Check(folder.Fabric == "" || c.fabric(folder.Fabric) != nil, fmt.Sprintf("folders.%d.fabric", i), "%q is not under fabrics", folder.Fabric)
	}
	f.Under("collect.collectives", watched.Err())
	name := c.Collect.Polling.Fabric
	if name == "" {
		f.Check(len(c.Fabrics) == 0 || !c.Collect.Enabled(), "collect.fabric", "is empty; name the one of fabrics that this host's readings belong to")
		return
	}
	f.Check(c.fabric(name) != nil, "collect.fabric", "%q is not under fabrics; name the one that this host's readings belong to", name)
}
