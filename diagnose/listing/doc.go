// Package listing prints diagnoses: a JSON object per line for programs; for people a paragraph when a region's verdict
// changes, and a table of all regions at the end. Diagnoses of one interval after another go in.
package listing
