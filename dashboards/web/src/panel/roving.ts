// A list of buttons as one stop of the Tab key: a roving tabindex, as in the WAI-ARIA Authoring Practices. The arrow keys, Home
// and End move within the list, and Tab leaves it; the entry that had the focus last is the stop.

const nameOf = (e: HTMLElement) => e.dataset.key ?? e.textContent;

/** rove makes what matches a selector within a list one stop. The list may be refilled at any time. */
export function rove(list: HTMLElement, selector: string) {
  let last = "";
  const entries = () => [...list.querySelectorAll<HTMLElement>(selector)];
  const settle = () => {
    const all = entries(), stop = all.find((e) => e === document.activeElement) ?? all.find((e) => nameOf(e) === last) ?? all[0];
    for (const e of all) {
      const at = e === stop ? 0 : -1;
      if (e.tabIndex !== at) e.tabIndex = at;
    }
  };
  new MutationObserver(settle).observe(list, { childList: true, subtree: true });
  list.addEventListener("focusin", (e) => {
    last = nameOf((e.target as HTMLElement).closest<HTMLElement>(selector) ?? list);
    settle();
  });
  list.addEventListener("keydown", (e) => {
    if (e.altKey || e.ctrlKey || e.metaKey || e.shiftKey) return;
    const all = entries(), at = all.indexOf(document.activeElement as HTMLElement);
    const to = ({ ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 } as Record<string, number>)[e.key];
    if (at < 0 || to === undefined) return;
    e.preventDefault(); // of scrolling
    e.stopPropagation();
    all[Math.min(Math.max(to, 0), all.length - 1)].focus();
  });
  list.setAttribute("aria-describedby", "roving");
  settle();
}
