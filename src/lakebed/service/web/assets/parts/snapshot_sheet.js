// A sheet beside the page with one snapshot: its facts, and the files that it added and deleted. The address contains
// its id (`?snapshot=7`).

import { fill, h } from "../dom.js";
import { at, bytes, count, fileName, partitionText, plural, whole } from "../format.js";
import { current, go } from "../router.js";
import { open } from "./dialogs.js";
import { facts } from "./facts.js";
import { grid } from "./grid.js";
import { settle } from "./states.js";
import { commitKind } from "./words.js";

export class SnapshotSheet {
  constructor(page) {
    this.page = page;
    this.dialog = null;
    this.shown = null;
  }

  /** Shows the snapshot that the address names; closes the sheet if there is none. */
  follow(id) {
    if (id === this.shown) return;
    this.drop();
    if (!id) return;
    this.shown = id;
    const body = h("div");
    this.dialog = open({ title: `Snapshot ${id}`, kind: "sheet", body, closed: () => this.#closed(id) });
    settle(body, {
      load: () => this.page.ask(["snapshots", id]),
      show: (found) => this.#draw(found),
      signal: this.page.life.signal,
    });
  }

  drop() {
    const { dialog } = this;
    this.dialog = this.shown = null;
    dialog?.close();
  }

  #closed(id) {
    if (this.shown !== id) return; // the address has changed already
    this.dialog = this.shown = null;
    const { tab, params } = current();
    const { snapshot, ...rest } = params;
    this.page.route = { ...this.page.route, params: rest };
    go(this.page.link(tab, rest), { replace: true });
  }

  #draw({ snapshot, changes }) {
    const { page } = this;
    const before = snapshot.id - 1;
    return [
      h(
        "div.row",
        commitKind(snapshot.commit_kind),
        at(snapshot.time_millis),
        snapshot.tags.map((tag) => h("span.badge.tag", tag)),
      ),
      h(
        "div.row.links",
        before >= (page.info.earliest_snapshot_id ?? 1)
          ? h("a", { href: page.link("diff", { before, after: snapshot.id }) }, `Compare with ${before}`)
          : null,
        h("a", { href: page.link("rows", { version: snapshot.id }) }, "Rows as of this snapshot"),
        h("a", { href: page.link("files", { version: snapshot.id }) }, "Files of this snapshot"),
      ),
      facts([
        ["Rows", [count(snapshot.total_record_count), ` (${signed(snapshot.delta_record_count)})`]],
        ["Files", `${plural(changes.files_added, "file")} added, ${plural(changes.files_deleted, "file")} deleted`],
        ["Bytes", [bytes(changes.bytes_added), " added, ", bytes(changes.bytes_deleted), " deleted"]],
        ["Operation", snapshot.operation],
        ["Schema", snapshot.schema_id],
        ["Commit user", h("code", snapshot.commit_user)],
        ["Commit identifier", h("code", snapshot.commit_identifier)],
        ["Watermark", snapshot.watermark],
        ["Base manifests", h("code", snapshot.base_manifest_list)],
        ["Delta manifests", h("code", snapshot.delta_manifest_list)],
      ]),
      changes.groups.length > 1 || changes.groups[0]?.partition
        ? [h("h3", "By partition and bucket"), groups(changes)]
        : null,
      h("h3", "Files"),
      this.#files(snapshot.id, changes.files),
      Object.keys(snapshot.properties).length
        ? [
            h("h3", "Properties"),
            facts(Object.entries(snapshot.properties).map(([name, value]) => [name, h("code", value)])),
          ]
        : null,
    ];
  }

  #files(id, first) {
    if (!first.total) return h("p.hint", "This snapshot changed no data files.");
    const holder = h("div");
    let held = first.items;
    const draw = (next) =>
      fill(
        holder,
        grid(FILE_COLUMNS, held, { label: "Changed files" }),
        next === null
          ? null
          : h(
              "button",
              { type: "button", onclick: (event) => more(event.target, next) },
              `Show more of ${whole(first.total)} files`,
            ),
      );
    const more = async (button, offset) => {
      button.disabled = true;
      try {
        const { changes } = await this.page.ask(["snapshots", id], { offset });
        held = [...held, ...changes.files.items];
        draw(changes.files.next_offset);
      } catch (error) {
        button.disabled = false;
        button.textContent = `${error.message} Try again`;
      }
    };
    draw(first.next_offset);
    return holder;
  }
}

const FILE_COLUMNS = [
  {
    label: "",
    cell: (file) =>
      h(
        "span",
        { class: file.change === "ADD" ? "came" : "went", title: file.change },
        file.change === "ADD" ? "+" : "−",
      ),
  },
  { label: "File", cell: (file) => fileName(file.file_name) },
  { label: "Partition", cell: (file) => partitionText(file.partition) },
  { label: "Bucket", class: "right", cell: (file) => file.bucket },
  { label: "Level", class: "right", cell: (file) => file.level },
  { label: "Rows", class: "right", cell: (file) => count(file.record_count) },
  { label: "Size", class: "right", cell: (file) => bytes(file.byte_count) },
];

function groups(changes) {
  const shown = changes.groups.slice(0, 100);
  return [
    grid(
      [
        { label: "Partition", cell: (group) => partitionText(group.partition) },
        { label: "Bucket", class: "right", cell: (group) => group.bucket },
        { label: "Files", class: "right", cell: (group) => `+${group.files_added} −${group.files_deleted}` },
        {
          label: "Rows",
          class: "right",
          cell: (group) => `+${whole(group.records_added)} −${whole(group.records_deleted)}`,
        },
        {
          label: "Size",
          class: "right",
          cell: (group) => [bytes(group.bytes_added), " / ", bytes(group.bytes_deleted)],
        },
      ],
      shown,
      { label: "Changes by partition and bucket" },
    ),
    shown.length < changes.group_count
      ? h("p.hint", `The first ${shown.length} of ${whole(changes.group_count)} groups.`)
      : null,
  ];
}

const signed = (value) =>
  value === null || value === undefined ? "–" : `${value < 0 ? "−" : "+"}${whole(Math.abs(value))}`;
