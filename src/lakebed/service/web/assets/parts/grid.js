// Plain tables: for rows of data, and for lists that are short.

import { h } from "../dom.js";

/** `columns` are `{label, cell(row), class}`. The table scrolls sideways by itself, not the page. */
export function grid(columns, rows, { label, class: more = "" } = {}) {
  return h(
    "div.scroll",
    { tabindex: "0", role: "region", "aria-label": label },
    h(
      "table.grid",
      { class: more },
      h(
        "thead",
        h(
          "tr",
          columns.map((column) => h("th", { scope: "col", class: column.class ?? "" }, column.label)),
        ),
      ),
      h(
        "tbody",
        rows.map((row) =>
          h(
            "tr",
            columns.map((column) => h("td", { class: column.class ?? "" }, column.cell(row))),
          ),
        ),
      ),
    ),
  );
}

/** Rows as the service returns them: `{columns: [{name, type}]}` and lists of values; `mark` says what they mean. */
export function dataGrid(columns, rows, label, mark = "") {
  const heads = columns.map((column, place) => ({
    label: h("span", column.name, h("small", column.type)),
    class: isNumber(column.type) ? "right" : "",
    cell: (row) => value(row[place]),
  }));
  return grid(heads, rows, { label, class: `data ${mark}` });
}

const isNumber = (type) => /^(TINYINT|SMALLINT|INT|INTEGER|BIGINT|FLOAT|DOUBLE|DECIMAL)/i.test(type ?? "");

function value(one) {
  if (one === null) return h("span.null", "null");
  if (one === "") return h("span.null", "empty");
  const text = typeof one === "object" ? JSON.stringify(one) : String(one);
  return text.length > 60 ? h("span.long-text", { title: text.slice(0, 2000) }, text) : text;
}
