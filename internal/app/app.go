// Package app is a running giverny: it makes the parts that a role needs from the
// configuration, all inert, and starts and stops them in the order of the data.
// Commands call it; it parses no flags and prints nothing but logs.
package app
