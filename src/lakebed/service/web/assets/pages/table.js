// The page of one table: its name and health, the branch, and the tabs.

import { get, tablePath } from "../api.js";
import { fill, h } from "../dom.js";
import { choice } from "../parts/fields.js";
import { SnapshotSheet } from "../parts/snapshot_sheet.js";
import { empty, failure, skeleton } from "../parts/states.js";
import { mark, tabBar } from "../parts/tab_bar.js";
import { tableKind, verdict } from "../parts/words.js";
import { go, tableLink, tablesLink } from "../router.js";
import { showBranches } from "../tabs/branches.js";
import { showChain } from "../tabs/chain.js";
import { showCompactions } from "../tabs/compactions.js";
import { showDiff } from "../tabs/diff.js";
import { showFiles } from "../tabs/files.js";
import { showMaintenance } from "../tabs/maintenance.js";
import { showOptions } from "../tabs/options.js";
import { showOverview } from "../tabs/overview.js";
import { showPartitions } from "../tabs/partitions.js";
import { showRows } from "../tabs/rows.js";
import { showSnapshots } from "../tabs/snapshots.js";

const OVERVIEW = "overview"; // the tab that shows what is known of the table as a whole

const TABS = [
  { id: OVERVIEW, label: "Overview", show: showOverview },
  { id: "snapshots", label: "Snapshots", show: showSnapshots },
  { id: "compactions", label: "Compactions", show: showCompactions },
  { id: "files", label: "Files & levels", show: showFiles },
  { id: "partitions", label: "Partitions", show: showPartitions, when: (info) => info.partition_keys.length },
  { id: "chain", label: "Chain", show: showChain, when: (info) => info.kind === "chain" },
  { id: "branches", label: "Branches & tags", show: showBranches },
  { id: "diff", label: "Diff", show: showDiff },
  { id: "rows", label: "Rows", show: showRows },
  { id: "options", label: "Options", show: showOptions },
  { id: "maintenance", label: "Maintenance", show: showMaintenance, when: (info, service) => service.allow_actions },
];

export function showTable(main, route, service) {
  const page = new TablePage(main, route, service);
  page.load();
  return { update: (next) => page.update(next), stop: () => page.stop() };
}

class TablePage {
  constructor(main, route, service) {
    this.service = service;
    this.route = route;
    this.name = { warehouse: route.warehouse, database: route.database, table: route.table };
    this.branch = route.params.branch || null;
    this.life = new AbortController();
    this.panelLife = null;
    this.sheet = new SnapshotSheet(this);
    this.head = h("div.page-head");
    this.bar = null;
    this.panel = h("section.panel", { id: "panel", role: "tabpanel" });
    this.barPlace = h("div.tab-place");
    fill(this.head, this.#title(null));
    fill(main, this.#crumbs(), this.head, this.barPlace, this.panel);
    document.title = `${this.name.table} · Lakebed`;
  }

  async load() {
    fill(this.panel, skeleton());
    try {
      this.info = await this.ask([]);
    } catch (error) {
      if (this.life.signal.aborted) return;
      fill(this.head, h("h1", this.name.table));
      fill(
        this.panel,
        failure(error, () => this.load()),
      );
      return;
    }
    this.#drawHead();
    this.#show();
    this.sheet.follow(this.route.params.snapshot);
  }

  /** Sends a request about this table, on this branch. */
  ask(parts, params = {}, signal = this.life.signal) {
    return get(tablePath(this.name, ...parts), { branch: this.branch, ...params }, { signal });
  }

  /** The address of one of the tabs of this table. */
  link(tab, params = {}) {
    return tableLink(this.name, tab, { branch: this.branch, ...params });
  }

  update(route) {
    const before = this.route;
    this.route = route;
    if (!this.info) return;
    if (route.tab !== before.tab || withoutSheet(route) !== withoutSheet(before)) this.#show();
    this.sheet.follow(route.params.snapshot);
    if (route.tab !== before.tab && route.tab === OVERVIEW) this.refresh().catch(() => {}); // its other requests fail too
  }

  /** Loads the table again; the overview is drawn again if something has changed. */
  async refresh() {
    const info = await this.ask([]);
    if (JSON.stringify(info) === JSON.stringify(this.info)) return;
    this.info = info;
    const focused = document.activeElement?.id;
    this.#drawHead();
    if (this.route.tab === OVERVIEW) this.#show();
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  stop() {
    this.life.abort();
    this.panelLife?.abort();
    this.sheet.drop();
  }

  #show() {
    this.panelLife?.abort();
    this.panelLife = new AbortController();
    const focused = document.activeElement?.id;
    const tab = TABS.find((one) => one.id === this.route.tab);
    if (this.bar) mark(this.bar, tab?.id);
    this.panel.setAttribute("aria-labelledby", tab ? `tab-${tab.id}` : "");
    document.title = `${tab?.label ?? "?"} · ${this.name.table} · Lakebed`;
    if (tab) tab.show(this.panel, this, this.panelLife.signal);
    else fill(this.panel, empty("Tab not found", `A table has no tab '${this.route.tab}'.`));
    if (focused && document.activeElement?.id !== focused)
      document.getElementById(focused)?.focus({ preventScroll: true });
  }

  #crumbs() {
    const { warehouse, database } = this.name;
    return h(
      "nav.crumbs",
      { "aria-label": "Breadcrumb" },
      h("a", { href: tablesLink({ warehouse }) }, warehouse),
      h("span", { "aria-hidden": "true" }, "/"),
      h("a", { href: tablesLink({ warehouse, database }) }, database),
    );
  }

  #title(info) {
    return [
      h("h1", this.name.table),
      info ? tableKind(info.kind) : null,
      info ? verdict(info.health) : h("span.pill.is-waiting", "…"),
      h("span.grow"),
    ];
  }

  #drawHead() {
    const { info } = this;
    const branches = ["main", ...info.branches];
    const comment = info.comment ? h("p.comment", info.comment) : null;
    fill(
      this.head,
      this.#title(info),
      branches.length > 1 || this.branch ? this.#branchChoice(branches) : null,
      comment,
    );
    const tabs = TABS.filter((tab) => !tab.when || tab.when(info, this.service)).map((tab) => ({
      ...tab,
      link: this.link(tab.id),
    }));
    this.bar = tabBar(tabs, this.route.tab);
    fill(this.barPlace, this.bar);
    mark(this.bar, this.route.tab);
  }

  #branchChoice(branches) {
    return choice("Branch", {
      id: "branch",
      value: this.branch ?? "main",
      options: branches.map((name) => [name, name]),
      onchange: (name) => go(tableLink(this.name, this.route.tab, { branch: name === "main" ? null : name })),
    });
  }
}

function withoutSheet(route) {
  const { snapshot, ...rest } = route.params;
  return JSON.stringify(Object.entries(rest).sort());
}
