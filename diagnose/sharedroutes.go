package diagnose

import (
	"slices"

	"github.com/giverny/giverny/topology"
)

// maxKnown bounds the routes that are kept to be shared.
const maxKnown = 1024

// shared finds the routes of a job's devices, once for jobs on the same ones: thousands that start in a minute mostly
// run where others did.
func (r *router) shared(devices []topology.DeviceID) *routes {
	hash := uint64(14695981039346656037) // FNV-1a
	for _, d := range devices {
		hash = (hash ^ uint64(d)) * 1099511628211
	}
	if known := r.known[hash]; known != nil && slices.Equal(known.devices, devices) {
		return known
	}
	if r.known == nil || len(r.known) == maxKnown {
		r.known = map[uint64]*routes{}
	}
	found := r.route(devices)
	found.devices = slices.Clone(devices)
	r.known[hash] = found
	return found
}
