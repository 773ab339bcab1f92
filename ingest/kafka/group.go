package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/giverny/giverny/ingest/envelope"
)

// Member is a member of the consumer group in one generation: the fencing token of its commits. The zero
// Member means none; brokers accept its commits as long as the group has no members.
type Member struct {
	ID         string
	Generation int
}

// Fence returns the member for a commit; it is called before every try. An error that wraps ErrFenced ends
// the commit, any other is retried.
type Fence func() (Member, error)

// ErrFenced means that this process may no longer commit for a partition: another may have taken over.
var ErrFenced = errors.New("not the owner of the partition")

// Errors of the group on which a member has to act: rejoin, join as a new member, or join the
// generation that it has missed.
var (
	ErrRebalance  = errors.New("the group is rebalancing")
	ErrExpelled   = errors.New("the group does not know this member")
	ErrGeneration = errors.New("the group is in another generation")
)

// GroupMember is what the leader of a generation knows about a member: the partitions that it can own, and
// those that it currently owns.
type GroupMember struct {
	ID       string
	Can, Has []int
}

// Joined is a generation of the group.
type Joined struct {
	Member
	Members []GroupMember // for the leader, which assigns the partitions; nil for all others
}

// Coordinator is the consumer group that keeps the offsets, as one member sees it. Its requests use
// franz-go: kafka-go sends heartbeats to any broker and misparses the responses.
type Coordinator struct {
	client         *Client
	sessionTimeout time.Duration

	mu    sync.Mutex
	conns *kgo.Client // guarded by mu; opened by the first request
}

// NewCoordinator returns the Coordinator of the group in the client's configuration.
func NewCoordinator(client *Client) *Coordinator {
	return &Coordinator{client: client, sessionTimeout: client.config.Consumer.SessionTimeout}
}

// Close closes the connections. No request may be in flight.
func (c *Coordinator) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns != nil {
		c.conns.Close()
		c.conns = nil
	}
}

// open returns the connections to the brokers.
func (c *Coordinator) open() (*kgo.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conns != nil {
		return c.conns, nil
	}
	config := &c.client.config
	options := []kgo.Opt{kgo.SeedBrokers(config.Brokers...), kgo.ClientID(config.ClientID), kgo.RequestRetries(2), kgo.RetryTimeout(c.sessionTimeout / 2)}
	options = append(options, kgo.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := c.client.conns.dial(ctx, network, address)
		if err != nil || c.client.secured == nil {
			return conn, err
		}
		return c.client.secured.Over(conn, address, config.TLS.ServerName), nil
	}))
	if mechanism := config.SASL.groupMechanism(); mechanism != nil {
		options = append(options, kgo.SASL(mechanism))
	}
	conns, err := kgo.NewClient(options...)
	if err == nil {
		c.conns = conns
	}
	return conns, err
}

// groupMechanism is mechanism for franz-go; nil without a login.
func (s *SASL) groupMechanism() sasl.Mechanism {
	login := func(context.Context) (scram.Auth, error) {
		password, err := s.Password.Or(s.PasswordFile)
		return scram.Auth{User: s.User, Pass: password}, err
	}
	switch s.Mechanism {
	case "PLAIN":
		return plain.Plain(func(ctx context.Context) (plain.Auth, error) {
			auth, err := login(ctx)
			return plain.Auth{User: auth.User, Pass: auth.Pass}, err
		})
	case "SCRAM-SHA-256":
		return scram.Sha256(login)
	case "SCRAM-SHA-512":
		return scram.Sha512(login)
	}
	return nil
}

// The group uses the consumer protocol, so that the brokers' tools show who owns which partition. The partition
// of the counters stands for all partitions of a fabric.
const (
	groupType     = "consumer"
	groupProtocol = "giverny-balance"

	// rebalancePatience is how many session timeouts a member has to rejoin. A lease expires long before.
	rebalancePatience = 3
)

// subscription holds a member's data for which the consumer protocol has no field.
type subscription struct {
	Can []int `json:"can"`
}

// Join joins the next generation; self.ID is empty the first time. It waits for the other members.
func (c *Coordinator) Join(ctx context.Context, self GroupMember) (Joined, error) {
	joined, err := c.join(ctx, self)
	if err != nil {
		return Joined{}, fmt.Errorf("join group %s: %w", c.group(), err)
	}
	return joined, nil
}

func (c *Coordinator) join(ctx context.Context, self GroupMember) (Joined, error) {
	conns, err := c.open()
	if err != nil {
		return Joined{}, err
	}
	data, err := json.Marshal(subscription{self.Can})
	if err != nil {
		return Joined{}, err
	}
	metadata := kmsg.ConsumerMemberMetadata{Version: 1, Topics: []string{c.topic()}, UserData: data,
		OwnedPartitions: []kmsg.ConsumerMemberMetadataOwnedPartition{{Topic: c.topic(), Partitions: narrow(self.Has)}}}
	request := kmsg.NewPtrJoinGroupRequest()
	request.Group, request.MemberID, request.ProtocolType = c.group(), self.ID, groupType
	request.SessionTimeoutMillis = int32(c.sessionTimeout.Milliseconds())
	request.RebalanceTimeoutMillis = rebalancePatience * request.SessionTimeoutMillis
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name, protocol.Metadata = groupProtocol, metadata.AppendTo(nil)
	request.Protocols = append(request.Protocols, protocol)
	response, err := request.RequestWith(ctx, conns)
	if err == nil && errors.Is(kerr.ErrorForCode(response.ErrorCode), kerr.MemberIDRequired) {
		request.MemberID = response.MemberID
		response, err = request.RequestWith(ctx, conns)
	}
	if err == nil {
		err = groupError(response.ErrorCode)
	}
	if err != nil {
		return Joined{}, err
	}
	joined := Joined{Member: Member{ID: response.MemberID, Generation: int(response.Generation)}}
	if response.LeaderID != response.MemberID {
		return joined, nil
	}
	for _, m := range response.Members {
		member, err := readMember(m)
		if err != nil {
			return Joined{}, fmt.Errorf("member %s is not a giverny process; give the analysers a kafka.consumer.group of their own: %w", m.MemberID, err)
		}
		joined.Members = append(joined.Members, member)
	}
	return joined, nil
}

func readMember(m kmsg.JoinGroupResponseMember) (GroupMember, error) {
	var metadata kmsg.ConsumerMemberMetadata
	var s subscription
	if err := metadata.ReadFrom(m.ProtocolMetadata); err != nil {
		return GroupMember{}, err
	}
	if err := json.Unmarshal(metadata.UserData, &s); err != nil {
		return GroupMember{}, err
	}
	member := GroupMember{ID: m.MemberID, Can: s.Can}
	for _, owned := range metadata.OwnedPartitions {
		member.Has = append(member.Has, widen(owned.Partitions)...)
	}
	return member, nil
}

// Sync returns the partitions that are assigned to the member. The leader passes the assignment of all, by
// member ID; the others pass nil.
func (c *Coordinator) Sync(ctx context.Context, m Member, assignment map[string][]int) ([]int, error) {
	request := kmsg.NewPtrSyncGroupRequest()
	request.Group, request.MemberID, request.Generation = c.group(), m.ID, int32(m.Generation)
	request.ProtocolType, request.Protocol = kmsg.StringPtr(groupType), kmsg.StringPtr(groupProtocol)
	for id, partitions := range assignment {
		own := kmsg.ConsumerMemberAssignment{Topics: []kmsg.ConsumerMemberAssignmentTopic{{Topic: c.topic(), Partitions: narrow(partitions)}}}
		member := kmsg.NewSyncGroupRequestGroupAssignment()
		member.MemberID, member.MemberAssignment = id, own.AppendTo(nil)
		request.GroupAssignment = append(request.GroupAssignment, member)
	}
	var assigned kmsg.ConsumerMemberAssignment
	conns, err := c.open()
	if err == nil {
		var response *kmsg.SyncGroupResponse
		if response, err = request.RequestWith(ctx, conns); err == nil {
			if err = groupError(response.ErrorCode); err == nil {
				err = assigned.ReadFrom(response.MemberAssignment)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("sync group %s: %w", c.group(), err)
	}
	var partitions []int
	for _, t := range assigned.Topics {
		partitions = append(partitions, widen(t.Partitions)...)
	}
	return partitions, nil
}

// Heartbeat tells the group that the member is alive.
func (c *Coordinator) Heartbeat(ctx context.Context, m Member) error {
	request := kmsg.NewPtrHeartbeatRequest()
	request.Group, request.MemberID, request.Generation = c.group(), m.ID, int32(m.Generation)
	conns, err := c.open()
	if err == nil {
		var response *kmsg.HeartbeatResponse
		if response, err = request.RequestWith(ctx, conns); err == nil {
			err = groupError(response.ErrorCode)
		}
	}
	if err != nil {
		return fmt.Errorf("heartbeat to group %s: %w", c.group(), err)
	}
	return nil
}

// Leave leaves the group, so that the others need not wait for the session timeout.
func (c *Coordinator) Leave(ctx context.Context, m Member) error {
	request := kmsg.NewPtrLeaveGroupRequest()
	member := kmsg.NewLeaveGroupRequestMember()
	member.MemberID = m.ID
	request.Group, request.MemberID, request.Members = c.group(), m.ID, []kmsg.LeaveGroupRequestMember{member}
	conns, err := c.open()
	if err == nil {
		var response *kmsg.LeaveGroupResponse
		if response, err = request.RequestWith(ctx, conns); err == nil {
			err = groupError(response.ErrorCode)
		}
	}
	if err != nil {
		return fmt.Errorf("leave group %s: %w", c.group(), err)
	}
	return nil
}

func narrow(partitions []int) []int32 {
	list := make([]int32, len(partitions))
	for i, p := range partitions {
		list[i] = int32(p)
	}
	return list
}

func widen(partitions []int32) []int {
	list := make([]int, len(partitions))
	for i, p := range partitions {
		list[i] = int(p)
	}
	return list
}

func (c *Coordinator) group() string { return c.client.config.Consumer.Group }

func (c *Coordinator) topic() string { return c.client.config.Topic(envelope.Counters) }

// groupError maps the responses on which a member acts to errors.
func groupError(code int16) error {
	err := kerr.ErrorForCode(code)
	switch {
	case errors.Is(err, kerr.RebalanceInProgress):
		return fmt.Errorf("%w: %w", ErrRebalance, err)
	case errors.Is(err, kerr.UnknownMemberID):
		return fmt.Errorf("%w: %w", ErrExpelled, err)
	case errors.Is(err, kerr.IllegalGeneration):
		return fmt.Errorf("%w: %w", ErrGeneration, err)
	case errors.Is(err, kerr.InvalidSessionTimeout):
		return fmt.Errorf("%w; set kafka.consumer.session_timeout to what group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers allow", err)
	}
	return err
}
