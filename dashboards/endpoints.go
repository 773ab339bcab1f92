package dashboards

import (
	"github.com/giverny/giverny/dashboards/operation"
)

// Prefix is the path prefix of the API. A breaking change needs a new one.
const Prefix = "/api/v1"

type endpoint = operation.Operation[*Dashboards]

// pagesGoBack is the description of paginated lists.
const pagesGoBack = "Pages go back in time: the first page has the newest entries; within a page, entries are in order of time."

// endpoints returns the API. A new endpoint needs a row here, a handler and its types; if its answer is the rows of
// one SQL file, read.Figure does the rest. `go generate ./dashboards` then writes the OpenAPI document and the
// reference.
func endpoints() []endpoint {
	var all []endpoint
	for _, group := range [][]endpoint{fabricEndpoints(), nowEndpoints(), timeEndpoints(), figureEndpoints(), storedEndpoints(),
		feedbackEndpoints(), searchEndpoints(), hostEndpoints(), collectiveEndpoints(), ownEndpoints()} {
		all = append(all, group...)
	}
	return all
}

func fabricEndpoints() []endpoint {
	return []endpoint{
		{ID: "listFabrics", Path: "/fabrics", Tag: "fabrics", Summary: "The fabrics, each with its current graph.",
			Handler: operation.To((*Dashboards).listFabrics)},
		{ID: "getFabric", Path: "/fabrics/{fabric}", Tag: "fabrics", Summary: "One fabric with its current graph.",
			Handler: operation.To((*Dashboards).oneFabric)},
		{ID: "getGraph", Path: "/fabrics/{fabric}/graph", Tag: "fabrics", Summary: "A version of a fabric's graph: devices and links with their geometry.",
			Description: "Link numbers are valid within one version of the graph: `graph_version` of an answer tells which. With `version` the answer never changes.",
			Handler:     operation.To((*Dashboards).graphVersion)},
	}
}

func nowEndpoints() []endpoint {
	return []endpoint{
		{ID: "getStatus", Path: "/fabrics/{fabric}/status", Tag: "now", Summary: "The current state of the network, not that of the newest interval: Unknown while no interval arrives.",
			Handler: operation.To((*Dashboards).status)},
		{ID: "getSnapshot", Path: "/fabrics/{fabric}/snapshot", Tag: "now", Summary: "The newest interval, or the one at a given time: values of the links, regions, diagnoses, states.",
			Description: "204 while nothing is stored. Regions are sorted by severity, then by mean, the worst first. As Arrow or CSV: a row per link, with a column per metric.",
			Table:       true, Empty: true, Handler: operation.To((*Dashboards).snapshot)},
	}
}

func timeEndpoints() []endpoint {
	return []endpoint{
		{ID: "listNetworkStates", Path: "/fabrics/{fabric}/network", Tag: "time", Summary: "The state of the network, interval by interval.",
			Handler: operation.To((*Dashboards).network)},
		{ID: "listNetworkSteps", Path: "/fabrics/{fabric}/network-steps", Tag: "time", Summary: "How long the network was in each state, per step of a long span.",
			Description: "`seconds` of a step are those in [Neg, Low, Medium, High]. Steps in which nothing is stored are left out. Steps of an hour or more come from the roll-ups; shorter ones from the intervals, at most 100,000.",
			Handler:     operation.To((*Dashboards).networkSteps)},
		{ID: "listEvents", Path: "/fabrics/{fabric}/events", Tag: "time", Summary: "Events of regions, jobs, links, switches, nodes and the graph.",
			Description: pagesGoBack + " `switch_silent`, `switch_reporting`, `node_silent`, `node_reporting`: a device that works does not report, or reports again.",
			Handler:     operation.To((*Dashboards).events)},
		{ID: "listRegions", Path: "/fabrics/{fabric}/regions", Tag: "time", Summary: "The regions of the intervals of a span.",
			Description: pagesGoBack + " As Arrow or CSV: a row per region and interval; the header `Link` refers to the next page; in Arrow `next` in the schema's metadata does too.", Table: true, Handler: operation.To((*Dashboards).regions)},
		{ID: "listTracks", Path: "/fabrics/{fabric}/tracks", Tag: "time", Summary: "The regions of a span, each once, the worst first.",
			Handler: operation.To((*Dashboards).tracks)},
		{ID: "getTrack", Path: "/fabrics/{fabric}/tracks/{region}", Tag: "time", Summary: "A region over time, interval by interval, and its newest diagnosis.",
			Description: "`from` defaults to the region's birth, `to` to a day later.",
			Handler:     operation.To((*Dashboards).track)},
		{ID: "listDiagnoses", Path: "/fabrics/{fabric}/diagnoses", Tag: "time", Summary: "Why regions are congested, and who should act.",
			Description: pagesGoBack, Handler: operation.To((*Dashboards).diagnoses)},
		{ID: "listJobs", Path: "/fabrics/{fabric}/jobs", Tag: "time", Summary: "The jobs of a span or an instant, and the regions in which they were accused or victims.",
			Description: pagesGoBack + " A job without a reported end is taken as running until 60 days after it was last reported.", Handler: operation.To((*Dashboards).jobs)},
		{ID: "getJobTraffic", Path: "/fabrics/{fabric}/jobs/{job}/traffic", Tag: "time", Summary: "Traffic of a job, interval by interval, as counted by its hosts.",
			Handler: operation.To((*Dashboards).traffic)},
		{ID: "listFailures", Path: "/fabrics/{fabric}/failures", Tag: "time", Summary: "Failures and recoveries of links, switches and nodes, and congestion protection, from logs and counters.",
			Description: pagesGoBack, Handler: operation.To((*Dashboards).failures)},
		{ID: "getLinkSeries", Path: "/fabrics/{fabric}/links/{link}", Tag: "time", Summary: "A metric of a link over time.",
			Handler: operation.To((*Dashboards).linkSeries)},
		{ID: "listLinkValues", Path: "/fabrics/{fabric}/link-values", Tag: "time", Summary: "The values of all links in the intervals of a span, as Arrow or CSV.",
			Description: "A batch per interval, a row per link: `time`, `link`, and a column per metric, null where it is missing. Intervals of other versions of the graph are left out. At most 200 million values.",
			TableOnly:   true, Timeout: bulkTimeout, Handler: operation.To((*Dashboards).linkValues)},
		{ID: "getLinkHistory", Path: "/fabrics/{fabric}/links/{link}/history", Tag: "time", Summary: "A metric of a link over weeks or months: mean and maximum per step.",
			Description: "From the roll-ups: steps of 5 minutes for spans up to 8 days, of hours beyond; steps in which the link was not measured are left out.",
			Handler:     operation.To((*Dashboards).linkHistory)},
		{ID: "listTopLinks", Path: "/fabrics/{fabric}/top-links", Tag: "time", Summary: "The links with the highest mean of a metric.",
			Handler: operation.To((*Dashboards).topLinks)},
	}
}

// figureEndpoints are statistics over months: the characterisation of Monet (NSDI 2020).
func figureEndpoints() []endpoint {
	return []endpoint{
		{ID: "getTransitions", Path: "/fabrics/{fabric}/transitions", Tag: "figures", Summary: "Transitions of regions and the network from one interval to the next (Monet, Fig. 5c and 6).",
			Handler: operation.To((*Dashboards).transitions)},
		{ID: "listCongestion", Path: "/fabrics/{fabric}/congestion", Tag: "figures", Summary: "Regions congestion events that overlap the span.",
			Handler: operation.To((*Dashboards).congestion)},
		{ID: "listMitigations", Path: "/fabrics/{fabric}/mitigations", Tag: "figures", Summary: "Congestion mitigation events: throttling events that follow each other (Monet, Fig. 8).",
			Handler: operation.To((*Dashboards).mitigations)},
		{ID: "getForecastSkill", Path: "/fabrics/{fabric}/forecasts", Tag: "figures", Summary: "Quality of the forecasts: their Brier score (0 to 2), compared with that of persistence.",
			Handler: operation.To((*Dashboards).forecasts)},
		{ID: "listHotspots", Path: "/fabrics/{fabric}/hotspots", Tag: "figures", Summary: "How long links stayed at or above each threshold of a stall metric (Monet, Fig. 3).",
			Handler: operation.To((*Dashboards).hotspots)},
		{ID: "listRegionSizes", Path: "/fabrics/{fabric}/region-sizes", Tag: "figures", Summary: "Histogram of region sizes by severity, counting each region once per interval (Monet, Fig. 5a).",
			Handler: operation.To((*Dashboards).regionSizes)},
		{ID: "listRegionDurations", Path: "/fabrics/{fabric}/region-durations", Tag: "figures", Summary: "Histogram of region lifetimes in minutes by highest severity (Monet, Fig. 5b).",
			Handler: operation.To((*Dashboards).regionDurations)},
		{ID: "getLinkTime", Path: "/fabrics/{fabric}/link-time", Tag: "figures", Summary: "Share of measured link time spent in regions of each severity of a stall metric (Monet, Fig. 5c).",
			Handler: operation.To((*Dashboards).linkTime)},
	}
}

// storedEndpoints are statistics about what is stored, and about diagnoses.
func storedEndpoints() []endpoint {
	return []endpoint{
		{ID: "listCauses", Path: "/fabrics/{fabric}/causes", Tag: "figures", Summary: "How often each class of cause was diagnosed, the most frequent first.",
			Handler: operation.To((*Dashboards).causes)},
		{ID: "getCompleteness", Path: "/fabrics/{fabric}/completeness", Tag: "figures", Summary: "What is stored for a span, by version of the graph.",
			Handler: operation.To((*Dashboards).completeness)},
	}
}

func feedbackEndpoints() []endpoint {
	return []endpoint{
		{ID: "listNodeScores", Path: "/fabrics/{fabric}/feedback/nodes", Tag: "feedback", Summary: "The congestion scores of the nodes for the next intervals, the highest first.",
			Description: "Nodes that are not listed score 0. With If-None-Match it answers 304 while nothing has changed; with `wait` it waits for a change first.",
			Timeout:     longestWait + waitMargin, Handler: operation.To((*Dashboards).nodeScores)},
		{ID: "listFeedbackActions", Path: "/fabrics/{fabric}/feedback/actions", Tag: "feedback", Summary: "The audit of feedback, the newest first.",
			Handler: operation.To((*Dashboards).feedbackActions)},
	}
}

// searchEndpoints are about searches for anomalies of NICs (Collie, NSDI'22).
func searchEndpoints() []endpoint {
	return []endpoint{
		{ID: "listSearches", Path: "/fabrics/{fabric}/searches", Tag: "searches", Summary: "The searches sent to agents, the newest first, with their progress.",
			Handler: operation.To((*Dashboards).searches)},
		{ID: "getSearch", Path: "/fabrics/{fabric}/searches/{search}", Tag: "searches", Summary: "One search, and the answers of its agents.",
			Handler: operation.To((*Dashboards).search)},
		{ID: "listFindings", Path: "/fabrics/{fabric}/searches/{search}/findings", Tag: "searches", Summary: "The anomalies that a search found and has not withdrawn, each with its minimal feature set.",
			Handler: operation.To((*Dashboards).searchFindings)},
		{ID: "listKnownAnomalies", Path: "/fabrics/{fabric}/known-anomalies", Tag: "searches", Summary: "The knowledge base: anomalies by the subsystem (NIC model, firmware, CPU, PCIe, NPS, kernel) that has them.",
			Handler: operation.To((*Dashboards).knownAnomalies)},
	}
}

// hostEndpoints are about probes inside hosts (Hostping, NSDI'23).
func hostEndpoints() []endpoint {
	return []endpoint{
		{ID: "listHosts", Path: "/fabrics/{fabric}/hosts", Tag: "hosts", Summary: "The hosts that were probed, each with its newest verdicts.",
			Handler: operation.To((*Dashboards).hosts)},
		{ID: "getHost", Path: "/fabrics/{fabric}/hosts/{host}", Tag: "hosts", Summary: "A host's newest report, or that of one run: verdicts with their evidence, the matrix of its pairs, and its graph.",
			Handler: operation.To((*Dashboards).hostReport)},
		{ID: "listHostRuns", Path: "/fabrics/{fabric}/hosts/{host}/runs", Tag: "hosts", Summary: "The runs that probed a host, the newest first.",
			Handler: operation.To((*Dashboards).hostRuns)},
		{ID: "listHostOutliers", Path: "/fabrics/{fabric}/host-outliers", Tag: "hosts", Summary: "Pairs of hosts that differ from the median of the hosts of their model.",
			Handler: operation.To((*Dashboards).hostOutliers)},
		{ID: "listHostModels", Path: "/fabrics/{fabric}/host-models", Tag: "hosts", Summary: "The host models that have a baseline, and the hosts it was measured on.",
			Handler: operation.To((*Dashboards).hostModels)},
	}
}

// collectiveEndpoints are about diagnosed collectives of jobs (Vedrfolnir, SIGCOMM'25).
func collectiveEndpoints() []endpoint {
	return []endpoint{
		{ID: "listCollectives", Path: "/fabrics/{fabric}/collectives", Tag: "collectives", Summary: "The collectives of jobs that were diagnosed, each with its culprits.",
			Handler: operation.To((*Dashboards).collectives)},
		{ID: "getCollective", Path: "/fabrics/{fabric}/collectives/{run}", Tag: "collectives", Summary: "A diagnosed collective: its critical path, its culprits, a timeline of ranks by steps, and the congestion regions that its flows crossed.",
			Handler: operation.To((*Dashboards).collectiveRun)},
		{ID: "listRegionCollectives", Path: "/fabrics/{fabric}/tracks/{region}/collectives", Tag: "collectives", Summary: "The collectives whose flows crossed a region, and what it cost each.",
			Handler: operation.To((*Dashboards).regionCollectives)},
	}
}

// ownEndpoints are about the API itself.
func ownEndpoints() []endpoint {
	return []endpoint{
		{ID: "getSession", Path: "/session", Tag: "api", Summary: "Identity and role of the client, and how it was authenticated.",
			Description: "POST /login with JSON `{\"token\": ...}` starts a browser session, POST /logout ends it.",
			Handler:     operation.To((*Dashboards).session)},
		{ID: "getDocument", Path: "/openapi.json", Tag: "api", Summary: "This document.",
			Raw: operation.ToRaw((*Dashboards).document), RawType: operation.JSON},
		{ID: "streamIntervals", Path: "/stream", Tag: "stream", Summary: "Server-sent events: one per stored interval.",
			Description: "An event `interval` carries an Announcement as JSON. A client that reconnects with Last-Event-ID gets the events it missed, or an event `reset` if there are too many: it must then reload everything.",
			Raw:         operation.ToRaw((*Dashboards).stream), RawType: eventStream},
	}
}
