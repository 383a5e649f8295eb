// The autopilot of a warehouse: whether it works, what it would do now, and what it did.

import { get, isAbort, post } from "../api.js";
import { fill, h } from "../dom.js";
import { bytes, plural, since, took } from "../format.js";
import { choice } from "../parts/fields.js";
import { grid } from "../parts/grid.js";
import { empty, failure, settle } from "../parts/states.js";
import { note, tableLink } from "../router.js";

const REFRESH = 3000;
const SHOWN = 100;

export function showAutopilot(main, route, service) {
  document.title = "Autopilot · Lakebed";
  const life = new AbortController();
  const place = h("div");
  fill(main, h("div.page-head", h("h1", "Autopilot")), place);
  settle(place, {
    signal: life.signal,
    load: () => get(["warehouses"], {}, { signal: life.signal }),
    show: ({ items }) => content(items, route.params.warehouse, service, life.signal),
  });
  return { update: () => {}, stop: () => life.abort() };
}

function content(warehouses, asked, service, signal) {
  let warehouse = warehouses.some((one) => one.name === asked) ? asked : warehouses[0].name;
  let inner = new AbortController();
  const holder = h("div");
  const draw = () => {
    inner.abort();
    inner = new AbortController();
    fill(holder, ofWarehouse(warehouse, service, inner.signal));
  };
  signal.addEventListener("abort", () => inner.abort());
  draw();
  if (warehouses.length === 1) return holder;
  const chosen = choice("Warehouse", {
    id: "warehouse",
    value: warehouse,
    options: warehouses.map((one) => [one.name, one.name]),
    onchange: (name) => {
      warehouse = name;
      note({ warehouse });
      draw();
    },
  });
  return h("div", h("div.filters", chosen), holder);
}

function ofWarehouse(warehouse, service, signal) {
  const path = ["warehouses", warehouse, "autopilot"];
  const state = h("div.row", { role: "status" });
  const plan = h("div");
  const jobs = h("div");
  let timer = 0;
  const showState = ({ owner, is_paused }) => {
    const toggle = async () => {
      try {
        showState(await post([...path, is_paused ? "resume" : "pause"]));
      } catch (error) {
        fill(state, failure(error, refresh));
      }
    };
    fill(
      state,
      h("span.badge", { class: owner ? "state-running" : "plain" }, owner ? "works" : "does not run"),
      is_paused ? h("span.badge", { class: "state-queued" }, "paused") : null,
      h("span.muted", owner ?? "Start it with lakebed autopilot run, or the service with --autopilot."),
      h("span.grow"),
      service.allow_actions ? h("button", { type: "button", onclick: toggle }, is_paused ? "Resume" : "Pause") : null,
    );
  };
  const refresh = async () => {
    clearTimeout(timer);
    try {
      const found = await get(path, { limit: SHOWN }, { signal });
      if (signal.aborted) return;
      showState(found);
      fill(jobs, jobTable(warehouse, found.jobs));
      timer = setTimeout(refresh, REFRESH);
    } catch (error) {
      if (!isAbort(error) && !signal.aborted) fill(jobs, failure(error, refresh));
    }
  };
  const look = () =>
    settle(plan, {
      signal,
      load: () => get([...path, "plan"], {}, { signal }),
      show: (found) => planTable(warehouse, found),
    });
  signal.addEventListener("abort", () => clearTimeout(timer));
  refresh();
  look();
  return [
    state,
    h("section", h("div.row", h("h2", "Plan"), h("span.grow"), h("button", { type: "button", onclick: look }, "Look again")), plan),
    h("section", h("h2", "Jobs"), jobs),
  ];
}

function planTable(warehouse, { jobs, left_alone: alone }) {
  const columns = [
    { label: "Table", cell: (row) => linked(warehouse, row.table) },
    { label: "Job", cell: (row) => row.kind.replaceAll("-", " ") },
    { label: "Why", cell: (row) => row.why },
    { label: "Reads and writes", class: "right", cell: (row) => bytes(row.cost) },
    { label: "Saves each read", class: "right", cell: (row) => bytes(row.gain) },
  ];
  return [
    jobs.length
      ? grid(columns, jobs, { label: "Plan" })
      : empty("Nothing to do", "No table of this warehouse needs anything now."),
    alone.length
      ? h(
          "details",
          h("summary", `${plural(alone.length, "table")} left alone`),
          h(
            "ul",
            alone.map((one) => h("li", linked(warehouse, one.table), ": ", one.reason)),
          ),
        )
      : null,
  ];
}

function jobTable(warehouse, { items, total }) {
  if (!items.length) return empty("No jobs yet", "Every job of the autopilot is listed here, with its reason.");
  const columns = [
    { label: "Began", cell: (row) => since(row.started_millis) },
    { label: "Table", cell: (row) => linked(warehouse, row.table) },
    { label: "Job", cell: (row) => row.kind.replaceAll("-", " ") },
    { label: "State", cell: (row) => h("span.badge", { class: `state-${badge(row.state)}` }, row.state) },
    { label: "Took", class: "right", cell: (row) => took(row.finished_millis && row.finished_millis - row.started_millis) },
    { label: "Why", cell: (row) => row.why },
    { label: "What it did", cell: (row) => row.summary },
  ];
  return [
    grid(columns, items, { label: "Jobs" }),
    total > items.length ? h("p.muted", `The newest ${items.length} of ${plural(total, "job")}.`) : null,
  ];
}

const badge = (state) => ({ conflict: "cancelled", interrupted: "cancelled" })[state] ?? state;

/** A link to a table or to one of its branches, by its full name. */
function linked(warehouse, full) {
  const [name, branch] = full.split("$branch_");
  const dot = name.indexOf(".");
  const place = { warehouse, database: name.slice(0, dot), table: name.slice(dot + 1) };
  return h("a", { href: tableLink(place, "overview", branch ? { branch } : {}) }, full);
}
