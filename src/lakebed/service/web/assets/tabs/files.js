// Files and levels: every bucket as a small tree of levels on one scale, the files of a chosen bucket, and the list.

import { fill, h } from "../dom.js";
import { bytes, count, exactly, fileName, partitionText, plural, since, size, whole } from "../format.js";
import { bucketPicture, filePicture } from "../parts/levels.js";
import { choice } from "../parts/fields.js";
import { byOffset, LongList } from "../parts/long_list.js";
import { empty, settle, skeleton } from "../parts/states.js";
import { go } from "../router.js";

const BUCKETS = 24;
const PAGE = 100;
const DRAWN_FILES = 1000;
const SORTS = [
  ["partition", "partition, bucket, level"],
  ["-size", "largest first"],
  ["size", "smallest first"],
  ["-records", "most rows first"],
  ["-created", "newest first"],
];

export function showFiles(panel, page, signal) {
  const { partition, bucket, version, sort = "partition" } = page.route.params;
  const asked = { partition, bucket, version };
  const isChosen = bucket !== undefined;
  const picture = h("div");
  const summary = h("p.hint.summary", " ");
  const list = fileList(page, asked, sort, signal, (found) => {
    summary.textContent = `${plural(found.total, "file")}, ${size(found.byte_count)}, ${plural(found.record_count, "row")}.`;
  });
  fill(
    panel,
    version
      ? h(
          "p.notice",
          `As of ${/^\d+$/.test(version) ? "snapshot" : "tag"} ${version}. `,
          h("a", { href: page.link("files", { partition, bucket }) }, "Show the latest snapshot"),
        )
      : null,
    picture,
    h(
      "div.section-head",
      h("h2", "Files"),
      choice("Sorted by", {
        id: "sort",
        value: sort,
        options: SORTS,
        onchange: (value) => go(page.link("files", { ...asked, sort: value })),
      }),
    ),
    summary,
    list.element,
  );
  settle(picture, {
    signal,
    waiting: skeleton(1, "picture"),
    load: () =>
      isChosen
        ? page.ask(["files"], { ...asked, limit: DRAWN_FILES, sort: "-size" }, signal)
        : page.ask(["buckets"], { partition, version, limit: BUCKETS }, signal),
    show: (found) => (isChosen ? oneBucket(found, page, asked) : allBuckets(found, page, asked, signal)),
  });
  signal.addEventListener("abort", () => list.stop());
  list.start();
}

function allBuckets(first, page, asked, signal) {
  if (!first.items.length) return null; // the list below says that there are no files
  const cards = h("div.buckets");
  const foot = h("div");
  const held = [];
  const add = (found) => {
    held.push(...found.items);
    const widest = Math.max(...held.flatMap((bucket) => bucket.levels.map((level) => level.byte_count)), 1);
    fill(
      cards,
      held.map((bucket) =>
        h(
          "a.bucket-card",
          { href: page.link("files", { ...asked, partition: bucket.partition, bucket: bucket.bucket }) },
          h(
            "span.bucket-name",
            h("strong", `Bucket ${bucket.bucket}`),
            bucket.partition ? h("span.muted", partitionText(bucket.partition)) : null,
          ),
          bucketPicture(bucket, found.max_level, widest),
          h(
            "span.muted",
            `${plural(bucket.file_count, "file")}, ${size(bucket.byte_count)}`,
            bucket.sorted_runs === null ? "" : `, ${plural(bucket.sorted_runs, "sorted run")}`,
          ),
        ),
      ),
    );
    fill(
      foot,
      h(
        "p.hint",
        `A bar of full width is ${size(widest)}; all buckets have the same scale. ${whole(held.length)} of ${plural(found.total, "bucket")}. `,
        found.next_offset === null
          ? null
          : h(
              "button",
              { type: "button", onclick: (event) => more(event.target, found.next_offset) },
              "Show more buckets",
            ),
      ),
    );
  };
  const more = async (button, offset) => {
    button.disabled = true;
    try {
      add(await page.ask(["buckets"], { ...asked, limit: BUCKETS, offset }, signal));
    } catch (error) {
      button.disabled = false;
      button.textContent = `${error.message} Try again`;
    }
  };
  add(first);
  return [h("h2", page.info.primary_keys.length ? "Levels by bucket" : "Buckets"), cards, foot];
}

function oneBucket(found, page, { partition, bucket, version }) {
  const title = `Bucket ${bucket}${partition ? ` of ${partitionText(partition)}` : ""}`;
  return [
    h("div.section-head", h("h2", title), h("a", { href: page.link("files", { version }) }, "All buckets")),
    found.items.length
      ? h(
          "div.card",
          filePicture(found.items),
          h(
            "p.hint",
            "Each block is a file; its width shows its size. ",
            found.total > found.items.length
              ? `The ${whole(found.items.length)} largest of ${exactly(found.total, "file")}.`
              : null,
          ),
        )
      : empty("No files", "This bucket has no files in this snapshot."),
  ];
}

function fileList(page, asked, sort, signal, onPage) {
  return new LongList({
    label: "Files",
    noun: "file",
    class: "list-files",
    load: byOffset((offset) => page.ask(["files"], { ...asked, sort, limit: PAGE, offset }, signal)),
    onPage,
    link: () => null,
    columns: [
      { label: "File", class: "cut file", cell: (row) => fileName(row.path) },
      { label: "Where", class: "cut where", cell: (row) => where(row) },
      { label: "Level", class: "right level", cell: (row) => `L${row.level}` },
      {
        label: "Rows",
        class: "right rows",
        cell: (row) => [
          count(row.record_count),
          row.deleted_record_count ? h("span.went", ` −${whole(row.deleted_record_count)}`) : null,
        ],
      },
      { label: "Size", class: "right size", cell: (row) => bytes(row.byte_count) },
      {
        label: "Keys",
        class: "cut extra",
        cell: (row) =>
          row.min_key === null
            ? ""
            : h("code", { title: `${row.min_key} to ${row.max_key}` }, `${row.min_key} … ${row.max_key}`),
      },
      { label: "Written by", class: "extra muted", cell: (row) => row.source?.toLowerCase() ?? "" },
      {
        label: "Created",
        class: "time wide-only",
        cell: (row) => (row.created_millis === null ? "–" : since(row.created_millis)),
      },
    ],
    none: () => empty("No files", "This snapshot has no data files here."),
  });
}

const where = (row) =>
  row.partition ? `${partitionText(row.partition)}, bucket ${row.bucket}` : `bucket ${row.bucket}`;
