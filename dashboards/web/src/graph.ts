// A version of a fabric's graph, with what the views look up in it.
import type { Device, FabricSummary, Graph as Answer } from "./types.ts";

export type Kind = "grid" | "tiers" | "groups";

/** plainName is a device's name as people call it: of a managed switch of an InfiniBand subnet (MF0;leaf1:MQM8700/U1) its own, with the chip's where it has several; of "Voltaire 4036 # leaf1" what stands after the model; elsewhere without the maker. */
export function plainName(name: string): string {
  const managed = /^MF\d+;([^:;]+):[^:/]+\/(.+)$/.exec(name);
  if (managed) return managed[2] === "U1" ? managed[1] : `${managed[1]}/${managed[2]}`;
  return / # (.+)$/.exec(name)?.[1] || name.replace(/ *Mellanox Technologies */, " ").trim() || name;
}

export class Graph {
  readonly fabric: FabricSummary;
  readonly devices: Device[];
  readonly duplex: boolean;
  readonly from: Uint32Array;
  readonly to: Uint32Array;
  readonly kind: Kind;
  /** groupWord is "pod", "group" or, of groups with one switch each, "leaf": what the groups of devices are called here. */
  readonly groupWord: string;
  private readonly byName = new Map<string, number>();
  private readonly labelled = new Map<string, number>();
  private outgoing: { start: Uint32Array; link: Uint32Array } | null = null;

  constructor(readonly links: Answer) {
    this.fabric = links.fabric;
    this.devices = links.devices;
    this.duplex = links.duplex;
    this.from = Uint32Array.from(links.from);
    this.to = Uint32Array.from(links.to);
    const switches = links.devices.filter((d) => d.kind === "switch" && d.group >= 0).map((d) => d.group), leaves = new Set(switches).size === switches.length;
    this.groupWord = links.class.includes("global") ? "group" : leaves ? "leaf" : "pod";
    this.kind = links.fabric.dims ? "grid" : this.groupWord === "group" ? "groups" : "tiers";
    this.devices.forEach((d, i) => { this.byName.set(d.name, i); if (d.label && !this.byName.has(d.label)) this.byName.set(d.label, i); });
    for (const d of this.devices) if (d.label) this.labelled.set(d.label, (this.labelled.get(d.label) ?? 0) + 1);
  }

  get size() { return this.from.length; }
  isSwitch = (d: number) => this.devices[d].kind === "switch";
  /** name is what a device is labelled, where no other is. */
  name(d: number): string {
    const { label, name } = this.devices[d];
    return label && this.labelled.get(label) === 1 ? label : name;
  }
  /** called is the name of a device as people call it. */
  called = (d: number) => plainName(this.name(d));
  /** calledIn is that name without the word that all of a level have, for where there is little room. */
  calledIn = (level: string, d: number) => this.called(d).replace(level, "").replace(/^[-_. ]+|([-_. ])[-_. ]+/g, "$1") || undefined;
  /** apart are what is different in the names of some devices, by device: without the words and the domain that all have. */
  apart(devices: number[]): Map<number, string> {
    const words = devices.map((d) => this.called(d).split(/(?<=[-_. ])|(?<=[a-z]{2})(?=\d)/i)), least = Math.min(...words.map((w) => w.length));
    let head = 0, tail = 0;
    while (head < least - 1 && words.every((w) => w[head] === words[0][head])) head++;
    while (tail < least - 1 - head && words.every((w) => w[w.length - 1 - tail] === words[0][words[0].length - 1 - tail])) tail++;
    return new Map(devices.map((d, i) => [d, words[i].slice(head, words[i].length - tail).join("").replace(/[-_. ]+$/, "")]));
  }
  device = (name: string) => this.byName.get(name);

  /** group is the pod, group or leaf of a device in words; empty if it is in none, or is the leaf itself. */
  group(d: number): string {
    const g = this.devices[d].group;
    return g >= 0 && !(this.groupWord === "leaf" && this.isSwitch(d)) ? `${this.groupWord} ${g}` : "";
  }

  /** end names a device with its pod and the port. */
  private end(d: number, port: string): string {
    const g = this.group(d);
    return `${this.called(d)}${g && this.isSwitch(d) ? ` (${g})` : ""}${port ? " : " + port : ""}`;
  }

  linkText(id: number): string {
    const l = this.links;
    return `${this.end(this.from[id], l.from_port[id])} ${this.duplex ? "\u2194" : "\u2192"} ${this.end(this.to[id], l.to_port[id])}`;
  }

  linkShort = (id: number) => `${this.called(this.from[id])} ${this.duplex ? "\u2194" : "\u2192"} ${this.called(this.to[id])}`;

  /** linksAt are the links that begin or end at a device. */
  linksAt(d: number): number[] {
    const o = this.incidence();
    return Array.from(o.link.subarray(o.start[d], o.start[d + 1]));
  }

  /** incidence lists the links of each device, both directions, in compressed rows. */
  private incidence() {
    if (this.outgoing) return this.outgoing;
    const start = new Uint32Array(this.devices.length + 1), link = new Uint32Array(2 * this.size);
    for (let i = 0; i < this.size; i++) { start[this.from[i] + 1]++; start[this.to[i] + 1]++; }
    for (let d = 0; d < this.devices.length; d++) start[d + 1] += start[d];
    const at = start.slice();
    for (let i = 0; i < this.size; i++) { link[at[this.from[i]]++] = i; link[at[this.to[i]]++] = i; }
    return this.outgoing = { start, link };
  }

  /** other is the device at the far end of a link, or -1 if the link does not lead away from d. */
  private other(id: number, d: number): number {
    if (this.from[id] === d) return this.to[id];
    return this.duplex ? this.from[id] : -1;
  }

  /** distances in hops from a device over links that are up; -1: not reached. With back it follows links against their direction. */
  private distances(from: number, back: boolean): Int32Array {
    const o = this.incidence(), far = new Int32Array(this.devices.length).fill(-1), queue = new Uint32Array(this.devices.length);
    far[from] = 0;
    queue[0] = from;
    for (let head = 0, tail = 1; head < tail; head++) {
      const d = queue[head];
      if (d !== from && !this.isSwitch(d)) continue; // a host forwards nothing
      for (let i = o.start[d]; i < o.start[d + 1]; i++) {
        const id = o.link[i];
        if (!this.links.up[id]) continue;
        const n = back && !this.duplex ? (this.to[id] === d ? this.from[id] : -1) : this.other(id, d);
        if (n >= 0 && far[n] < 0) { far[n] = far[d] + 1; queue[tail++] = n; }
      }
    }
    return far;
  }

  /** paths are all shortest paths from one device to another: devices by hop, and the links between them; null if there is none. */
  paths(from: number, to: number): { columns: number[][]; links: number[] } | null {
    const ahead = this.distances(from, false), behind = this.distances(to, true), total = ahead[to];
    if (total < 0) return null;
    const columns: number[][] = Array.from({ length: total + 1 }, () => []);
    ahead.forEach((n, d) => { if (n >= 0 && behind[d] >= 0 && n + behind[d] === total) columns[n].push(d); });
    const on = (d: number) => ahead[d] >= 0 && behind[d] >= 0 && ahead[d] + behind[d] === total;
    const links: number[] = [];
    for (let i = 0; i < this.size; i++) {
      const a = this.from[i], b = this.to[i];
      if (on(a) && on(b) && this.links.up[i] && (ahead[b] === ahead[a] + 1 || this.duplex && ahead[a] === ahead[b] + 1)) links.push(i);
    }
    return { columns, links };
  }

  /** levels are the levels of switches, the lowest (nearest to hosts) first, each with a name. */
  levels(): { level: number; name: string; switches: number[] }[] {
    const by = new Map<number, number[]>();
    this.devices.forEach((d, i) => { if (d.kind !== "switch") return; const list = by.get(d.level); if (list) list.push(i); else by.set(d.level, [i]); });
    const all = [...by.keys()].sort((a, b) => a - b).map((level) => ({ level, switches: by.get(level)!, words: this.wordsOf(by.get(level)!) }));
    const everywhere = (word: string) => all.length > 1 && all.every((l) => l.words.includes(word)); // as the name of a site
    return all.map(({ level, switches, words }) => ({ level, switches, name: words.filter((w) => !everywhere(w)).reduce((a, b) => b.length > a.length ? b : a, "") || ["", "leaf", "spine", "core"][level] || `level ${level}` }));
  }

  /** wordsOf are the words that the names of all of some switches have, without the domain that all have; a letter alone is none. */
  private wordsOf(switches: number[]): string[] {
    const domain = /\.[a-z].*$/i.exec(this.called(switches[0]))?.[0] ?? "", shared = domain && switches.length > 1 && switches.every((i) => this.called(i).endsWith(domain));
    const words = (i: number) => (shared ? this.called(i).slice(0, -domain.length) : this.called(i)).match(/[a-z]{2,}/gi) ?? [];
    return switches.slice(1).reduce((common: string[], i) => { const own = new Set(words(i)); return common.filter((w) => own.has(w)); }, words(switches[0]));
  }

  /** search finds devices and links by part of a name, the best first. */
  search(text: string, most = 12): { device: number; text: string }[] {
    const want = text.trim().toLowerCase();
    if (!want) return [];
    const found: { device: number; text: string; score: number }[] = [];
    this.devices.forEach((d, i) => {
      const names = d.label ? [d.label, d.name] : [d.name];
      let score = 0;
      for (const n of names) {
        const low = n.toLowerCase(), at = low.indexOf(want);
        score = Math.max(score, low === want ? 4 : at === 0 ? 3 : at > 0 ? 1 : 0);
      }
      if (score) found.push({ device: i, text: names.join(" \u00b7 "), score: score + (d.kind === "switch" ? .5 : 0) });
    });
    return found.sort((a, b) => b.score - a.score || a.text.length - b.text.length || a.device - b.device).slice(0, most);
  }
}
