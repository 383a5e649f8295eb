// The list of tables of a warehouse, with their health.

import { get } from "../api.js";
import { fill, h } from "../dom.js";
import { bytes, count, since } from "../format.js";
import { calm, choice, field } from "../parts/fields.js";
import { byOffset, LongList } from "../parts/long_list.js";
import { empty, settle } from "../parts/states.js";
import { tableKind, verdict } from "../parts/words.js";
import { note, tableLink } from "../router.js";

const PAGE = 30; // the service checks the health of each table, so pages are small

export function showTables(main, route) {
  document.title = "Tables · Lakebed";
  const stop = new AbortController();
  const place = h("div");
  const asked = {
    warehouse: route.params.warehouse ?? "",
    database: route.params.database ?? "",
    search: route.params.search ?? "",
  };
  fill(main, h("div.page-head", h("h1", "Tables")), place);
  settle(place, {
    signal: stop.signal,
    load: () => get(["warehouses"], {}, { signal: stop.signal }),
    show: ({ items }) =>
      items.length
        ? lists(items, asked, stop.signal)
        : empty("No warehouses", "The service was started without a warehouse."),
  });
  return { update: () => {}, stop: () => stop.abort() };
}

function lists(warehouses, asked, signal) {
  if (!warehouses.some((one) => one.name === asked.warehouse)) asked.warehouse = warehouses[0].name;
  const holder = h("div");
  const databases = h("div.field-place");
  let list = null;
  const restart = () => {
    note({ ...asked, warehouse: warehouses.length > 1 ? asked.warehouse : "" });
    list?.stop();
    list = tableList(asked, signal);
    fill(holder, list.element);
    list.start();
  };
  const fresh = () => {
    databaseChoice(databases, asked, restart, signal);
    restart();
  };
  signal.addEventListener("abort", () => list?.stop());
  const search = calm((text) => {
    asked.search = text;
    restart();
  });
  fresh();
  return h(
    "div",
    h(
      "div.filters",
      warehouses.length > 1
        ? choice("Warehouse", {
            id: "warehouse",
            value: asked.warehouse,
            options: warehouses.map((one) => [one.name, one.name]),
            onchange: (name) => {
              Object.assign(asked, { warehouse: name, database: "" });
              fresh();
            },
          })
        : null,
      databases,
      field("Search", {
        id: "search",
        type: "search",
        value: asked.search,
        placeholder: "part of a name",
        oninput: (event) => search(event.target.value.trim()),
      }),
    ),
    holder,
  );
}

async function databaseChoice(place, asked, restart, signal) {
  const draw = (names) =>
    fill(
      place,
      choice("Database", {
        id: "database",
        value: asked.database,
        options: [["", "all"], ...names.map((name) => [name, name])],
        onchange: (name) => {
          asked.database = name;
          restart();
        },
      }),
    );
  draw(asked.database ? [asked.database] : []);
  try {
    const { items } = await get(["warehouses", asked.warehouse, "databases"], {}, { signal });
    draw(items.map((one) => one.name));
  } catch {
    // the list of tables shows the error
  }
}

function tableList(asked, signal) {
  const { warehouse, database, search } = asked;
  return new LongList({
    label: "Tables",
    noun: "table",
    class: "list-tables",
    load: byOffset((offset) =>
      get(["warehouses", warehouse, "tables"], { database, search, limit: PAGE, offset }, { signal }),
    ),
    link: (row) => tableLink({ warehouse, database: row.database, table: row.name }),
    columns: [
      { label: "Table", class: "strong", cell: (row) => [h("span.muted", `${row.database}.`), row.name] },
      { label: "Kind", cell: (row) => tableKind(row.kind) },
      { label: "Rows", class: "right rows", cell: (row) => count(row.record_count) },
      { label: "Size", class: "right wide-only", cell: (row) => bytes(row.byte_count) },
      { label: "Files", class: "right wide-only", cell: (row) => count(row.file_count) },
      { label: "Last commit", class: "time", cell: (row) => since(row.last_commit_millis) },
      { label: "Health", class: "health", cell: health },
    ],
    none: () =>
      search || database
        ? empty("No matching tables", "Try a shorter search text or another database.")
        : empty("No tables", "This warehouse has no tables yet."),
  });
}

function health(row) {
  return row.problem ? verdict({ verdict: "problem", reasons: [row.problem] }) : verdict(row.health);
}
