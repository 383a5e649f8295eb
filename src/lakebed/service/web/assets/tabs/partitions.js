// Partitions with their sizes; each leads to its files.

import { fill, h } from "../dom.js";
import { bytes, count, plural, since, whole } from "../format.js";
import { calm, field } from "../parts/fields.js";
import { byOffset, LongList } from "../parts/long_list.js";
import { empty } from "../parts/states.js";
import { note } from "../router.js";

const PAGE = 100;

export function showPartitions(panel, page, signal) {
  if (!page.info.partition_keys.length) {
    fill(
      panel,
      empty(
        "This table has no partitions",
        "It has no partition columns.",
        h("a.button", { href: page.link("files") }, "Files and levels"),
      ),
    );
    return;
  }
  const holder = h("div");
  const summary = h("p.hint.summary", " ");
  let list = null;
  const restart = (search) => {
    list?.stop();
    list = partitionList(page, search, signal, summary);
    fill(holder, list.element);
    list.start();
  };
  const changed = calm((text) => {
    note({ search: text });
    page.route = { ...page.route, params: { ...page.route.params, search: text } };
    restart(text);
  });
  const search = page.route.params.search ?? "";
  fill(
    panel,
    h(
      "div.filters",
      field("Search", {
        id: "search",
        type: "search",
        value: search,
        placeholder: `${page.info.partition_keys[0]}=…`,
        oninput: (event) => changed(event.target.value.trim()),
      }),
    ),
    summary,
    holder,
  );
  signal.addEventListener("abort", () => list?.stop());
  restart(search);
}

function partitionList(page, search, signal, summary) {
  let most = 1;
  return new LongList({
    label: "Partitions",
    noun: "partition",
    class: "list-partitions",
    load: byOffset(async (offset) => {
      const found = await page.ask(["partitions"], { search, limit: PAGE, offset }, signal);
      for (const one of found.items) most = Math.max(most, one.byte_count);
      return found;
    }),
    onPage: (found) => {
      summary.textContent = `${plural(found.total, "partition")}. The bars compare their sizes.`;
    },
    link: (row) => page.link("files", { partition: row.partition, branch: row.branch === "main" ? null : row.branch }),
    columns: [
      { label: "Partition", class: "strong cut name", cell: (row) => row.partition },
      { label: "Rows", class: "right rows", cell: (row) => count(row.record_count) },
      { label: "Size", class: "right size", cell: (row) => bytes(row.byte_count) },
      { label: "", class: "wide-only", cell: (row) => meter(row.byte_count, most) },
      { label: "Files", class: "right files", cell: (row) => count(row.file_count) },
      { label: "Buckets", class: "right wide-only", cell: (row) => count(row.bucket_count) },
      { label: "Last update", class: "time", cell: (row) => since(row.last_update_millis) },
    ],
    none: () =>
      search
        ? empty("No matching partitions", "Try a shorter search text.")
        : empty("No partitions", "The table has no rows yet."),
  });
}

const meter = (value, most) =>
  h("span.meter", { title: `${whole(value)} bytes` }, h("span", { style: { width: `${(100 * value) / most}%` } }));
