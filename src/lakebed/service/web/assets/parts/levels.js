// Pictures of an LSM tree: one lane for each level, newest on top, what lies in it as wide as it is large.

import { h } from "../dom.js";
import { plural, size, whole } from "../format.js";

const MOST_BLOCKS = 24;

/** A bucket with its levels, each a bar on the scale of `widest` bytes; level 0 shows how many files lie on it. */
export function bucketPicture(bucket, maxLevel, widest) {
  const byLevel = new Map(bucket.levels.map((level) => [level.level, level]));
  const lanes = maxLevel ? Array.from({ length: maxLevel + 1 }, (_, level) => level) : [0];
  const text = bucket.levels
    .map((one) => `level ${one.level}: ${plural(one.file_count, "file")}, ${size(one.byte_count)}`)
    .join("; ");
  return h(
    "span.lanes",
    { role: "img", "aria-label": text || "no files", class: maxLevel ? "" : "is-flat" },
    lanes.map((level) => lane(level, byLevel.get(level), widest, Boolean(maxLevel))),
  );
}

function lane(level, found, widest, hasLevels) {
  const title = found
    ? `${hasLevels ? `L${level}: ` : ""}${plural(found.file_count, "file")}, ${whole(found.byte_count)} bytes, ${plural(found.record_count, "row")}`
    : null;
  const blocks = found ? Math.min(found.file_count, MOST_BLOCKS) : 0;
  return h(
    "span.lane",
    { title },
    hasLevels ? h("span.lane-name", `L${level}`) : null,
    h(
      "span.lane-track",
      found
        ? h(
            "span.lane-bar",
            { class: `level-${Math.min(level, 5)}`, style: { width: `${(100 * found.byte_count) / widest}%` } },
            Array.from({ length: blocks }, () => h("span.block")),
          )
        : null,
    ),
  );
}

/** The files of one bucket, each drawn on the scale of the fullest level. */
export function filePicture(files) {
  const levels = new Map();
  for (const file of files) levels.set(file.level, [...(levels.get(file.level) ?? []), file]);
  const lanes = [...levels].sort(([a], [b]) => a - b);
  const widest = Math.max(...lanes.map(([, held]) => held.reduce((sum, file) => sum + file.byte_count, 0)), 1);
  return h(
    "div.lanes.is-large",
    lanes.map(([level, held]) =>
      h(
        "div.lane",
        h("span.lane-name", `L${level}`),
        h(
          "span.lane-track",
          held.map((file) =>
            h("span.file-block", {
              class: `level-${Math.min(level, 5)}`,
              style: { width: `${(100 * file.byte_count) / widest}%` },
              title: `${file.file_name}\n${whole(file.byte_count)} bytes, ${plural(file.record_count, "row")}`,
            }),
          ),
        ),
        h(
          "span.lane-sum.muted",
          `${plural(held.length, "file")}, ${size(held.reduce((sum, file) => sum + file.byte_count, 0))}`,
        ),
      ),
    ),
  );
}
