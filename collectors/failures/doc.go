// Package failures parses failures of links, switches and nodes, and congestion protection events, from logs and
// reports: netwatch logs of Cray's xtnlrd, OpenSM's log, ibdiagnet's report, syslog and kernel lines, and tables.
// Input: text, from whole files or from files that are followed. Output: schema.Failure rows with the names used in
// the text. Package feeds maps these to devices.
package failures
