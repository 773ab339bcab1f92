// Package report describes a fabric's congestion over a span, following the
// characterisation of Monet (NSDI 2020): it runs queries of store/read and makes one
// document, written as JSON or as one self-contained HTML page. It analyses nothing and
// stores nothing.
package report

import (
	"github.com/giverny/giverny/schema"
	"github.com/giverny/giverny/store/read"
)

// Form is the version of a Report's JSON format.
const Form = 1

// Report is the whole document.
type Report struct {
	Form     int                 `json:"form"`
	Fabric   string              `json:"fabric"`
	From     schema.Instant      `json:"from"`
	To       schema.Instant      `json:"to"`
	Made     schema.Instant      `json:"made"`
	Metrics  []string            `json:"metrics"`
	Stored   []read.Completeness `json:"stored"` // by version of the graph
	Expected int                 `json:"expected_intervals"`
	Sections []Section           `json:"sections"`
}

// Section answers one question.
type Section struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Metric string `json:"metric,omitempty"`
	// The corresponding part of the paper, such as "Monet, figure 3".
	Source string `json:"source,omitempty"`
	// What is counted, and what is not.
	Note    string   `json:"note,omitempty"`
	Numbers []Number `json:"numbers,omitempty"`
	Plots   []Plot   `json:"plots,omitempty"`
	Table   *Table   `json:"table,omitempty"`
	// The statements that were sent, in order.
	Queries  []read.Statement `json:"queries"`
	Duration float64          `json:"seconds"` // duration of the queries
	// Why some of it is missing: a query exceeded its limits.
	Fault string `json:"fault,omitempty"`
}

// Number is a measured quantity, with the published value for Blue Waters.
type Number struct {
	Name      string   `json:"name"`
	Unit      string   `json:"unit,omitempty"`
	Value     *float64 `json:"value"`               // null: there is no data
	Published *float64 `json:"published,omitempty"` // absent: not published, or by another metric
}

// Plot is a plot of series over the same places.
type Plot struct {
	Title  string    `json:"title"`
	Kind   PlotKind  `json:"kind"`
	XLabel string    `json:"x_label"`
	YLabel string    `json:"y_label"`
	X      []string  `json:"x"` // a label per place
	Series []Series  `json:"series"`
	Boxes  []Summary `json:"boxes,omitempty"` // for box plots, instead of series
	LogY   bool      `json:"log_y,omitempty"`
}

// PlotKind is how a plot is drawn.
type PlotKind string

// Kinds of plots.
const (
	Bars    PlotKind = "bars"    // side by side
	Stacked PlotKind = "stacked" // on top of each other
	Lines   PlotKind = "lines"
	Boxes   PlotKind = "boxes"
)

// Series has a value for each place of a plot; null: none.
type Series struct {
	Name   string     `json:"name"`
	Colour string     `json:"-"` // a class of the page's palette
	Values []*float64 `json:"values"`
}

// Summary is the five-number summary of a box plot.
type Summary struct {
	Name string  `json:"name"`
	Min  float64 `json:"min"`
	Q1   float64 `json:"q1"`
	Mid  float64 `json:"median"`
	Q3   float64 `json:"q3"`
	Max  float64 `json:"max"`
	N    int     `json:"n"`
}

// Table is a text table; all rows have as many cells as the head.
type Table struct {
	Head []string   `json:"head"`
	Rows [][]string `json:"rows"`
}
