// Package sitefiles opens the files of a site for diagnose/offline: links, jobs, traffic, failures and a map of nodes. Jobs
// and failures may have any format of the feeds of an agent; they are converted line by line, so that errors name the right
// place. What is left out is reported.
package sitefiles
