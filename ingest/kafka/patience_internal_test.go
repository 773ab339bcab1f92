package kafka

import (
	"errors"
	"fmt"
	"testing"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
)

// A topic that is just being created is no warning, whether the broker or the client's metadata lacks it; another error is one
// at once.
func TestATopicThatIsBeingCreatedIsNotLogged(t *testing.T) {
	for _, c := range []struct {
		err   error
		first int
	}{
		{kafkago.UnknownTopicOrPartition, topicPatience},
		{fmt.Errorf("kafka.(*Client).Produce: fetch request error: %w", protocol.NewErrNoTopic("giverny.jobs")), topicPatience},
		{errors.New("connection refused"), 1},
	} {
		for failures := 1; failures <= c.first; failures++ {
			if worthLogging(failures, c.err) != (failures == c.first) {
				t.Errorf("%v: failure %d logged: %v", c.err, failures, failures != c.first)
			}
		}
	}
}
