// Tabs as in the ARIA practices: one stop in the tab order, arrow keys move, Home and End jump. Each tab is a link.

import { h } from "../dom.js";

/** A bar of `{id, label, link}`; the panel that it controls has the id `panel`. */
export function tabBar(tabs, active) {
  const bar = h(
    "div.tabs",
    { role: "tablist", "aria-label": "About this table", onkeydown: move },
    tabs.map((tab) =>
      h(
        "a.tab",
        {
          role: "tab",
          id: `tab-${tab.id}`,
          href: tab.link,
          "aria-selected": tab.id === active ? "true" : "false",
          "aria-controls": "panel",
          tabindex: tab.id === active ? "0" : "-1",
        },
        h("span", { "data-text": tab.label }, tab.label),
      ),
    ),
  );
  return bar;
}

/** Marks the active tab, and scrolls to it where the bar is wider than the screen. */
export function mark(bar, active, links = {}) {
  for (const tab of bar.children) {
    const id = tab.id.slice("tab-".length);
    const isActive = id === active;
    tab.setAttribute("aria-selected", String(isActive));
    tab.tabIndex = isActive ? 0 : -1;
    if (links[id]) tab.href = links[id];
    if (isActive) bar.scrollTo({ left: tab.offsetLeft - bar.clientWidth / 2 + tab.offsetWidth / 2 });
  }
}

function move(event) {
  const tabs = [...event.currentTarget.children];
  const place = tabs.indexOf(document.activeElement);
  const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (event.key === " ") {
    event.preventDefault();
    document.activeElement.click();
  }
  if (to === undefined || place < 0) return;
  event.preventDefault();
  const next = tabs[(to + tabs.length) % tabs.length];
  next.focus();
  next.click();
}
