package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/ClickHouse/clickhouse-go/v2"

	"github.com/giverny/giverny/internal/retry"
)

// retryUntil calls do until it succeeds or ctx ends. An interval is never given
// up, whatever the error, because an operator can fix each of them.
func (w *writer) retryUntil(ctx context.Context, what string, k key, do func(context.Context) error) error {
	var fault error // of the last try that was not interrupted by ctx
	err := retry.Backoff{Min: w.cfg.RetryMin, Max: w.cfg.RetryMax}.Do(ctx, func() error {
		try, cancel := context.WithTimeout(ctx, w.cfg.InsertTimeout)
		defer cancel()
		return do(try)
	}, func(err error, _ int, pause time.Duration) {
		fault = err
		w.health.noteWrite(err)
		reason := retryReason(err)
		w.metrics.retries.WithLabelValues(reason).Inc()
		w.log.Warn("store: retrying", slog.String("fabric", k.fabric), k.interval(),
			slog.String("operation", what), slog.String("reason", reason), slog.Duration("pause", pause), slog.Any("error", err))
	})
	switch {
	case err == nil:
		w.health.noteWrite(nil)
		return nil
	case fault == nil:
		return fmt.Errorf("%s for %s: %w", what, k, ctx.Err())
	}
	return fmt.Errorf("%s for %s: %w; the last try failed: %w", what, k, ctx.Err(), fault)
}

// codeReasons classifies the error codes of ClickHouse (src/Common/ErrorCodes.cpp)
// by what fixes them.
var codeReasons = map[int32]string{
	243: reasonDiskFull, // NOT_ENOUGH_SPACE

	159: reasonOverloaded, // TIMEOUT_EXCEEDED
	160: reasonOverloaded, // TOO_SLOW
	173: reasonOverloaded, // CANNOT_ALLOCATE_MEMORY
	201: reasonOverloaded, // QUOTA_EXCEEDED
	202: reasonOverloaded, // TOO_MANY_SIMULTANEOUS_QUERIES
	241: reasonOverloaded, // MEMORY_LIMIT_EXCEEDED
	252: reasonOverloaded, // TOO_MANY_PARTS
	439: reasonOverloaded, // CANNOT_SCHEDULE_TASK

	279: reasonUnreachable, // between hosts of a cluster
	285: reasonReplicas,    // TOO_FEW_LIVE_REPLICAS
	286: reasonReplicas,    // UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE
	289: reasonReplicas,    // REPLICA_IS_NOT_IN_QUORUM
	319: reasonReplicas,    // UNKNOWN_STATUS_OF_INSERT
	999: reasonReplicas,    // KEEPER_EXCEPTION
	242: reasonReplicas,    // TABLE_IS_READ_ONLY: the replica has lost Keeper

	codeReadOnly: reasonRefused,
	192:          reasonRefused, // UNKNOWN_USER
	193:          reasonRefused, // WRONG_PASSWORD
	194:          reasonRefused, // REQUIRED_PASSWORD
	497:          reasonRefused, // ACCESS_DENIED
	516:          reasonRefused, // AUTHENTICATION_FAILED

	8:   reasonSchema, // THERE_IS_NO_COLUMN
	10:  reasonSchema, // NOT_FOUND_COLUMN_IN_BLOCK
	16:  reasonSchema, // NO_SUCH_COLUMN_IN_TABLE
	47:  reasonSchema, // UNKNOWN_IDENTIFIER
	53:  reasonSchema, // TYPE_MISMATCH
	60:  reasonSchema, // UNKNOWN_TABLE
	81:  reasonSchema, // UNKNOWN_DATABASE
	122: reasonSchema, // INCOMPATIBLE_COLUMNS
}

// codeReadOnly is READONLY: an account that may not write, or with readonly = 1 not choose settings either.
const codeReadOnly = 164

func retryReason(err error) string {
	var exception *clickhouse.Exception
	if !errors.As(err, &exception) {
		return reasonUnreachable
	}
	if reason, ok := codeReasons[exception.Code]; ok {
		return reason
	}
	// A write that failed half way carries the code of the failed call; the
	// cause is only in the message (strerror of ENOSPC and EDQUOT).
	if strings.Contains(exception.Message, "No space left on device") || strings.Contains(exception.Message, "Disk quota exceeded") {
		return reasonDiskFull
	}
	return reasonOther
}

// MayPass reports whether a retry may succeed with nothing else changed: there was no answer or the connection broke, the server
// is overloaded or its disk full, or replicas are unavailable.
func MayPass(err error) bool {
	if errors.Is(err, ErrNoRoom) {
		return true
	}
	var exception *clickhouse.Exception
	if errors.As(err, &exception) {
		switch codeReasons[exception.Code] {
		case reasonUnreachable, reasonOverloaded, reasonReplicas:
			return true
		}
		return false
	}
	var connection net.Error
	return errors.As(err, &connection) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
