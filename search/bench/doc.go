// Package bench measures how well searches find the anomalies of subsystems whose
// truth is known: those of the paper, and generated ones that no search was made for.
// In goes a subsystem and the configuration of a search, out come when each anomaly
// was found and how right its MFS is.
package bench
