// The differences between two snapshots or tags: schema, files, and some rows.

import { fill, h } from "../dom.js";
import { at, bytes, count, fileName, plural, since, size, whole } from "../format.js";
import { field } from "../parts/fields.js";
import { dataGrid, grid } from "../parts/grid.js";
import { empty, settle, skeleton } from "../parts/states.js";
import { commitKind, nothingYet } from "../parts/words.js";
import { go } from "../router.js";
import { change } from "./overview.js";

export function showDiff(panel, page, signal) {
  const latest = page.info.latest_snapshot?.id ?? null;
  if (latest === null) {
    fill(panel, empty("Nothing to compare", nothingYet(page.info)));
    return;
  }
  const { before = String(Math.max(page.info.earliest_snapshot_id, latest - 1)), after = String(latest) } =
    page.route.params;
  const result = h("div");
  fill(panel, form(page, before, after, signal), result);
  settle(result, {
    signal,
    waiting: skeleton(3, "picture"),
    load: () => page.ask(["diff"], { before, after }, signal),
    show: (found) => difference(found, page),
  });
}

function form(page, before, after, signal) {
  const known = h("datalist", { id: "versions" });
  suggest(known, page, signal);
  const compare = (one, other) => go(page.link("diff", { before: one, after: other }));
  const made = h(
    "form.filters",
    {
      onsubmit: (event) => {
        event.preventDefault();
        compare(made.elements.before.value.trim(), made.elements.after.value.trim());
      },
    },
    field("From", {
      id: "before",
      name: "before",
      list: "versions",
      value: before,
      required: true,
      placeholder: "snapshot or tag",
    }),
    h(
      "button.quiet.icon",
      {
        type: "button",
        id: "swap",
        "aria-label": "Swap",
        title: "Swap",
        onclick: () => compare(after, before),
      },
      "⇄",
    ),
    field("To", {
      id: "after",
      name: "after",
      list: "versions",
      value: after,
      required: true,
      placeholder: "snapshot or tag",
    }),
    h("button.primary", { type: "submit" }, "Compare"),
    known,
  );
  return made;
}

async function suggest(list, page, signal) {
  try {
    const { items } = await page.ask(["snapshots"], { limit: 50 }, signal);
    fill(
      list,
      page.info.tags.slice(0, 100).map((tag) => h("option", { value: tag }, `tag ${tag}`)),
      items.map((one) =>
        h("option", { value: one.id }, `${one.commit_kind} ${new Date(one.time_millis).toLocaleString()}`),
      ),
    );
  } catch {
    // suggestions only
  }
}

function difference(found, page) {
  const state = (title, one) =>
    h(
      "div.card.state",
      h("span.muted", title),
      h(
        "div.row",
        h(
          "strong",
          h("a", { href: page.link("diff", { ...page.route.params, snapshot: one.id }) }, `Snapshot ${one.id}`),
        ),
        commitKind(one.commit_kind),
      ),
      h("div.muted", since(one.time_millis), " · ", at(one.time_millis)),
      h("div", plural(one.total_record_count, "row")),
    );
  return [
    h(
      "div.states",
      state("From", found.before),
      h("span.big-arrow", { "aria-hidden": "true" }, "→"),
      state("To", found.after),
    ),
    h("h2", "Schema"),
    found.schema.length
      ? h("ul.plain-list.changes.card", found.schema.map(change))
      : h("p.hint", "The schemas are equal."),
    h("h2", "Files"),
    files(found),
    h("h2", "Rows"),
    rows(found),
  ];
}

function files({ files_added: added, files_removed: removed }) {
  if (!added.count && !removed.count) return h("p.hint", "Both snapshots have the same files.");
  return h("div.columns", fileSide("Added", "came", added), fileSide("Removed", "went", removed));
}

function fileSide(title, mark, side) {
  return h(
    "section.side",
    h(
      "p.row",
      h("strong", { class: mark }, `${title}: ${plural(side.count, "file")}`),
      h("span.muted", `${size(side.byte_count)}, ${plural(side.record_count, "row")}`),
    ),
    side.items.length
      ? h(
          "details.more",
          { open: side.items.length <= 10 },
          h("summary", side.items.length < side.count ? `The first ${side.items.length}` : "List"),
          grid(
            [
              { label: "File", class: "cut", cell: (file) => fileName(file.path) },
              { label: "Bucket", class: "right", cell: (file) => file.bucket },
              { label: "Level", class: "right", cell: (file) => file.level },
              { label: "Rows", class: "right", cell: (file) => count(file.record_count) },
              { label: "Size", class: "right", cell: (file) => bytes(file.byte_count) },
            ],
            side.items,
            { label: `${title} files` },
          ),
        )
      : null,
  );
}

function rows({ rows: found, bytes_to_compare: size }) {
  if (!found) return h("p.hint", `Rows were not compared, because ${whole(size)} bytes would have to be read.`);
  if (!found.added.length && !found.removed.length) return h("p.hint", "Both snapshots have the same rows.");
  const side = (title, mark, held) =>
    h(
      "section.side",
      h(
        "p.row",
        h("strong", { class: mark }, title),
        h("span.muted", held.length ? plural(held.length, "row") : "none"),
      ),
      held.length ? dataGrid(found.columns, held, title, mark) : null,
    );
  return [
    side("Added rows", "came", found.added),
    side("Removed rows", "went", found.removed),
    found.has_more ? h("p.hint", "More rows differ than are shown here.") : null,
  ];
}
