// Compactions as processes: what each read and wrote, and how long it took.

import { fill, h } from "../dom.js";
import { at, bytes, count, exactly, plural, since, size, took, whole } from "../format.js";
import { LongList } from "../parts/long_list.js";
import { empty } from "../parts/states.js";
import { compactionKind, nothingYet } from "../parts/words.js";

const PAGE = 50;

export function showCompactions(panel, page, signal) {
  const summary = h("p.hint.summary", " ");
  const list = new LongList({
    label: "Compactions",
    noun: "compaction",
    class: "list-compactions",
    load: async (cursor) => {
      const found = await page.ask(["compactions"], { limit: PAGE, cursor }, signal);
      return { ...found, rows: found.items, next: found.next_cursor };
    },
    onPage: (found, all) => {
      const total = found.total === null ? "" : ` of ${whole(found.total)}`;
      summary.textContent = !all.count
        ? ""
        : `${whole(all.count)}${total} loaded. The last page read ${exactly(found.scanned, "snapshot file")}, found by ${found.source}.`;
    },
    link: (row) => page.link("compactions", { snapshot: row.snapshot_id }),
    columns: [
      { label: "Snapshot", class: "strong num id", cell: (row) => String(row.snapshot_id) },
      { label: "Kind", class: "kind", cell: (row) => compactionKind(row.kind) },
      {
        label: "Finished",
        class: "time",
        cell: (row) => [
          h("span.wide-only", at(row.finished_millis)),
          h("span.narrow-only", since(row.finished_millis)),
        ],
      },
      { label: "Duration", class: "right took", cell: (row) => took(row.duration_millis) },
      { label: "Files", class: "right files", cell: (row) => arrow(count(row.input_files), count(row.output_files)) },
      { label: "Bytes read and written", class: "bytes wide-only", cell: flow },
      { label: "Rows", class: "right extra", cell: (row) => arrow(count(row.input_rows), count(row.output_rows)) },
      {
        label: "Where",
        class: "extra muted",
        cell: (row) => `${plural(row.partitions, "partition")}, ${plural(row.buckets, "bucket")}`,
      },
    ],
    none: () =>
      empty(
        "No compactions",
        page.info.data_branches.length
          ? nothingYet(page.info)
          : "Compactions of this branch are listed here, with what they read and wrote.",
      ),
  });
  fill(panel, summary, list.element);
  signal.addEventListener("abort", () => list.stop());
  list.start();
}

const arrow = (from, to) => [from, h("span.muted", " → "), to];

// Two bars on one scale; the larger one has the full width.
function flow(row) {
  const most = Math.max(row.input_bytes, row.output_bytes, 1);
  const bar = (kind, value) => h(`span.flow-bar.${kind}`, { style: { width: `${(100 * value) / most}%` } });
  return h(
    "span.flow",
    { title: `${whole(row.input_bytes)} bytes read, ${whole(row.output_bytes)} written` },
    h("span.flow-bars", bar("read", row.input_bytes), bar("written", row.output_bytes)),
    h("span.num", `${size(row.input_bytes)} → ${size(row.output_bytes)}`),
  );
}
