// The partitions of a chain table: a strip for each group with full partitions, deltas with their depth, stale
// partitions, and days without data.

import { fill, h } from "../dom.js";
import { ago, plural, size } from "../format.js";
import { dayOf, dayText, DAY } from "../parts/days.js";
import { facts } from "../parts/facts.js";
import { empty, settle, skeleton } from "../parts/states.js";

const PAGE = 1000;
const MOST_GAPS = 400; // longer gaps are not drawn day by day
const KINDS = {
  full: "full",
  delta: "delta",
  "full+delta": "full and delta",
  main: "on main",
  stale: "stale",
  gap: "no data",
};

export function showChain(panel, page, signal) {
  settle(panel, {
    signal,
    waiting: skeleton(3, "picture"),
    load: () => page.ask(["chain"], { limit: PAGE }, signal),
    show: (found) => {
      if (!found.is_chain)
        return empty(
          "This is not a chain table",
          "A chain table has full partitions and deltas on two branches, and reads them as one table.",
        );
      if (!found.items.length) return empty("No partitions", "Full partitions and deltas are shown here.");
      return chain(found, page, signal);
    },
  });
}

function chain(first, page, signal) {
  const details = h(
    "div.card.chain-details",
    { "aria-live": "polite" },
    h("p.hint", "Select a partition to see what a read of it merges."),
  );
  const strips = h("div");
  const foot = h("div");
  const held = [];
  const add = (found) => {
    held.push(...found.items);
    fill(
      strips,
      groupsOf(held).map(([group, items]) =>
        strip(group, items, first, (item) => fill(details, about(item, page, first))),
      ),
    );
    fill(
      foot,
      found.next_offset === null
        ? null
        : h(
            "button",
            { type: "button", onclick: (event) => more(event.target, found.next_offset) },
            `Show more of ${plural(found.total, "partition")}`,
          ),
    );
  };
  const more = async (button, offset) => {
    button.disabled = true;
    try {
      add(await page.ask(["chain"], { limit: PAGE, offset }, signal));
    } catch (error) {
      button.disabled = false;
      button.textContent = `${error.message} Try again`;
    }
  };
  add(first);
  return [h("p.hint", branchesOf(first)), summary(first.summary), legend(), strips, foot, details];
}

const branchesOf = (found) =>
  `Full partitions are on branch ${found.full_branch}, deltas on branch ${found.delta_branch}; ordered by ${found.chain_keys.join(", ")}.`;

function summary(all) {
  return h(
    "div.card.chain-summary",
    facts([
      ["Newest full partition", newestFull(all)],
      ["Stale", all.stale_count ? plural(all.stale_count, "full partition") : "none"],
      ["Deepest read", all.deepest ? plural(all.deepest, "delta") : "merges nothing"],
      ["Saved against full copies", all.bytes_saved > 0 ? `about ${size(all.bytes_saved)}` : "nothing"],
    ]),
  );
}

function newestFull(all) {
  if (all.groups_without_full)
    return all.group_count > 1 ? `none in ${plural(all.groups_without_full, "group")}` : "none";
  if (all.newest_full === null) return null;
  const behind = all.group_count > 1 ? ` (of ${plural(all.group_count, "group")} the one furthest behind)` : "";
  return `${all.newest_full}, ${ago(Date.now() - all.newest_full_age_millis)}${behind}`;
}

function legend() {
  return h(
    "div.row.chain-legend",
    Object.entries(KINDS).map(([kind, text]) => h("span.row", h("span.day", { class: classOf(kind) }), text)),
    h("span.muted", "The number is the depth: how many deltas a read merges with the full partition."),
  );
}

function groupsOf(items) {
  const groups = new Map();
  for (const item of items) groups.set(item.group, [...(groups.get(item.group) ?? []), item]);
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
}

function strip(group, items, found, choose) {
  const months = monthsOf(withGaps(items, found.chain_keys));
  const stale = items.filter((item) => item.is_stale).length;
  const deepest = Math.max(...items.map((item) => item.depth));
  const times = items.filter((item) => item.kind.startsWith("full") && !item.is_stale).map((item) => item.time_millis);
  return h(
    "section.card.strip",
    h(
      "div.section-head",
      h("h3", group || "All rows"),
      h(
        "span.muted",
        `${plural(items.length, "partition")}, depth up to ${deepest}, `,
        times.length ? `newest full partition ${ago(Math.max(...times))}` : "no full partition",
        stale ? h("span.went", `, ${stale} stale`) : null,
      ),
    ),
    h(
      "div.months",
      { onkeydown: move },
      months.map(([name, days]) =>
        h(
          "div.month",
          h("span.month-name", name),
          h(
            "div.days",
            days[0].day === null ? null : blanks(days[0].day),
            days.map((one) => cell(one, choose)),
          ),
        ),
      ),
    ),
  );
}

// Weeks are columns that start on Monday.
function blanks(day) {
  return Array.from({ length: (new Date(day).getUTCDay() + 6) % 7 }, () => h("span.day-blank"));
}

function cell({ item, day, text }, choose) {
  if (!item)
    return h("span.day", {
      class: classOf("gap"),
      title: `${text}: no data; a read returns the day before`,
    });
  return h(
    "button.day",
    {
      type: "button",
      class: classOf(item.kind) + (item.is_stale ? " day-stale" : ""),
      title: `${item.partition}: ${KINDS[item.kind] ?? item.kind}${item.is_stale ? ", stale" : ""}, depth ${item.depth}`,
      "aria-label": `${item.partition}: ${KINDS[item.kind] ?? item.kind}${item.is_stale ? ", stale" : ""}, depth ${item.depth}`,
      "data-day": day ?? "",
      onclick: (event) => {
        for (const other of event.target.closest(".panel").querySelectorAll(".day[aria-pressed]"))
          other.removeAttribute("aria-pressed");
        event.target.setAttribute("aria-pressed", "true");
        choose(item);
      },
    },
    item.depth ? String(item.depth) : "",
  );
}

const classOf = (kind) => `day-${kind.replace("+", "-")}`;

/** Items in order, with the days between them that have no data, if the partitions are days. */
function withGaps(items, keys) {
  const placed = items.map((item) => ({ item, day: dayOf(item.partition, keys), text: item.partition }));
  if (placed.some((one) => one.day === null)) return placed;
  placed.sort((a, b) => a.day - b.day);
  const all = [];
  for (const one of placed) {
    const last = all.at(-1);
    if (last && (one.day - last.day) / DAY <= MOST_GAPS) {
      for (let day = last.day + DAY; day < one.day; day += DAY) all.push({ item: null, day, text: dayText(day) });
    }
    all.push(one);
  }
  return all;
}

function monthsOf(days) {
  const months = new Map();
  for (const one of days) {
    const name = one.day === null ? "" : dayText(one.day).slice(0, 7);
    months.set(name, [...(months.get(name) ?? []), one]);
  }
  return [...months];
}

function move(event) {
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const days = [...event.currentTarget.querySelectorAll("button.day")];
  const next = days[days.indexOf(document.activeElement) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

function about(item, page, found) {
  return [
    h("h3", item.partition),
    facts([
      ["Kind", `${KINDS[item.kind] ?? item.kind}${item.is_stale && item.kind !== "stale" ? ", stale" : ""}`],
      ["Reads from", origin(item)],
      ["Depth", item.depth ? depth(item) : "0: a read merges nothing"],
      ["Files", `${plural(item.file_count, "file")}, ${size(item.byte_count)}`],
      ["Saved against a full copy", item.bytes_saved > 0 ? `about ${size(item.bytes_saved)}` : null],
      ["Stale", item.is_stale ? "yes: a delta that it was built from was overwritten later; compact the chain again" : "no"],
    ]),
    h(
      "div.row.links",
      h("a", { href: page.link("rows", { where: whereOf(item.partition) }) }, "Rows"),
      page.service.allow_actions && (item.is_stale || item.kind === "delta")
        ? h(
            "a",
            { href: page.link("maintenance", { action: "compact-chain", where: whereOf(item.partition) }) },
            "Build a full partition",
          )
        : null,
      found.full_branch === found.delta_branch ? null : h("a", { href: page.link("branches") }, "Branches"),
    ),
  ];
}

function origin(item) {
  if (item.anchor) return `the full partition ${item.anchor}`;
  return item.depth ? "the first delta" : "itself";
}

const depth = (item) => `${plural(item.depth, "delta")}${item.anchor ? " on top of the full partition" : ""}`;

const whereOf = (partition) =>
  partition
    .split("/")
    .map((part) => part.split("="))
    .map(([name, ...value]) => `${name} = '${value.join("=").replaceAll("'", "''")}'`)
    .join(" AND ");
