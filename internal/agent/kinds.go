package agent

import (
	"github.com/giverny/giverny/command"
	hostondemand "github.com/giverny/giverny/hostping/ondemand"
	"github.com/giverny/giverny/search/ondemand"
	"github.com/giverny/giverny/search/run"
)

// kindHandlers returns the handlers of the command kinds that this host's configuration
// enables. Add new kinds here.
func kindHandlers(o *orders, h *host) (handlers []command.Handler, err error) {
	if o.offer.Enabled() {
		metrics, err := run.NewMetrics(o.registerer)
		if err != nil {
			return nil, err
		}
		search, err := ondemand.New(o.offer, ondemand.Deps{Hardware: h.Hardware, Counters: h, Dir: o.searchDir, Log: o.log, Metrics: metrics})
		if err != nil {
			return nil, err
		}
		handlers = append(handlers, search)
	}
	if o.probed != nil && o.probed.cfg.Offer.Enabled {
		handlers = append(handlers, hostondemand.New(o.probed.cfg.Offer, o.probed))
	}
	return handlers, nil
}

// kindsOf returns the kinds of handlers.
func kindsOf(handlers []command.Handler) (kinds []string) {
	for _, h := range handlers {
		kinds = append(kinds, h.Kind())
	}
	return kinds
}
