// The pages beside the map: jobs, collectives, hosts, searches.
import type { App } from "../app.ts";
import { collectivesPage } from "./collectives.ts";
import { jobsPage } from "./jobs.ts";
import { hostsPage } from "./hosts.ts";
import { searchesPage } from "./searches.ts";

export function showPage(app: App, into: HTMLElement) {
  const pages = { jobs: jobsPage, collectives: collectivesPage, hosts: hostsPage, searches: searchesPage };
  if (app.state.page !== "map") pages[app.state.page](app, into);
}
