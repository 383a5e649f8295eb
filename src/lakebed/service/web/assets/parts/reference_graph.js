// A graph of branches and tags: snapshot ids from left to right, a line for each branch, a flag for each tag.

import { s } from "../dom.js";
import { plural } from "../format.js";

const NARROWEST = 290;
const RIGHT = 70;
const LANE = 46;
const TAG_ROWS = 3;
const TAG_ROW = 20;
const MOST_TAGS = 200;

/** Drawn for a place of so many pixels, so that its letters are as large as others. */
export function referenceGraph(branches, tags, shown, place) {
  const width = Math.max(NARROWEST, place);
  const left = width < 600 ? 80 : 150;
  const known = branches.filter((branch) => branch.latest_snapshot_id !== null);
  const first = Math.min(
    ...known.map((branch) => branch.forked_from_snapshot_id ?? branch.earliest_snapshot_id),
    ...tags.map((tag) => tag.snapshot_id),
  );
  const last = Math.max(...known.map((branch) => branch.latest_snapshot_id));
  const x = (id) => left + ((width - left - RIGHT) * (id - first)) / Math.max(1, last - first);
  const flags = placeTags(tags, x, width);
  const space = tags.length ? 14 + TAG_ROW * (1 + Math.max(0, ...flags.map((flag) => flag.row))) : 14;
  const lanes = new Map(known.map((branch, place) => [branch.name, space + 12 + place * LANE]));
  const height = space + 16 + known.length * LANE - LANE / 2;
  const label =
    `${plural(known.length, "branch")} and ${plural(tags.length, "tag")} ` + `from snapshot ${first} to ${last}`;
  return s(
    "svg.graph",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label },
    known.map((branch) => lane(branch, lanes, x, branch.name === shown, Math.floor(left / 8.5))),
    flags.map((flag) => tagFlag(flag, lanes.get(shown) ?? lanes.get("main") ?? space + 12)),
  );
}

function lane(branch, lanes, x, isShown, letters) {
  const y = lanes.get(branch.name);
  const from = x(branch.forked_from_snapshot_id ?? branch.earliest_snapshot_id);
  const to = x(branch.latest_snapshot_id);
  const home = lanes.get("main");
  const fork = branch.forked_from_snapshot_id !== null && home !== undefined && home !== y;
  const name = branch.name.length > letters ? `${branch.name.slice(0, letters - 1)}…` : branch.name;
  return s(
    "g.branch",
    { class: isShown ? "is-shown" : "" },
    s("title", `${branch.name}: snapshots ${branch.earliest_snapshot_id} to ${branch.latest_snapshot_id}`),
    s("text.branch-name", { x: 0, y: y + 5 }, name),
    fork
      ? s("path.fork", {
          d: `M${from} ${home}C${from} ${(home + y) / 2} ${from} ${y} ${from + 18} ${y}H${Math.max(from + 18, to)}`,
        })
      : s("path.line", { d: `M${from} ${y}H${to}` }),
    s("circle.dot", { cx: from, cy: fork ? home : y, r: 4 }),
    s("circle.head", { cx: fork ? Math.max(from + 18, to) : to, cy: y, r: 6 }),
    s("text.branch-id", { x: (fork ? Math.max(from + 18, to) : to) + 14, y: y + 4 }, String(branch.latest_snapshot_id)),
  );
}

// Tags take the first of a few rows in which their name fits; where none does, the flag has no name.
function placeTags(tags, x, wide) {
  const ends = Array.from({ length: TAG_ROWS }, () => -1);
  return tags
    .slice(0, MOST_TAGS)
    .sort((a, b) => a.snapshot_id - b.snapshot_id)
    .map((tag) => {
      const text = tag.name.length > 20 ? `${tag.name.slice(0, 19)}…` : tag.name;
      const width = text.length * 7.5 + 16;
      const at = x(tag.snapshot_id);
      const toLeft = at + width > wide;
      const begin = toLeft ? at - width : at;
      const row = ends.findIndex((end) => end < begin);
      if (row >= 0) ends[row] = begin + width;
      return { tag, text: row >= 0 ? text : "", row: Math.max(row, 0), x: at, toLeft };
    });
}

function tagFlag({ tag, text, row, x, toLeft }, home) {
  const y = 14 + row * TAG_ROW;
  return s(
    "g.flag",
    s("title", `tag ${tag.name}: snapshot ${tag.snapshot_id}`),
    s("path.pole", { d: `M${x} ${y - 8}V${home}` }),
    s("path.tag-dot", { d: `M${x} ${home - 6}l6 6l-6 6l-6-6z` }),
    s("text", { x: x + (toLeft ? -6 : 6), y, "text-anchor": toLeft ? "end" : "start" }, text),
  );
}
