// Package sitefiles opens the files of a site for diagnose/offline: links, jobs, traffic, failures and a map of nodes. Jobs
// and failures may have any format of the feeds of an agent; those in another format than diagnose/offline reads are parsed, each
// row with its place, so that errors name it. What is left out is reported.
package sitefiles
