package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// StoredDiagnoses are the diagnoses of a span, and of how many of its stored intervals the network's state is known: in
// the others data were missing, which does not mean that there was no congestion.
type StoredDiagnoses struct {
	Found            []schema.Diagnosis
	Intervals, Known int
	Hot              []StoredLink // if there is no diagnosis: the links that stalled most
}

// StoredLink is a link that stalled, by its name.
type StoredLink struct {
	Name   string
	Metric schema.Metric
	read.LinkRank
}

// mostStoredLinks is how many links that stalled are named.
const mostStoredLinks = 5

// Diagnoses reads the diagnoses stored for a fabric's intervals that start in a span: those of one region or, if
// it is 0, of all. It is an error if nothing is stored for the span, if the state is unknown in all of it, or if
// nothing is stored for the region: that does not mean that there was no congestion.
func (p *Process) Diagnoses(ctx context.Context, fabric string, span read.Span, region uint64) (d StoredDiagnoses, err error) {
	if err := p.useStoreBeside(); err != nil {
		return d, err
	}
	err = p.withStore(ctx, func(ctx context.Context) error {
		model := read.New(p.db)
		if d.Found, err = model.Diagnoses(ctx, fabric, span, region); err != nil || region != 0 && len(d.Found) > 0 {
			return err
		}
		figures := model.Figures(fabric, span)
		versions, err := figures.Completeness(ctx)
		if err != nil {
			return err
		}
		for _, v := range versions {
			d.Intervals += v.Intervals
			d.Known += v.Known
		}
		switch {
		case len(d.Found) > 0:
			return nil
		case d.Intervals == 0:
			return nothingStored(ctx, model, fabric)
		case region != 0:
			return fmt.Errorf("no diagnosis of region %d of fabric %s is stored in that time", region, fabric)
		case d.Known == 0:
			return stateUnknown(ctx, model, fabric, span)
		}
		d.Hot, err = hotLinks(ctx, figures, versions[len(versions)-1].GraphVersion)
		return err
	})
	return d, err
}

// hotLinks returns the links that stalled most, of those that stalled for schema.LowPercent of an interval.
func hotLinks(ctx context.Context, figures *read.Figures, version read.Version) (hot []StoredLink, err error) {
	metrics, err := figures.StallMetrics(ctx)
	if err != nil {
		return nil, err
	}
	for _, metric := range metrics {
		links, err := figures.TopLinks(ctx, uint64(version), metric, mostStoredLinks)
		if err != nil {
			return nil, err
		}
		links = slices.DeleteFunc(links, func(l read.LinkRank) bool { return l.Max < schema.LowPercent })
		names, err := figures.LinkNames(ctx, uint64(version), links)
		if err != nil {
			return nil, err
		}
		for i, l := range links {
			hot = append(hot, StoredLink{names[i], metric, l})
		}
	}
	slices.SortStableFunc(hot, func(a, b StoredLink) int { return cmp.Compare(b.Mean, a.Mean) })
	return hot[:min(len(hot), mostStoredLinks)], nil
}

// nothingStored returns the error for a span without a stored interval. It names the span that has some.
func nothingStored(ctx context.Context, model *read.Model, fabric string) error {
	first, err := model.FirstStored(ctx, fabric)
	if errors.Is(err, read.ErrNotFound) {
		return fmt.Errorf("nothing is stored for fabric %s; check whether the fabric had this name then", fabric)
	}
	if err != nil {
		return err
	}
	last, err := model.LastStored(ctx, fabric)
	if err != nil {
		return err
	}
	return fmt.Errorf("nothing is stored for fabric %s in that time; its first stored interval starts at %s, the newest at %s", fabric, first, schema.Instant(last.StartNanos))
}

// stateUnknown returns the error for a span in which no interval has a known state, with the reason of the last one.
func stateUnknown(ctx context.Context, model *read.Model, fabric string, span read.Span) error {
	last, err := model.StoredAt(ctx, fabric, span.To-1)
	if err != nil {
		return err
	}
	reason := ""
	if last.Unknown != nil {
		reason = fmt.Sprintf(" (%s)", last.Unknown.Reason)
	}
	return fmt.Errorf("the state of fabric %s is unknown in that time%s: data are missing, so regions may have been missed", fabric, reason)
}

// leaveTime is how long a process that is stopping may take to release its store to a command that reads it.
const leaveTime = 5 * time.Second

// withStore runs a task that reads the store, once the store is ready. If ctx ends first that is an error, since not
// everything was read. Call useStoreBeside first.
func (p *Process) withStore(ctx context.Context, task func(context.Context) error) error {
	if err := p.engineIsFree(leaveTime); err != nil {
		return err
	}
	err := p.RunOnce(ctx, func(ctx context.Context) error {
		ready := p.db.Ping
		if p.engine != nil { // no other process migrates its tables
			ready = p.awaitStore
		}
		if err := ready(ctx); err != nil {
			return err
		}
		return task(ctx)
	})
	return cmp.Or(err, ctx.Err())
}
