package dashboards

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/giverny/giverny/dashboards/operation"
	"github.com/giverny/giverny/internal/problem"
	"github.com/giverny/giverny/store/read"
)

// explain converts an error of the store to what a client may see, without its text.
func explain(err error) *problem.Problem {
	if errors.Is(err, read.ErrTooExpensive) {
		return problem.New(http.StatusServiceUnavailable, "%v", read.ErrTooExpensive)
	}
	if errors.Is(err, read.ErrNoTables) {
		p := problem.New(http.StatusServiceUnavailable, "%v", read.ErrNoTables)
		p.RetryAfter = retryMillis * time.Millisecond
		return p
	}
	return problem.New(http.StatusBadGateway, "the store did not answer; retry, or see the log of this process")
}

// observe counts a request, and logs a failure that is not the client's fault.
func (d *Dashboards) observe(s operation.Served) {
	if s.Err != nil {
		d.log.Warn("dashboards: request failed", "endpoint", s.Operation, "error", s.Err)
	}
	d.metrics.requests.WithLabelValues(s.Operation, strconv.Itoa(s.Status)).Inc()
	d.metrics.seconds.WithLabelValues(s.Operation).Observe(s.Duration.Seconds())
}
