package kafka_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/giverny/giverny/ingest/kafka"
	"github.com/giverny/giverny/internal/test/repo"
)

// The reference page lists exactly the topics that are created.
func TestReferenceListsTheTopics(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(repo.Dir(t), "docs", "reference", "kafka.md"))
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(giverny\\.[a-z]+)` \\|").FindAllSubmatch(page, -1) {
		listed = append(listed, string(row[1]))
	}
	config := kafka.DefaultConfig()
	var made []string
	for topic := range config.TopicPartitions(1) {
		made = append(made, topic)
	}
	slices.Sort(made)
	slices.Sort(listed)
	if !slices.Equal(made, listed) {
		t.Errorf("docs/reference/kafka.md lists %v, made are %v", listed, made)
	}
}

func TestTopicPartitions(t *testing.T) {
	config := kafka.DefaultConfig()
	config.TopicPrefix = "site."
	for topic, partitions := range config.TopicPartitions(4) {
		want := 4
		if topic == "site.deadletter" {
			want = 1
		}
		if partitions != want {
			t.Errorf("%s has %d partitions, want %d", topic, partitions, want)
		}
	}
	if n := config.TopicPartitions(0)["site.counters"]; n != 1 {
		t.Errorf("%d partitions without a fabric, want 1", n)
	}
}
