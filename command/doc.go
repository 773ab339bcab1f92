// Package command carries orders to agents and their results back, over Kafka. A
// Client signs a command, sends it and gathers what the agents answer; an Agent
// takes the commands of its fabric, checks each (shape, signature, expiry, target,
// whether it knows it already, allow-list, limits), has a Handler carry it out once
// and signs the answer; an Auditor checks what passes and writes it to the store.
// What a command does, its Handler knows; what may be done where, package safety
// decides.
package command
