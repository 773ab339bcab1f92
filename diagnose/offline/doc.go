// Package offline diagnoses congestion from files: a table of links over time, jobs, their traffic and failures go
// in, and a result per interval comes out, by the stages that analyse a live fabric. It opens no file. What is wrong
// with a file is an error that names file, line and what to do; what can be gone on with is a note.
//
// The table of links is read interval by interval. The others are held whole: a job takes about a hundred bytes and
// its nodes, a row of traffic about as much.
package offline
