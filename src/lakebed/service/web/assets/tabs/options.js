// The options of a table with what they mean, and on demand all that could be set.

import { fill, h } from "../dom.js";
import { check, field } from "../parts/fields.js";
import { grid } from "../parts/grid.js";
import { empty, settle, skeleton } from "../parts/states.js";
import { go } from "../router.js";

const SUPPORT = {
  honoured: "Lakebed supports this option.",
  kept: "Lakebed stores this option for other engines and does not use it.",
  refused: "Lakebed cannot read or write tables with this option.",
  unknown: "This option is not documented; it is a property of the user.",
};

export function showOptions(panel, page, signal) {
  const isAll = page.route.params.all === "true";
  const place = h("div");
  let items = [];
  const draw = (text) => fill(place, list(items, text.trim().toLowerCase()));
  fill(
    panel,
    h(
      "div.filters",
      field("Search", {
        id: "search",
        type: "search",
        placeholder: "name or meaning",
        oninput: (event) => draw(event.target.value),
      }),
      check("Show options that are not set", {
        id: "all",
        checked: isAll,
        onchange: (event) => go(page.link("options", { all: event.target.checked ? "true" : "" })),
      }),
    ),
    place,
  );
  settle(place, {
    signal,
    waiting: skeleton(6),
    load: () => page.ask(["options"], { all: isAll }, signal),
    show: (found) => {
      items = found.items;
      return list(items, "");
    },
  });
}

function list(items, text) {
  if (!items.length) return empty("No options are set", "The table uses the defaults.");
  const chosen = items.filter(
    (item) => !text || item.name.includes(text) || item.meaning?.toLowerCase().includes(text),
  );
  if (!chosen.length) return empty("No matching options", "Try a shorter search text.");
  return grid(
    [
      { label: "Option", cell: (item) => h("code.strong", item.name) },
      { label: "Value", cell: (item) => (item.is_set ? h("code", item.value ?? "") : h("span.muted", "not set")) },
      {
        label: "Default",
        class: "default",
        cell: (item) => (item.default === null ? "" : h("code.muted", item.default)),
      },
      { label: "Meaning", class: "wrap", cell: (item) => item.meaning ?? "" },
      {
        label: "Support",
        cell: (item) =>
          h("span.badge", { class: `support-${item.support}`, title: SUPPORT[item.support] ?? "" }, item.support),
      },
    ],
    chosen,
    { label: "Options", class: "options" },
  );
}
