// Branches and tags: a graph of where branches forked and which snapshots have tags, and both as lists.

import { h } from "../dom.js";
import { count, since, whole } from "../format.js";
import { grid } from "../parts/grid.js";
import { referenceGraph } from "../parts/reference_graph.js";
import { empty, settle, skeleton } from "../parts/states.js";
import { tableLink } from "../router.js";

const MOST = 1000;

export function showBranches(panel, page, signal) {
  settle(panel, {
    signal,
    waiting: skeleton(2, "picture"),
    load: () =>
      Promise.all([page.ask(["branches"], { limit: MOST }, signal), page.ask(["tags"], { limit: MOST }, signal)]),
    show: ([branches, tags]) => [
      branches.items.some((branch) => branch.latest_snapshot_id !== null)
        ? h(
            "div.card.graph-place",
            referenceGraph(branches.items, tags.items, page.branch ?? "main", panel.clientWidth - 34),
          )
        : null,
      h("h2", "Branches"),
      branchGrid(branches.items, page),
      more(branches),
      h("h2", page.branch ? `Tags of ${page.branch}` : "Tags"),
      tags.items.length
        ? [tagGrid(tags.items, page), more(tags)]
        : empty("No tags", "A tag gives a snapshot a name and keeps it readable when it expires."),
    ],
  });
}

const more = (found) =>
  found.next_offset === null ? null : h("p.hint", `The first ${whole(found.items.length)} of ${whole(found.total)}.`);

function branchGrid(branches, page) {
  const open = (name) => tableLink(page.name, "overview", { branch: name === "main" ? null : name });
  return grid(
    [
      {
        label: "Name",
        cell: (branch) =>
          h(
            "span.row",
            h("a", { href: open(branch.name) }, branch.name),
            branch.is_current ? h("span.badge.plain", "shown") : null,
            branch.role ? h("span.badge.plain", branch.role) : null,
          ),
      },
      {
        label: "Forked from",
        class: "right",
        cell: (branch) =>
          branch.forked_from_snapshot_id === null ? "–" : `snapshot ${branch.forked_from_snapshot_id}`,
      },
      { label: "Snapshots", class: "right", cell: (branch) => count(branch.snapshot_count) },
      { label: "Latest", class: "right", cell: (branch) => whole(branch.latest_snapshot_id) },
      { label: "Schema", class: "right", cell: (branch) => branch.schema_id },
      { label: "Last commit", cell: (branch) => since(branch.last_commit_millis) },
      { label: "Created", cell: (branch) => since(branch.created_millis) },
    ],
    branches,
    { label: "Branches" },
  );
}

function tagGrid(tags, page) {
  return grid(
    [
      { label: "Name", cell: (tag) => h("strong", tag.name) },
      {
        label: "Snapshot",
        class: "right",
        cell: (tag) => h("a", { href: page.link("branches", { snapshot: tag.snapshot_id }) }, tag.snapshot_id),
      },
      { label: "Rows", class: "right", cell: (tag) => count(tag.record_count) },
      { label: "Committed", cell: (tag) => since(tag.commit_millis) },
      { label: "Expires", cell: (tag) => (tag.expires_millis === null ? "never" : since(tag.expires_millis)) },
      {
        label: "",
        cell: (tag) =>
          h(
            "span.row.links",
            h("a", { href: page.link("rows", { version: tag.name }) }, "Rows"),
            h("a", { href: page.link("diff", { before: tag.name }) }, "Compare with latest"),
          ),
      },
    ],
    tags,
    { label: "Tags" },
  );
}
