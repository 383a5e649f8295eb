// The snapshots of a branch: a timeline, filters, and the list.

import { fill, h } from "../dom.js";
import { at, bytes, count, exactly, moment, since, whole } from "../format.js";
import { field, segments } from "../parts/fields.js";
import { LongList } from "../parts/long_list.js";
import { empty } from "../parts/states.js";
import { Timeline } from "../parts/timeline.js";
import { commitKind, nothingYet } from "../parts/words.js";
import { go } from "../router.js";

const PAGE = 100;
const KINDS = ["APPEND", "COMPACT", "OVERWRITE", "ANALYZE"];

export function showSnapshots(panel, page, signal) {
  const { kind = "", user = "", from_time = "", to_time = "" } = page.route.params;
  const asked = { kind, user, from_time, to_time };
  const summary = h("p.hint.summary", " ");
  const timeline = new Timeline((index) => list.show(index));
  const list = snapshotList(page, asked, signal, (found, all) => {
    summary.textContent = all.count ? summaryOf(found, all.count) : "";
    timeline.element.hidden = !all.count;
    timeline.add(found.rows);
  });
  fill(panel, filters(page, asked), timeline.element, summary, list.element);
  signal.addEventListener("abort", () => list.stop());
  list.start();
}

function snapshotList(page, asked, signal, onPage) {
  const load = async (cursor) => {
    const found = await page.ask(["snapshots"], { ...asked, limit: PAGE, cursor }, signal);
    return { ...found, rows: found.items, next: found.next_cursor };
  };
  const isFiltered = Object.values(asked).some(Boolean);
  return new LongList({
    label: "Snapshots",
    noun: "snapshot",
    class: "list-snapshots",
    load,
    onPage,
    link: (row) => page.link("snapshots", { ...asked, snapshot: row.id }),
    columns: [
      { label: "Id", class: "strong num id", cell: (row) => String(row.id) },
      {
        label: "Kind",
        class: "kind",
        cell: (row) => [
          commitKind(row.commit_kind),
          row.tags.map((tag) => h("span.badge.tag", { title: `tag ${tag}` }, tag)),
        ],
      },
      {
        label: "Committed",
        class: "time",
        cell: (row) => [h("span.wide-only", at(row.time_millis)), h("span.narrow-only", since(row.time_millis))],
      },
      { label: "Change in rows", class: "right delta", cell: (row) => signed(row.delta_record_count) },
      { label: "Rows", class: "right wide-only", cell: (row) => count(row.total_record_count) },
      { label: "Files", class: "right files", cell: files },
      { label: "Bytes written", class: "right extra", cell: (row) => bytes(row.bytes_added) },
      {
        label: "User",
        class: "extra cut",
        cell: (row) => h("span.muted", { title: row.commit_user }, row.commit_user),
      },
    ],
    none: () =>
      isFiltered
        ? empty(
            "No matching snapshots",
            "No snapshot of this branch matches the filters.",
            h("a.button", { href: page.link("snapshots") }, "Clear filters"),
          )
        : empty("No snapshots", nothingYet(page.info)),
    further: (row) =>
      h(
        "a",
        { href: page.link("snapshots", { ...asked, to_time: row.time_millis }) },
        `Continue from ${moment(row.time_millis)}`,
      ),
  });
}

function filters(page, asked) {
  const change = (changes) => go(page.link("snapshots", { ...asked, ...changes }));
  const onEnter = (name, of) => ({ onchange: (event) => change({ [name]: of(event.target.value.trim()) }) });
  const isWide = matchMedia("(min-width: 821px)").matches;
  return h(
    "div.filters",
    segments("Kind", {
      value: asked.kind,
      options: [["", "All"], ...KINDS.map((kind) => [kind, kind[0] + kind.slice(1).toLowerCase()])],
      onchange: (kind) => change({ kind }),
    }),
    h(
      "details.more-filters",
      { open: Boolean(isWide || asked.user || asked.from_time || asked.to_time) },
      h("summary", "More filters"),
      field("From", {
        id: "from_time",
        type: "datetime-local",
        step: "1",
        value: local(asked.from_time),
        ...onEnter("from_time", millis),
      }),
      field("Until", {
        id: "to_time",
        type: "datetime-local",
        step: "1",
        value: local(asked.to_time),
        ...onEnter("to_time", millis),
      }),
      field("User", {
        id: "user",
        type: "search",
        value: asked.user,
        placeholder: "commit user",
        ...onEnter("user", (text) => text),
      }),
      field("Go to id", {
        id: "goto",
        type: "number",
        min: 1,
        step: 1,
        placeholder: String(page.info.latest_snapshot?.id ?? 1),
        onchange: (event) =>
          event.target.value && go(page.link("snapshots", { ...asked, snapshot: event.target.value })),
      }),
    ),
  );
}

const millis = (text) => (text ? String(new Date(text).getTime()) : "");

const local = (text) => (/^\d+$/.test(text) ? moment(Number(text)).replace(" ", "T") : "");

function summaryOf(found, shown) {
  const total = found.total === null ? "" : ` of ${whole(found.total)}`;
  return `${whole(shown)}${total} loaded. The last page read ${exactly(found.scanned, "snapshot file")}, found by ${found.source}.`;
}

function files(row) {
  if (row.files_added === null) return "–";
  const part = (mark, sign, value) => h("span", { class: value ? mark : "muted" }, `${sign}${whole(value)}`);
  return [part("came", "+", row.files_added), " ", part("went", "−", row.files_deleted)];
}

function signed(value) {
  if (value === null) return "–";
  return h(
    "span",
    { class: value < 0 ? "went" : value > 0 ? "came" : "muted" },
    `${value < 0 ? "−" : "+"}${whole(Math.abs(value))}`,
  );
}
