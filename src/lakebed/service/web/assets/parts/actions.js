// The actions that the service offers: what each does and what it asks for; fields are named as the arguments are.

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
    about: "Merges the files of buckets, so that reads open fewer of them. Readers and writers go on meanwhile.",
    fields: (info) => [
      h("div", check("Full: merge everything, also what is in good shape", { name: "full", id: "arg-full" })),
      info.partition_keys.length
        ? text("Only where", "where", `A condition on ${info.partition_keys.join(", ")}.`)
        : null,
    ],
  },
  {
    id: "compact-manifests",
    title: "Compact manifests",
    verb: "Compact",
    about: "Writes the list of files anew, without entries that cancel each other. No data file is touched.",
    fields: () => null,
  },
  {
    id: "expire-snapshots",
    title: "Expire snapshots",
    verb: "Expire",
    isDestructive: true,
    about:
      "Removes old snapshots and the files that only they need. Tags keep theirs. What has expired cannot be read any more.",
    fields: () => [
      number("Keep at most", "retain_max", "Snapshots; as the table's options say if empty."),
      number("Keep at least", "retain_min", "Snapshots."),
      text("Older than", "older_than", "A moment, or a time ago such as 3 d."),
      number("Remove at most", "max_deletes", "Snapshots in one run."),
    ],
  },
  {
    id: "create-tag",
    title: "Create a tag",
    verb: "Create",
    about: "Gives a snapshot a name, and keeps it from expiring.",
    fields: (info) => [
      text("Name", "name", null, { required: true }),
      number("Snapshot", "snapshot", `The latest (${info.latest_snapshot?.id ?? "none yet"}) if empty.`),
      text("Keep for", "time_retained", "Such as 30 d; for ever if empty."),
    ],
  },
  {
    id: "delete-tag",
    title: "Delete a tag",
    verb: "Delete",
    isDestructive: true,
    about: "Takes a name away, and the files that only its snapshot needs.",
    fields: (info) => [text("Name", "name", null, { required: true, list: "known-tag" }), known("tag", info.tags)],
  },
  {
    id: "create-branch",
    title: "Create a branch",
    verb: "Create",
    about: "A branch is written on its own and shares files with what it came from.",
    fields: (info) => [
      text("Name", "name", null, { required: true }),
      text("From tag", "tag", "Empty with the schema only, or from a tag or a snapshot.", { list: "known-tag" }),
      number("From snapshot", "snapshot", null),
      known("tag", info.tags),
    ],
  },
  {
    id: "delete-branch",
    title: "Delete a branch",
    verb: "Delete",
    isDestructive: true,
    about: "Removes a branch with all its snapshots.",
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
    about: "Makes an earlier snapshot or tag the latest again; everything after it is removed.",
    fields: (info) => [
      number("To snapshot", "snapshot", null),
      text("Or to tag", "tag", null, { list: "known-tag" }),
      known("tag", info.tags),
    ],
  },
];
