// What the parts of the page know of the page as a whole: its state, and how to change it. Class
// Page implements it; the parts import this file alone, so that no imports form a cycle.
import type { Selection } from "./map/frame.ts";
import type { Model } from "./model.ts";
import type { Region } from "./types.ts";
import type { ViewState } from "./url.ts";

export interface App {
  readonly state: ViewState;
  readonly model: Model | null;
  /** whether the stream of events is connected */
  readonly online: boolean;
  /** whether what is selected has to be scrolled into view once it is shown */
  reveal: boolean;

  /** changes what is shown and the address; a step is one that the Back button undoes */
  go(change: Partial<ViewState>, step?: boolean): void;
  refresh(): Promise<void>;
  /** draws the map */
  paint(): void;

  /** the metric that the user picked, or that of the region that is shown, or the one by which the network is worst */
  metricShown(): string;
  /** the region that was chosen, if it is there, or else the worst */
  region(): Region | undefined;
  chooseRegion(r: Region): void;
  selection(): Selection;
  select(what: Selection): void;

  /** goes to an instant of the past; an empty one follows the present */
  showAt(time: string): void;
  /** follows the present, and stops playing the past */
  live(): void;
  compareWith(time: string): void;
}
