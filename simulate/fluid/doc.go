// Package fluid computes how a fabric shares its bandwidth in a steady state. The input
// is flows, each with a path and a demand; the output is max-min fair rates and, from
// them, the share of time for which every channel stalls for credits of the next switch
// and for which packets stall inside each switch.
//
// It is a mean-value model without packets, randomness or time: what takes a packet
// simulator hours per fabric-second takes it milliseconds. Compared with packets
// (TestAgainstPackets here, TestFluidAgainstPacketMode of simulate/scenario), its loads
// and stalls are within two percentage points where senders are always busy and inputs
// carry similar numbers of flows; about ten off where they do not, since switches are
// fair to inputs and the model to flows; and up to sixteen points too low where a few
// senders send in bursts.
package fluid
