package dispatch_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/dispatch"
	"github.com/giverny/giverny/command/dispatch/dispatchtest"
	"github.com/giverny/giverny/schema"
)

// deaf agents refuse every command.
type deaf struct{ *dispatchtest.Site }

func (deaf) Ask(context.Context, *schema.Command, time.Duration, int) ([]command.Answer, error) {
	return []command.Answer{{CommandResult: schema.CommandResult{Agent: "n1", Status: schema.CommandRefused, Reason: "the signature matches none of the keys"}}}, nil
}

// If all agents refuse to be listed, their reason is reported, not that no agent has the adapter.
func TestAgentsThatRefuse(t *testing.T) {
	d := new(dispatchtest.Site).Dispatcher()
	d.Bus = deaf{new(dispatchtest.Site)}
	_, err := d.Hosts(t.Context(), nil)
	if want := `agent "n1" refused to be listed: the signature matches none of the keys`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestRootThatNoAgentHas(t *testing.T) {
	for want, root := range map[string]*schema.Root{
		`an adapter of "n1";`:            {Peer: "n1"},
		`an adapter of "n1" or "leaf0";`: {Peer: "n1", Device: "leaf0"},
	} {
		if _, err := dispatch.RootOf(root, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
