// Package telemetry reports a simulated fabric as its devices would: in go the
// steady states of simulate/fluid, out come schema.CounterBatches with the
// counters, widths, wraps and flaws of Gemini, InfiniBand and RoCE hardware, as
// a collector would read them. It knows nothing of jobs, failures or causes:
// what cannot be seen from outside does not pass through here.
package telemetry
