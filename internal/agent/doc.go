// Package agent is the part of giverny that runs on the hosts: sources of counters, feeds of jobs and failures, folders of
// records of collectives, probes, and the commands that it accepts. The configuration goes in; what was read goes through a
// spool on disk to Kafka. Package app starts its stages.
package agent
