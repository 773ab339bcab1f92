package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	kafkago "github.com/segmentio/kafka-go"

	"github.com/giverny/giverny/ingest/envelope"
)

// kinds are the payloads that have a topic: those that some component writes and another reads.
var kinds = [...]envelope.Kind{envelope.Counters, envelope.Events, envelope.Jobs, envelope.Failures, envelope.Traffic,
	envelope.Regions, envelope.Diagnoses, envelope.Commands, envelope.Results}

// TopicPartitions returns every topic that EnsureTopics creates, with its number of partitions.
func (c *Config) TopicPartitions(partitions int) map[string]int {
	topics := map[string]int{c.DeadLetterTopic(): 1}
	for _, kind := range kinds {
		topics[c.Topic(kind)] = max(1, partitions)
	}
	return topics
}

// EnsureTopics creates the missing topics, each with as many partitions as the fabrics need: the highest partition
// number of a fabric plus one. It adds partitions to topics that have too few, and raises their maximum message size
// to the configured one. It returns once all partitions have a leader; it waits for topics that this client is not
// allowed to create.
func (c *Client) EnsureTopics(ctx context.Context, partitions int) error {
	want := c.config.TopicPartitions(partitions)
	old, denied, err := c.createTopics(ctx, want)
	if err != nil {
		return err
	}
	if err := c.growTopics(ctx, want, old); err != nil {
		return err
	}
	return c.awaitLeaders(ctx, want, denied)
}

// createTopics returns in old the topics that may already exist, and in denied, by name, those that this client may
// not create: for them a broker does not say whether they exist.
func (c *Client) createTopics(ctx context.Context, want map[string]int) (old []string, denied map[string]error, err error) {
	replicas := c.config.Replication
	if replicas == 0 {
		replicas = -1
	}
	configs := []kafkago.ConfigEntry{
		{ConfigName: "cleanup.policy", ConfigValue: "delete"},
		{ConfigName: "retention.ms", ConfigValue: strconv.FormatInt(c.config.Retention.Milliseconds(), 10)},
		{ConfigName: "retention.bytes", ConfigValue: strconv.FormatInt(c.config.RetentionBytes, 10)},
		{ConfigName: "max.message.bytes", ConfigValue: strconv.Itoa(c.config.MaxBatchBytes())},
	}
	var request kafkago.CreateTopicsRequest
	for name, partitions := range want {
		own := slices.Clip(configs)
		if name == c.config.Topic(envelope.Counters) {
			own = append(own, kafkago.ConfigEntry{ConfigName: timestampType, ConfigValue: appendTime})
		}
		request.Topics = append(request.Topics, kafkago.TopicConfig{Topic: name, NumPartitions: partitions, ReplicationFactor: replicas, ConfigEntries: own})
	}
	var response *kafkago.CreateTopicsResponse
	if err := c.retry(ctx, "create topics", func() (err error) {
		response, err = c.kafka.CreateTopics(ctx, &request)
		return err
	}); err != nil {
		return nil, nil, err
	}
	var faults []error
	denied = map[string]error{}
	for name, err := range response.Errors {
		switch {
		case errors.Is(err, kafkago.TopicAlreadyExists):
			old = append(old, name)
		case errors.Is(err, kafkago.TopicAuthorizationFailed), errors.Is(err, kafkago.ClusterAuthorizationFailed):
			old, denied[name] = append(old, name), err
		case err != nil:
			faults = append(faults, notCreated(name, err))
		}
	}
	return old, denied, errors.Join(faults...)
}

func notCreated(topic string, err error) error {
	return fmt.Errorf("create topic %s: %w; create it manually if this client may not", topic, err)
}

// With this setting a broker records when it appended a record; the agents' clocks are checked against that.
const (
	timestampType = "message.timestamp.type"
	appendTime    = "LogAppendTime"
)

// growTopics brings existing topics up to what is wanted.
func (c *Client) growTopics(ctx context.Context, want map[string]int, old []string) error {
	if len(old) == 0 {
		return nil
	}
	slices.Sort(old)
	var metadata *kafkago.MetadataResponse
	if err := c.retry(ctx, "look up topics", func() (err error) {
		metadata, err = c.kafka.Metadata(ctx, &kafkago.MetadataRequest{Topics: old})
		return err
	}); err != nil {
		return err
	}
	for _, topic := range metadata.Topics {
		if topic.Error != nil || len(topic.Partitions) >= want[topic.Name] {
			continue
		}
		if err := c.addPartitions(ctx, topic.Name, want[topic.Name]); err != nil {
			return err
		}
	}
	if counters := c.config.Topic(envelope.Counters); slices.Contains(old, counters) {
		c.takeAppendTime(ctx, counters)
	}
	return c.raiseLimits(ctx, old)
}

func (c *Client) addPartitions(ctx context.Context, topic string, partitions int) error {
	response, err := c.kafka.CreatePartitions(ctx, &kafkago.CreatePartitionsRequest{
		Topics: []kafkago.TopicPartitionsConfig{{Name: topic, Count: int32(partitions)}}})
	if err == nil {
		err = response.Errors[topic]
	}
	// The cached metadata may be two seconds old, or another process was faster.
	if err != nil && !errors.Is(err, kafkago.InvalidPartitionNumber) {
		return fmt.Errorf("topic %s needs %d partitions: %w; add them manually if this client may not", topic, partitions, err)
	}
	return nil
}

// takeAppendTime makes an existing topic use the broker's append time. If this client may not do that, the
// analysis works without the check of clocks.
func (c *Client) takeAppendTime(ctx context.Context, topic string) {
	result, err := c.kafka.IncrementalAlterConfigs(ctx, &kafkago.IncrementalAlterConfigsRequest{
		Resources: []kafkago.IncrementalAlterConfigsRequestResource{{ResourceType: kafkago.ResourceTypeTopic, ResourceName: topic,
			Configs: []kafkago.IncrementalAlterConfigsRequestConfig{{Name: timestampType, Value: appendTime, ConfigOperation: kafkago.ConfigOperationSet}}}}})
	for i := 0; err == nil && i < len(result.Resources); i++ {
		err = result.Resources[i].Error
	}
	if err != nil {
		c.log.Warn("kafka: message.timestamp.type of the topic not set; unless it is LogAppendTime already, set it manually, otherwise agents' clocks are compared with this host's clock only",
			"topic", topic, "error", err)
	}
}

func (c *Client) raiseLimits(ctx context.Context, topics []string) error {
	const key = "max.message.bytes"
	var ask kafkago.DescribeConfigsRequest
	for _, topic := range topics {
		ask.Resources = append(ask.Resources, kafkago.DescribeConfigRequestResource{
			ResourceType: kafkago.ResourceTypeTopic, ResourceName: topic, ConfigNames: []string{key}})
	}
	answer, err := c.kafka.DescribeConfigs(ctx, &ask)
	if err != nil {
		return fmt.Errorf("look up %s of the topics: %w", key, err)
	}
	var change kafkago.IncrementalAlterConfigsRequest
	for _, resource := range answer.Resources {
		for _, entry := range resource.ConfigEntries {
			limit, err := strconv.Atoi(entry.ConfigValue)
			if entry.ConfigName != key || err != nil || limit >= c.config.MaxBatchBytes() {
				continue
			}
			change.Resources = append(change.Resources, kafkago.IncrementalAlterConfigsRequestResource{
				ResourceType: kafkago.ResourceTypeTopic, ResourceName: resource.ResourceName,
				Configs: []kafkago.IncrementalAlterConfigsRequestConfig{{Name: key, Value: strconv.Itoa(c.config.MaxBatchBytes()), ConfigOperation: kafkago.ConfigOperationSet}}})
		}
	}
	if len(change.Resources) == 0 {
		return nil
	}
	result, err := c.kafka.IncrementalAlterConfigs(ctx, &change)
	if err != nil {
		return fmt.Errorf("raise %s to %d: %w", key, c.config.MaxBatchBytes(), err)
	}
	var faults []error
	for _, r := range result.Resources {
		if r.Error != nil {
			faults = append(faults, fmt.Errorf("raise %s of topic %s to %d: %w; raise it manually if this client may not", key, r.ResourceName, c.config.MaxBatchBytes(), r.Error))
		}
	}
	return errors.Join(faults...)
}

// awaitLeaders waits until the transport, which refreshes its metadata every two seconds, knows the leaders of all
// partitions, and until the topics that this client may not create have been created by others.
func (c *Client) awaitLeaders(ctx context.Context, want map[string]int, denied map[string]error) error {
	return c.retry(ctx, "wait for the topics' leaders", func() error {
		metadata, err := c.kafka.Metadata(ctx, &kafkago.MetadataRequest{})
		if err != nil {
			return err
		}
		ready := make(map[string]int)
		for _, topic := range metadata.Topics {
			for _, p := range topic.Partitions {
				if p.Error == nil && p.Leader.Host != "" {
					ready[topic.Name]++
				}
			}
		}
		for name, partitions := range want {
			if err := denied[name]; err != nil && ready[name] == 0 {
				return notCreated(name, err)
			}
			if ready[name] < partitions {
				return fmt.Errorf("topic %s: %d of %d partitions have a leader", name, ready[name], partitions)
			}
		}
		return nil
	})
}
