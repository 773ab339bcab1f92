// Package bench measures how well searches find the anomalies of subsystems with known
// ground truth: those of the paper, and generated ones that no search was tuned on. The
// input is a subsystem and a search configuration; the output is when each anomaly was
// found and how accurate its MFS is.
package bench
