// Package collectors polls sources of counters: at every interval boundary it reads
// each device of a Collector, merges the readings into counter batches and passes them
// to an Emitter. A device that fails, hangs or disappears loses only its own rows. The
// packages below implement the sources; the Emitter decides where batches go.
package collectors

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/giverny/giverny/schema"
)

// Collector is a source of counters consisting of devices that can be read separately.
type Collector interface {
	// Name is the name of the source in batches and metrics, such as "ibsysfs".
	Name() string
	// Devices lists the current devices in a stable order. If it fails it also returns
	// the devices it still knows, which are read nevertheless.
	Devices(ctx context.Context) ([]Device, error)
	// Epoch identifies the lifetime of the counters: it changes when all of them have
	// been reset (the host restarted). 0 if the source cannot tell. The poller changes the
	// epoch of its batches also when the clock of its host was set.
	Epoch() uint64
}

// Device is one adapter, switch or interface: the unit of failure.
type Device interface {
	// Name is unique within the collector and stable across polls.
	Name() string
	// Read adds the device's rows to r. Rows added before an error count. It is not
	// called again before it has returned. It should return soon after ctx ends; if it
	// cannot, as in a blocking kernel call, the poller abandons the read and skips the
	// device until it has returned.
	Read(ctx context.Context, r *Reading) error
}

// Emitter accepts batches, one at a time, and numbers them if necessary: a producer, a
// buffer, a file. It must not keep the batch after Emit returns, since it is reused.
type Emitter interface {
	Emit(ctx context.Context, b *schema.CounterBatch) error
}

// DeviceError is a failed read of a device.
type DeviceError struct {
	Collector, Device string
	Err               error
}

func (e *DeviceError) Error() string {
	return fmt.Sprintf("%s: read device %q: %v", e.Collector, e.Device, e.Err)
}

func (e *DeviceError) Unwrap() error { return e.Err }

// Reason classifies failed reads; it is a metric label.
type Reason uint8

// Reasons.
const (
	Timeout     Reason = iota // the device exceeded its timeout
	Stuck                     // a read from an earlier poll still hangs
	Unread                    // the poll timed out before its turn
	Refused                   // permission denied
	Gone                      // it disappeared while being read
	Unsupported               // the driver has no such counters
	Malformed                 // its answer could not be parsed
	Backoff                   // skipped for a while after failures
	Failed                    // any other error of the device
	NumReasons
)

var reasonNames = [NumReasons]string{"timeout", "stuck", "unread", "refused", "gone", "unsupported", "malformed", "backoff", "failed"}

func (r Reason) String() string { return reasonNames[r] }

// Errors that a device returns for ReasonOf to classify.
var (
	ErrMalformed = errors.New("malformed")
	ErrBackoff   = errors.New("skipped, backing off after failures")
)

// ReasonOf classifies an error from reading a device or a counter.
func ReasonOf(err error) Reason {
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return Timeout
	case errors.Is(err, fs.ErrPermission):
		return Refused
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENODEV), errors.Is(err, syscall.ENXIO):
		return Gone
	case errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.EINVAL):
		return Unsupported
	case errors.Is(err, ErrMalformed):
		return Malformed
	case errors.Is(err, ErrBackoff):
		return Backoff
	}
	return Failed
}
