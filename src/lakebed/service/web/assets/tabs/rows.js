// Some rows of the table, as of a snapshot or tag, chosen by columns and a condition.

import { fill, h } from "../dom.js";
import { plural, size } from "../format.js";
import { field, valuesOf } from "../parts/fields.js";
import { dataGrid } from "../parts/grid.js";
import { empty, settle, skeleton } from "../parts/states.js";
import { go } from "../router.js";

const CUTS = {
  rows: "There are more rows.",
  bytes: "The result was cut because it is too large; select fewer columns.",
};

export function showRows(panel, page, signal) {
  const { version = "", columns = "", where = "", limit = "50" } = page.route.params;
  const result = h("div");
  fill(panel, form(page, { version, columns, where, limit }), result);
  settle(result, {
    signal,
    waiting: skeleton(10),
    load: () => page.ask(["rows"], { version, columns: names(columns), where, limit }, signal),
    show: rows,
  });
}

const names = (text) =>
  text
    .split(",")
    .map((name) => name.trim())
    .filter(Boolean)
    .join(",");

function form(page, asked) {
  const made = h(
    "form.filters",
    {
      onsubmit: (event) => {
        event.preventDefault();
        const values = valuesOf(made);
        go(page.link("rows", { ...values, limit: String(values.limit ?? "") === "50" ? "" : values.limit }));
      },
    },
    field("As of", { id: "version", name: "version", value: asked.version, placeholder: "snapshot or tag" }),
    field("Columns", {
      id: "columns",
      name: "columns",
      value: asked.columns,
      placeholder: page.info.columns
        .slice(0, 3)
        .map((one) => one.name)
        .join(", "),
      list: "column-names",
    }),
    h(
      "datalist",
      { id: "column-names" },
      page.info.columns.map((one) => h("option", { value: one.name })),
    ),
    h(
      "div.grow-field",
      field("Where", {
        id: "where",
        name: "where",
        value: asked.where,
        placeholder: `${page.info.columns[0]?.name ?? "id"} > 10 AND …`,
      }),
    ),
    field("Rows", {
      id: "limit",
      name: "limit",
      type: "number",
      min: 1,
      max: page.service.limits.preview_rows,
      value: asked.limit,
    }),
    h("button.primary", { type: "submit" }, "Show"),
  );
  return made;
}

function rows(found) {
  if (!found.rows.length)
    return empty(
      "No rows",
      found.snapshot_id === null ? "Nothing was written yet, or no row matches." : "No row matches.",
    );
  const version = found.snapshot_id === null ? "of the branches" : `of snapshot ${found.snapshot_id}`;
  return [
    h(
      "p.hint.summary",
      `${plural(found.rows.length, "row")} ${version}, from ${plural(found.files, "file")} (${size(found.bytes_to_read)}). ${CUTS[found.cut_by] ?? ""}`,
    ),
    dataGrid(found.columns, found.rows, "Rows"),
  ];
}
