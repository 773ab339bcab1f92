// Package diagnose finds the cause of each congested region and who should act (Monet, section 7). In: the regions of an
// interval, the state of the fabric's links, jobs with their traffic, and failures. Out: a schema.Diagnosis per region and
// the congestion mitigation events (package mitigation). It is a stage of the analysis: values in, values out, with a
// bounded memory of the last intervals. It does no I/O and reads no clock.
//
// Jobs near a region or with traffic across it are candidates (A table), as are failures near it in the last
// intervals (F table). Outliers in the jobs' traffic are found by median and MAD. Each candidate gets evidence:
// correlation with its lag (tested against circular shifts), coincidence with the onset, and the share of the region
// that its routes cross. Back pressure is followed to its root port (package root). A score over these numbers
// decides; if none is convincing, the verdict is unknown.
package diagnose
