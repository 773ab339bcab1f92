package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// GroupState is the consumer group as its broker describes it to any client.
type GroupState struct {
	State   string // in Kafka's words: Stable, Empty, Dead, PreparingRebalance, CompletingRebalance
	Members []GroupStateMember
}

// GroupStateMember is a member of the group. While the group rebalances, what its members can own is unknown.
type GroupStateMember struct {
	Host     string // its address
	Can, Has []int  // partitions that it can own, and those assigned to it
}

// Describe asks for the state of the group. It does not join it.
func (c *Coordinator) Describe(ctx context.Context) (GroupState, error) {
	state, err := c.describe(ctx)
	if err != nil {
		return GroupState{}, fmt.Errorf("describe group %s: %w", c.group(), err)
	}
	return state, nil
}

func (c *Coordinator) describe(ctx context.Context) (GroupState, error) {
	conns, err := c.open()
	if err != nil {
		return GroupState{}, err
	}
	request := kmsg.NewPtrDescribeGroupsRequest()
	request.Groups = []string{c.group()}
	response, err := request.RequestWith(ctx, conns)
	switch {
	case err != nil:
		return GroupState{}, err
	case len(response.Groups) != 1:
		return GroupState{}, errors.New("the response does not describe it")
	}
	group := &response.Groups[0]
	if err := kerr.ErrorForCode(group.ErrorCode); err != nil && !errors.Is(err, kerr.GroupIDNotFound) {
		return GroupState{}, err
	}
	state := GroupState{State: group.State}
	for i := range group.Members {
		m := &group.Members[i]
		member := GroupStateMember{Host: strings.TrimPrefix(m.ClientHost, "/")}
		if known, err := readMember(kmsg.JoinGroupResponseMember{MemberID: m.MemberID, ProtocolMetadata: m.ProtocolMetadata}); err == nil {
			member.Can = known.Can
		}
		var assigned kmsg.ConsumerMemberAssignment
		if assigned.ReadFrom(m.MemberAssignment) == nil {
			for _, t := range assigned.Topics {
				member.Has = append(member.Has, widen(t.Partitions)...)
			}
		}
		state.Members = append(state.Members, member)
	}
	return state, nil
}
