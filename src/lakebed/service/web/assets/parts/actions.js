// The actions of the service with their descriptions and fields; a field has the name of its argument. An action with
// `when` exists only for tables for which it is true.

import { h } from "../dom.js";
import { check, field } from "./fields.js";

const number = (label, name, hint, props = {}) =>
  field(label, { id: `arg-${name}`, name, type: "number", min: 1, step: 1, ...props }, hint);
const text = (label, name, hint, props = {}) => field(label, { id: `arg-${name}`, name, ...props }, hint);
const known = (name, values) =>
  h(
    "datalist",
    { id: `known-${name}` },
    values.slice(0, 200).map((value) => h("option", { value })),
  );

export const ACTIONS = [
  {
    id: "compact",
    title: "Compact files",
    verb: "Compact",
    about: "Merges the files of buckets, so that reads open fewer files. Readers and writers are not blocked.",
    fields: (info) => [
      h("div", check("Full: merge all files, not only small ones", { name: "full", id: "arg-full" })),
      info.partition_keys.length
        ? text("Only where", "where", `A condition on ${info.partition_keys.join(", ")}.`)
        : null,
    ],
  },
  {
    id: "compact-manifests",
    title: "Compact manifests",
    verb: "Compact",
    about: "Rewrites the manifests without entries of deleted files. Data files do not change.",
    fields: () => null,
  },
  {
    id: "compact-chain",
    title: "Build full partitions",
    verb: "Build",
    when: (info) => info.kind === "chain",
    about:
      "Writes the merged rows of days as full partitions, so that reads of these days and of later ones merge less. Rows do not change, and the changes are kept. Give a condition, a limit, or both.",
    fields: (info) => [
      text("Only where", "where", `A condition on ${info.partition_keys.join(", ")}.`),
      number("Depth", "depth", "Build where a read merges this many partitions of changes."),
      text("Size of the changes", "bytes", "Build where the changes have this size, such as 1 gb."),
      text("Age", "age", "Build where the last full partition is this much older, such as 7 d."),
      h("div", check("Also rebuild partitions that are full already", { name: "overwrite", id: "arg-overwrite" })),
    ],
  },
  {
    id: "expire-changes",
    title: "Drop old changes",
    verb: "Drop",
    isDestructive: true,
    when: (info) => info.kind === "chain",
    about:
      "Drops the changes of old days that full partitions hold. Views of full partitions and of later days stay. An older day that is not full cannot be read any more.",
    fields: () => [
      text(
        "Days before",
        "before",
        "A time such as 2025-01-31, or a duration ago such as 30 d. Empty: as the options of the table say.",
      ),
    ],
  },
  {
    id: "expire-snapshots",
    title: "Expire snapshots",
    verb: "Expire",
    isDestructive: true,
    about:
      "Deletes old snapshots and the files that only they need. Tags keep theirs. An expired snapshot cannot be read any more.",
    fields: () => [
      number("Keep at most", "retain_max", "Number of snapshots. Empty: as the options of the table say."),
      number("Keep at least", "retain_min", "Number of snapshots."),
      text("Older than", "older_than", "A time, or a duration ago such as 3 d."),
      number("Delete at most", "max_deletes", "Number of snapshots in one run."),
    ],
  },
  {
    id: "create-tag",
    title: "Create a tag",
    verb: "Create",
    about: "Gives a snapshot a name. The tagged state stays readable when the snapshot expires.",
    fields: (info) => [
      text("Name", "name", null, { required: true }),
      number("Snapshot", "snapshot", `Empty: the latest (${info.latest_snapshot?.id ?? "none"}).`),
      text("Keep for", "time_retained", "A duration such as 30 d. Empty: for ever."),
    ],
  },
  {
    id: "drop-tag",
    title: "Delete a tag",
    verb: "Delete",
    isDestructive: true,
    about: "Deletes a tag and the files that only it needs.",
    fields: (info) => [text("Name", "name", null, { required: true, list: "known-tag" }), known("tag", info.tags)],
  },
  {
    id: "create-branch",
    title: "Create a branch",
    verb: "Create",
    about: "A branch has its own snapshots and shares files with the snapshot that it was created from.",
    fields: (info) => [
      text("Name", "name", null, { required: true }),
      text("From tag", "tag", "Without a tag or a snapshot, the branch has no rows.", { list: "known-tag" }),
      number("From snapshot", "snapshot", null),
      known("tag", info.tags),
    ],
  },
  {
    id: "drop-branch",
    title: "Delete a branch",
    verb: "Delete",
    isDestructive: true,
    about: "Deletes a branch with all its snapshots.",
    fields: (info) => [
      text("Name", "name", null, { required: true, list: "known-branch" }),
      known("branch", info.branches),
    ],
  },
  {
    id: "rollback",
    title: "Roll back",
    verb: "Roll back",
    isDestructive: true,
    about: "Makes an earlier snapshot or tag the latest. Deletes all later snapshots and tags.",
    fields: (info) => [
      number("To snapshot", "snapshot", null),
      text("Or to tag", "tag", null, { list: "known-tag" }),
      known("tag", info.tags),
    ],
  },
];
