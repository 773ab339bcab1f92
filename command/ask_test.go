package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/schema"
)

func TestAskGathers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		for i := range 3 {
			startAgent(t, b, agentOptions{name: fmt.Sprintf("n%d", i), handlers: command.AgentHandlers(collecting{})})
		}
		startAgent(t, b, agentOptions{name: "ahead", handlers: command.AgentHandlers(collecting{}), now: func() time.Time { return time.Now().Add(5 * time.Second) }})
		time.Sleep(10 * time.Second) // past the time at which the memory of the agent with the clock ahead begins
		client := clientOf(b, "guest")
		order := command.Order{Kind: command.KindList, Targets: []string{"n[01]", "ahead", "absent"}, ValidFor: time.Minute}
		c, err := client.New(order)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		answers, err := client.Ask(t.Context(), &c, 3*time.Second, 0)
		if err != nil || len(answers) != 3 || time.Since(began) < 3*time.Second {
			t.Fatalf("%d answers after %v: %v", len(answers), time.Since(began), err)
		}
		for i, name := range []string{"ahead", "n0", "n1"} {
			if answers[i].Agent != name || answers[i].Status != schema.CommandDone {
				t.Errorf("answer %d: %+v", i, answers[i])
			}
		}
		if offset, _ := answers[0].ClockOffset(); offset.Round(time.Second) != 5*time.Second {
			t.Errorf("clock offset of %v, want 5s", offset)
		}
		c, _ = client.New(order)
		began = time.Now()
		if answers, err = client.Ask(t.Context(), &c, time.Minute, 3); err != nil || len(answers) != 3 || time.Since(began) > time.Second {
			t.Errorf("with all expected answers: %d after %v: %v", len(answers), time.Since(began), err)
		}
		c, _ = client.New(order)
		began = time.Now()
		answers, err = client.AskUntil(t.Context(), &c, time.Minute, func(r *schema.CommandResult) bool { return r.Agent == "n1" })
		if err != nil || !slices.ContainsFunc(answers, func(a command.Answer) bool { return a.Agent == "n1" }) || time.Since(began) > time.Second {
			t.Errorf("until n1 has answered: %+v after %v: %v", answers, time.Since(began), err)
		}
	})
}

func TestAskEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		client := clientOf(b, "guest")
		c, err := client.New(command.Order{Kind: command.KindList, Targets: []string{"*"}, ValidFor: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := client.Ask(ctx, &c, time.Hour, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		startAgent(t, b, agentOptions{handlers: command.AgentHandlers(collecting{})})
		synctest.Wait()
		c := send(t, b, "guest", command.Order{Kind: command.KindRefresh})
		dry := send(t, b, "guest", command.Order{Kind: command.KindRefresh, DryRun: true})
		synctest.Wait()
		for id, devices := range map[string]int{c.ID: 9, dry.ID: 8} {
			var out command.Refreshed
			if err := json.Unmarshal(answerWith(t, b, id, schema.CommandDone).Output, &out); err != nil || len(out.Sources) != 1 || out.Sources[0].Devices != devices {
				t.Errorf("%+v, %v", out, err)
			}
		}
	})
}

// collecting has 8 devices, and 9 after a refresh.
type collecting struct{}

func (collecting) Status() command.AgentStatus {
	return command.AgentStatus{Version: "test", Sources: []command.SourceStatus{{Source: "ibsysfs", State: command.SourceOK, Devices: 8}}}
}

func (collecting) Refresh(context.Context) ([]command.SourceStatus, error) {
	return []command.SourceStatus{{Source: "ibsysfs", State: command.SourceOK, Devices: 9}}, nil
}
