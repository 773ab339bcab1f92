// Making elements. What comes from outside becomes text nodes and attributes, never markup.
type Child = Node | string | null | undefined | false;
type Props = { class?: string; id?: string; title?: string; on?: Record<string, (e: Event) => void>; data?: Record<string, string>; attrs?: Record<string, string> };

/** legible is a text without characters that control terminals or turn the direction of what follows, as schema.OneLine writes it. */
export const legible = (text: string) => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (c) => c === "\n" || c === "\t" ? c : "?");

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props | null, ...children: (Child | Child[])[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  if (props) {
    if (props.class) e.className = props.class;
    if (props.id) e.id = props.id;
    if (props.title) e.title = legible(props.title);
    for (const [k, f] of Object.entries(props.on ?? {})) e.addEventListener(k, f);
    Object.assign(e.dataset, props.data);
    for (const [k, v] of Object.entries(props.attrs ?? {})) e.setAttribute(k, v);
  }
  e.append(...children.flat().filter((c): c is Node | string => c != null && c !== false).map((c) => typeof c === "string" ? legible(c) : c));
  return e;
}

export function $<T extends HTMLElement = HTMLElement>(id: string): T {
  const e = document.getElementById(id);
  if (!e) throw new Error("no element " + id);
  return e as T;
}

/**
 * refill replaces what is in an element, such as a list of buttons. The entry with the focus keeps it; if it is gone, the last one
 * gets it, so that the Tab key goes on from there. Entries are the same if their data-key is, or else their text.
 */
export function refill(into: HTMLElement, ...items: Node[]) {
  const named = (e: HTMLElement) => e.dataset.key ?? e.textContent, old = document.activeElement;
  const was = old instanceof HTMLElement && old !== into && into.contains(old) ? named(old) : null;
  into.replaceChildren(...items);
  if (was === null || into.contains(document.activeElement)) return;
  const entries = [...into.querySelectorAll<HTMLElement>("button, [tabindex]")];
  (entries.find((e) => named(e) === was) ?? entries.at(-1))?.focus({ preventScroll: true });
}

/** setText writes only what is new, so that a screen reader does not say the same again. */
export function setText(e: Element, text: string) { if (e.textContent !== legible(text)) e.textContent = legible(text); }

const svgSpace = "http://www.w3.org/2000/svg";

/** svg makes an element of a drawing. */
export function svg(tag: string, attrs: Record<string, string | number>, text = ""): SVGElement {
  const e = document.createElementNS(svgSpace, tag);
  for (const [k, v] of Object.entries(attrs)) e.setAttribute(k, String(v));
  if (text) e.textContent = legible(text);
  return e;
}
