// Package offline diagnoses congestion from files with the stages that analyse a live fabric. A table of links over
// time, jobs, their traffic and failures go in; one result per interval comes out. It opens no file. A malformed file
// is an error that names the file, the line and the fix; a fault that the run can continue after is a note.
//
// The table of links is streamed interval by interval. The other tables are held in memory: a job takes about a hundred
// bytes plus its nodes, a traffic row about a hundred.
package offline
