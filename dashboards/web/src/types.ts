// The shapes of the API's answers, from its OpenAPI document: `npm run types` makes api.gen.ts of it.
import type { components } from "./api.gen.ts";

type Schemas = components["schemas"];
export type FabricSummary = Schemas["Summary"];
export type Graph = Schemas["Graph"];
export type Device = Schemas["Device"];
export type Severity = Schemas["Severity"];
export type Region = Schemas["Region"];
export type Forecast = Schemas["Forecast"];
export type Odds = Forecast["next"];
/** Diagnosis is one; of a slow host with what probes inside that host came to. */
export type Diagnosis = Schemas["Diagnosis"] & Partial<Pick<Schemas["Diagnosed"], "probed_host">>;
export type AccusedJob = Schemas["AccusedJob"];
export type VictimJob = Schemas["VictimJob"];
export type NearFailure = Schemas["NearFailure"];
export type Unknown = Omit<Schemas["Unknown"], "reason"> & { reason: string };
export type Snapshot = Schemas["Snapshot"];
export type StateAt = Schemas["NetworkAt"];
export type NetworkSteps = Schemas["NetworkSteps"];
export type NetworkStep = Schemas["NetworkStep"];
export type CongestionEvent = Schemas["CongestionEvent"];
export type Congestion = Schemas["Congestion"];
export type LinkHistory = Schemas["LinkHistory"];
export type NetworkStates = Schemas["NetworkStates"];
export type FabricEvent = Schemas["Event"];
export type EventPage = Schemas["EventPage"];
/** Status is the server's, or the page's own where the server does not answer. */
export type Status = Omit<Schemas["Status"], "network"> & { network: Network };
type Network = Omit<Schemas["NetworkForecast"], "unknown" | "next" | "later"> & { unknown?: Omit<Unknown, "reason"> & { reason: string }; next: Odds | null; later: Odds | null };
export type Exposure = Schemas["Exposure"];
export type Job = Schemas["Job"];
export type JobPage = Schemas["JobPage"];
export type JobTraffic = Schemas["TrafficSeries"];
export type Track = Schemas["Track"];
export type TrackList = Schemas["TrackList"];
export type DiagnosisPage = Schemas["DiagnosisPage"];
export type MatchedAnomaly = Schemas["MatchedAnomaly"];
export type LinkSeries = Schemas["LinkSeries"];
export type NodeScores = Schemas["NodeScores"];
export type Search = Schemas["Search"];
export type KnownAnomaly = Schemas["KnownAnomaly"];
export type Collective = Schemas["Collective"];
export type CollectiveRun = Schemas["CollectiveRun"];
export type RegionCollective = Schemas["RegionCollective"];
export type HostRun = Schemas["HostRun"];
export type HostReport = Schemas["HostReport"];
export type HostGraph = Schemas["HostGraph"];
export type Subsystem = Schemas["Subsystem"];

/** Span is a part of the past: from and to, or so many intervals back. */
export interface Span { from?: string | number; to?: string | number; intervals?: number }
