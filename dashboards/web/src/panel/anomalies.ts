// What is known of the network card at the root of a region, and what an operator may have searched.
import { isAbort } from "../api.ts";
import type { App } from "../app.ts";
import { $, h, setText } from "../dom.ts";
import { condition, words } from "../format.ts";
import type { Diagnosis, MatchedAnomaly, Region } from "../types.ts";
import { copyText } from "./diagnosis.ts";

/** quoted is an argument as a POSIX shell reads it. */
const quoted = (text: string) => /^[A-Za-z0-9_./:=+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Command is one that an operator runs elsewhere, where the key is that signs it; with --dry-run it changes nothing. */
interface Command { title: string; text: string; says: string }

/** commandsOf are those that a region gives reason for. */
function commandsOf(fabric: string, region: string, d: Diagnosis | undefined): Command[] {
  if (!d?.root) return [];
  return [{ title: "Search the network card", text: `giverny search launch --fabric ${quoted(fabric)} --region ${region} --dry-run`,
    says: "prints which host with the same model would run the search, with which peers, and whether its agent would accept it; without --dry-run the command is sent" },
  { title: "Probe the host", text: `giverny hostping launch --fabric ${quoted(fabric)} --region ${region} --dry-run`,
    says: "prints which host would probe its internal links, which pairs, and whether its agent would accept it; without --dry-run the command is sent" }];
}

export class Anomalies {
  private shown = "";
  private known: MatchedAnomaly[] = [];

  constructor(private readonly app: App) {}

  /** show fills in what is known of the card and the commands; the question is asked once per region. */
  show(region: Region | undefined, d: Diagnosis | undefined) {
    const id = String(region?.id ?? d?.region ?? ""), model = this.app.model!, key = `${model.fabric.name} ${id} ${d?.cause.class ?? ""}`;
    if (key !== this.shown) {
      this.shown = key;
      this.known = [];
      this.fill(id, d);
      if (d?.cause.class === "slow_host" && model.interval) {
        model.api.diagnosis(id, model.interval.now.interval.end).then((found) => {
          if (this.shown !== key) return;
          this.known = found?.known_anomalies ?? [];
          this.fill(id, d);
        }).catch((e) => { if (!isAbort(e)) this.shown = ""; });
      }
    }
  }

  private fill(id: string, d: Diagnosis | undefined) {
    const commands = commandsOf(this.app.model!.fabric.name, id, d), known = this.known.flatMap((a) => [h("dt", null, a.symptom), h("dd", null, ...text(a))]);
    $("known").hidden = !known.length;
    $("known").replaceChildren(h("h3", null, "Known anomalies of its network card"), h("dl", null, ...known),
      h("button", { class: "link", attrs: { type: "button" }, on: { click: () => this.app.go({ page: "searches" }, true) } }, "All known anomalies"));
    $("commands").replaceChildren(...commands.map(line));
  }
}

/** text says under which condition it shows, with which firmware it was found, and which jobs meet it. */
function text(a: MatchedAnomaly): HTMLElement[] {
  const jobs = a.jobs.map((j) => h("p", { class: j.verdict === "matches" ? "High" : "Low" }, `job ${j.job_id}${j.name ? ` (${j.name})` : ""} ${words(j.verdict)} it${j.met.length ? ": " + j.met.map(words).join(", ") : ""}${j.unknown.length ? `; unknown: ${j.unknown.map(words).join(", ")}` : ""}`));
  return [h("p", null, `where ${condition(a.mfs)}`), h("p", { class: "Neg" }, `${a.nic_model}, found with ${a.same_firmware ? "the firmware that this card has" : "another firmware"}, by search ${a.search_id}`), ...jobs];
}

function line(c: Command): HTMLElement {
  const said = h("output", { attrs: { role: "status" } });
  const copy = async () => { setText(said, await copyText(c.text) ? "copied" : "the browser denied access to the clipboard"); setTimeout(() => setText(said, ""), 3000); };
  return h("div", { class: "command" }, h("b", null, c.title), h("code", null, c.text), h("small", null, c.says),
    h("span", { class: "actions" }, h("button", { attrs: { type: "button" }, on: { click: () => void copy() } }, "Copy command"), said));
}
