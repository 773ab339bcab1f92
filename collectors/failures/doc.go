// Package failures reads failures of links, switches and nodes, and congestion protection, from logs and reports:
// netwatch logs of Cray's xtnlrd, OpenSM's log, ibdiagnet's report, syslog and kernel lines, and tables. Text goes in, schema.Failure
// rows under the names that the text has come out, as from a whole file so from one that is followed. It finds no
// devices; package feeds does.
package failures
