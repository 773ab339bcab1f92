// Package diagnose says why a region is congested and who should act (Monet, section 7): the regions of an
// interval, the state of the fabric's links, jobs with their traffic and failures go in; a schema.Diagnosis
// per region comes out, and the congestion mitigation events (package mitigation). It is a stage of the analysis: values in,
// values out, with a bounded memory of the last intervals. It does no I/O and reads no clock.
//
// The way of a region: jobs near it or with traffic across it are the candidates, and what stands out in
// their traffic by median and MAD (A table); failures near it in the last intervals are candidates too
// (F table); each gets evidence (correlation with its lag against circular shifts, coincidence of the onset,
// share of the region that its routes cross); back pressure is followed to its root port (package root); a score over
// these numbers decides, and where none is convincing the verdict is unknown.
package diagnose
