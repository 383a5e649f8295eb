// What a table is and how it does: sizes, health with reasons, columns, the history of its schema.

import { fill, h } from "../dom.js";
import { at, bytes, count, plural, since } from "../format.js";
import { facts } from "../parts/facts.js";
import { grid } from "../parts/grid.js";
import { empty, settle, skeleton } from "../parts/states.js";
import { sign } from "../parts/words.js";

export function showOverview(panel, page, signal) {
  const { info } = page;
  const health = h("div.card.health-list");
  const schemas = h("div");
  fill(
    panel,
    info.warnings.map((text) => h("p.warning", text)),
    tiles(page),
    h(
      "div.columns",
      h("section", h("h2", "Health"), health),
      h("section", h("h2", "About"), h("div.card", about(page))),
    ),
    h("h2", "Columns"),
    columns(info),
    h("h2", "Schema history"),
    schemas,
  );
  settle(health, {
    signal,
    waiting: skeleton(5),
    load: () => page.ask(["health"], {}, signal),
    show: (found) => healthItems(found, page),
  });
  settle(schemas, { signal, waiting: skeleton(2), load: () => page.ask(["schemas"], {}, signal), show: schemaHistory });
}

function tiles(page) {
  const { info } = page;
  const tile = (label, value, tab) =>
    h(
      tab ? "a.tile" : "div.tile",
      { href: tab ? page.link(tab) : null },
      h("span.tile-label", label),
      h("span.tile-value", value),
    );
  return h(
    "div.tiles",
    tile("Rows", count(info.record_count), "rows"),
    tile("Size", bytes(info.byte_count), "files"),
    tile("Files", count(info.file_count), "files"),
    info.partition_keys.length ? tile("Partitions", count(info.partition_count), "partitions") : null,
    tile("Buckets", count(info.bucket_count), "files"),
    tile("Snapshots", count(info.snapshot_count), "snapshots"),
    tile("Last commit", since(info.last_commit_millis), "snapshots"),
  );
}

function healthItems(found, page) {
  if (!found.items.length) return empty("No health checks", "The table has no snapshots.");
  return h(
    "ul.plain-list",
    found.items.map((item) =>
      h(
        "li.health-item",
        sign(item.verdict),
        h("div", h("strong", item.title), h("p", item.reason)),
        item.action && page.service.allow_actions
          ? h("a.button", { href: page.link("maintenance", { action: item.action }) }, item.action.replaceAll("-", " "))
          : null,
      ),
    ),
  );
}

function about({ info }) {
  return facts([
    ["Primary key", info.primary_keys.join(", ")],
    ["Partitioned by", info.partition_keys.join(", ")],
    ["Bucket", bucketText(info)],
    ["Merge engine", info.merge_engine],
    ["Branches", info.branches.join(", ")],
    ["Tags", info.tags.length > 8 ? `${info.tags.length} tags` : info.tags.join(", ")],
    [
      "Latest snapshot",
      info.last_commit_millis === null ? "none" : [`${latestText(info)}, `, at(info.last_commit_millis)],
    ],
    ["Schema", info.schema_id],
    ["Path", h("code", info.path)],
  ]);
}

function latestText(info) {
  return Object.entries(info.latest_snapshot_ids)
    .map(([branch, id]) => (branch === info.branch ? id : `${id} of branch ${branch}`))
    .join(", ");
}

function bucketText(info) {
  const keys = info.bucket_keys.length ? ` by ${info.bucket_keys.join(", ")}` : "";
  if (info.bucket === "-1") return info.primary_keys.length ? `dynamic${keys}` : "unaware";
  return `${info.bucket}${keys}`;
}

function columns(info) {
  const roles = (name) => [
    info.primary_keys.includes(name) ? h("span.badge.plain", "key") : null,
    info.partition_keys.includes(name) ? h("span.badge.plain", "partition") : null,
  ];
  return grid(
    [
      { label: "Id", class: "right slim", cell: (column) => column.id },
      { label: "Name", cell: (column) => h("span.row", h("strong", column.name), roles(column.name)) },
      { label: "Type", cell: (column) => h("code", column.type) },
      { label: "Default", cell: (column) => column.default ?? "" },
      { label: "Comment", cell: (column) => column.comment ?? "" },
    ],
    info.columns,
    { label: "Columns" },
  );
}

function schemaHistory({ items }) {
  return h(
    "ol.plain-list.history",
    items.map((schema) =>
      h(
        "li",
        h("div.row", h("strong", `Schema ${schema.id}`), at(schema.time_millis)),
        schema.changes.length
          ? h("ul", schema.changes.map(change))
          : h(
              "p.hint",
              schema.id === items.at(-1).id
                ? `Created with ${plural(schema.columns.length, "column")}.`
                : "No changes.",
            ),
      ),
    ),
  );
}

export function change(one) {
  const what = [`${one.what} `, h("strong", one.name), " "];
  if (one.before === null) return h("li", h("span.came", "+"), " ", what, h("code", one.after ?? ""));
  if (one.after === null) return h("li", h("span.went", "−"), " ", what, h("code", one.before));
  return h("li", h("span.changed", "~"), " ", what, h("code", one.before), " → ", h("code", one.after));
}
