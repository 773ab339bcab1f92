// Package collectors polls sources of counters: at every boundary of the
// interval it reads each device of a Collector, joins what was read into
// counter batches and hands them to an Emitter. A device that fails, hangs or
// vanishes costs its own rows only. What a source is and how it is read, the
// folders below know; where batches go, the Emitter's owner knows.
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

// Collector is a source of counters made of devices that can be read alone.
type Collector interface {
	// Name of the source, as batches and metrics carry it: "ibsysfs".
	Name() string
	// Devices lists what there is to read now, in a stable order. Together with
	// an error it returns what it still knows: that is read nevertheless.
	Devices(ctx context.Context) ([]Device, error)
	// Epoch names the life of the counters: it changes when they all were reset
	// (the host restarted). 0 if the source cannot know.
	Epoch() uint64
}

// Device is one adapter, switch or interface: what fails together.
type Device interface {
	// Name is unique within the collector and lasts from poll to poll.
	Name() string
	// Read adds the device's rows to r. What it added before an error stands.
	// It is not called again before it has returned. It should return soon
	// after ctx ends; one that cannot, in the middle of a kernel call, is left
	// behind and read again once it has come back.
	Read(ctx context.Context, r *Reading) error
}

// Emitter takes batches, one at a time, and numbers them if it must: a producer, a
// buffer, a file. The batch is the emitter's until Emit returns, and is used again
// afterwards.
type Emitter interface {
	Emit(ctx context.Context, b *schema.CounterBatch) error
}

// DeviceError says which device of which collector could not be read.
type DeviceError struct {
	Collector, Device string
	Reason            Reason
	Err               error
}

func (e *DeviceError) Error() string {
	return fmt.Sprintf("%s: read device %q: %v", e.Collector, e.Device, e.Err)
}

func (e *DeviceError) Unwrap() error { return e.Err }

// Reason classes what was not read, the label of a counter.
type Reason uint8

// Reasons.
const (
	Timeout     Reason = iota // the device took longer than its time
	Stuck                     // it still hangs from an earlier poll
	Unread                    // the poll's time was over before its turn
	Refused                   // permission
	Gone                      // it vanished while it was read
	Unsupported               // the driver offers no such counters
	Malformed                 // what it answered could not be understood
	Backoff                   // it failed lately and is left alone for a while
	Failed                    // any other error of the device
	NumReasons
)

var reasonNames = [NumReasons]string{"timeout", "stuck", "unread", "refused", "gone", "unsupported", "malformed", "backoff", "failed"}

func (r Reason) String() string { return reasonNames[r] }

// Errors that a device returns so that ReasonOf can tell.
var (
	ErrMalformed = errors.New("malformed")
	ErrBackoff   = errors.New("left alone after failures")
)

// ReasonOf classes an error that reading a device or a counter gave.
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
