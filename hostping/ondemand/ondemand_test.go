package ondemand_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/giverny/giverny/command"
	"github.com/giverny/giverny/command/safety"
	"github.com/giverny/giverny/hostping"
	"github.com/giverny/giverny/hostping/local"
	"github.com/giverny/giverny/hostping/ondemand"
	"github.com/giverny/giverny/hostping/order"
)

// fake is a host that records its orders.
type fake struct {
	ran  []local.Order
	huge bool
}

func (f *fake) Check(o *local.Order) error {
	if o.Mode == order.Affinitive && o.RNIC != "mlx5_0" {
		return errors.New("this host has no such RNIC")
	}
	return nil
}

func (f *fake) Outcome(o *local.Order) order.Outcome {
	return order.Outcome{Trigger: o.Trigger, Mode: o.Mode, Region: o.Region, Model: "m"}
}

func (f *fake) Run(ctx context.Context, o *local.Order) (order.Outcome, error) {
	f.ran = append(f.ran, *o)
	out := f.Outcome(o)
	out.Graph = &hostping.Graph{}
	if f.huge {
		out.Graph.Model = strings.Repeat("x", command.MaxOutputBytes)
	}
	return out, ctx.Err()
}

func TestJudge(t *testing.T) {
	h := ondemand.New(ondemand.DefaultConfig(), &fake{})
	for text, want := range map[string]safety.Reason{
		`{"mode":"full","duration_seconds":60,"region":"5"}`:                                                         "",
		`{"mode":"affinitive","rnic":"mlx5_0","duration_seconds":60}`:                                                "",
		`{"mode":"affinitive","rnic":"mlx5_7","duration_seconds":60}`:                                                safety.BadArguments,
		`{"mode":"full","duration_seconds":601}`:                                                                     safety.OverLimit,
		`{"mode":"full"}`:                                                                                            safety.BadArguments,
		`{"mode":"everything","duration_seconds":60}`:                                                                safety.BadArguments,
		`{"mode":"full","duration_seconds":60,"command":["rm","-rf"]}`:                                               safety.BadArguments,
		`{"mode":"full","duration_seconds":60,"baseline":{"pairs":[]}}`:                                              safety.BadArguments,
		`{"mode":"full","duration_seconds":60,"reason":` + strings.Repeat(`"`, 1) + strings.Repeat("x", 2000) + `"}`: safety.BadArguments,
		`[]`: safety.BadArguments,
	} {
		got := safety.Reason("")
		if no := h.CheckArguments(json.RawMessage(text)); no != nil {
			got = no.Reason
		}
		if got != want {
			t.Errorf("%.70s: %q, want %q", text, got, want)
		}
	}
}

func TestRun(t *testing.T) {
	f := &fake{}
	h := ondemand.New(ondemand.DefaultConfig(), f)
	arguments := json.RawMessage(`{"mode":"full","duration_seconds":60,"region":"5"}`)
	dry, err := h.DryRun(t.Context(), arguments)
	if err != nil || len(f.ran) != 0 || !strings.Contains(string(dry), `"mode":"full"`) {
		t.Errorf("dry run: %s, %v; %d ran", dry, err, len(f.ran))
	}
	for _, huge := range []bool{false, true} {
		f.huge = huge
		text, err := h.Run(t.Context(), command.Call{ID: "C1", Arguments: arguments})
		var out order.Outcome
		if err == nil {
			err = json.Unmarshal(text, &out)
		}
		if err != nil || out.Trigger != order.Commanded || out.Region != 5 || (out.Graph == nil) != huge {
			t.Errorf("huge %v: %+v, %v", huge, out, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(command.Cancelled("cancelled by operator"))
	if _, err := h.Run(ctx, command.Call{ID: "C2", Arguments: arguments}); err == nil || err.Error() != "cancelled by operator" {
		t.Errorf("cancelled: %v", err)
	}
}
