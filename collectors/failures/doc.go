// Package failures reads failures of links, switches and nodes, and congestion protection, from logs and reports:
// netwatch logs of Cray's xtnlrd, OpenSM's log, ibdiagnet's report, syslog and kernel lines, and tables. Text goes in,
// schema.Failure rows under the names that the text has come out, from whole files and from those that are followed
// alike. It finds no devices; package feeds does.
package failures
