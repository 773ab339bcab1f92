// Package sitefiles converts files of jobs and failures, in any format of the feeds of an agent, to the formats of
// diagnose/offline. An open file goes in; a file of the same lines comes out, so that errors name the right place. What it
// leaves out is reported.
package sitefiles
