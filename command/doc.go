// Package command carries commands to agents and their results back, over Kafka. A
// Client signs a command, sends it and collects the agents' answers; an Agent reads the
// commands of its fabric, checks each (format, signature, expiry, target, duplicates,
// allow-list, limits), has a Handler execute it once and signs the answer; an Auditor
// checks all traffic and writes it to the store. A Handler implements what a command
// does; package safety decides what may be done where.
package command
