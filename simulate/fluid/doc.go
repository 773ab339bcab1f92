// Package fluid computes how a fabric shares its bandwidth in a steady state.
// In go flows, each with a path and a demand; out come max-min fair rates, and
// from them the share of time that every channel stalls for credits of the next
// switch and that packets stall inside each switch.
//
// It is a mean-value model without packets, randomness or time of its own: what
// takes a packet simulator hours per fabric-second takes it milliseconds. Against
// packets (TestAgainstPackets here, TestFluidAgainstPacketMode of
// simulate/scenario) its loads and stalls are within two points of percent where
// senders are always busy and inputs carry like numbers of flows, some ten off
// where they do not, since switches are fair to inputs and the model to flows,
// and up to sixteen points too low where a few senders work in bursts.
package fluid
