// Package telemetry reports a simulated fabric as its devices would: it converts the
// steady states of simulate/fluid to schema.CounterBatches with the counters, widths,
// wraps and flaws of Gemini, InfiniBand and RoCE hardware, as read by a collector. It
// knows nothing of jobs, failures or causes, which devices cannot see.
package telemetry
