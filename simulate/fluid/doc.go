// Package fluid computes how a fabric shares its bandwidth in a steady state.
// In go flows, each with a path and a demand; out come max-min fair rates, and
// from them the share of time that every channel stalls for credits of the next
// switch and that packets stall inside each switch.
//
// It is a mean-value model without packets, randomness or time of its own: what
// takes a packet simulator hours per fabric-second takes it milliseconds. Against
// packets its loads and stalls are within two points of percent where senders
// are always busy, within five where queues are shared, and up to sixteen points
// too low where a few senders work in bursts (TestAgainstPackets).
package fluid
