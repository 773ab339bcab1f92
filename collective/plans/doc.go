// Package plans knows which steps a collective has and what each awaits, by its operation and algorithm. In: the shape of
// a collective, or records that do not say what they await. Out: a plan, the transfers of every member in order; or the
// records with their waits filled in. It measures and diagnoses nothing.
//
//	decompose.go         Plan: the transfers by algorithm
//	waits.go             FillWaits: waits that records do not name
package plans
