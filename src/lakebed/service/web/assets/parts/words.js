// Badges for kinds of tables, commits and compactions, and for verdicts of health, with a sign beside the colour.

import { h } from "../dom.js";

const SIGNS = { ok: "✓", warning: "!", problem: "✕", unknown: "?" };
const VERDICTS = { ok: "Healthy", warning: "Warning", problem: "Problem", unknown: "Unknown" };
const TABLE_KINDS = { "primary-key": "primary key", append: "append", chain: "chain" };

export const commitKind = (kind) => h("span.badge", { class: `kind-${safe(kind)}` }, kind);

export const tableKind = (kind) => h("span.badge.plain", TABLE_KINDS[kind] ?? kind ?? "unknown");

export const compactionKind = (kind) => h("span.badge", { class: `compaction-${safe(kind)}` }, kind);

/** A pill with the verdict; the reasons are its title. */
export function verdict(health) {
  const name = health?.verdict in VERDICTS ? health.verdict : "unknown";
  return h(
    "span.pill",
    { class: `is-${name}`, title: health?.reasons?.join("\n") || null },
    sign(name),
    VERDICTS[name],
  );
}

export const sign = (name) => h("span.sign", { "aria-hidden": "true", class: `is-${name}` }, SIGNS[name] ?? "?");

/** Why a branch has no snapshots. */
export const nothingYet = (info) =>
  info.data_branches.length
    ? `The rows of a chain table are in its branches ${info.data_branches.join(" and ")}: choose one of them.`
    : "Nothing has been committed to this branch yet.";

const safe = (text) => String(text).replace(/[^A-Za-z]/g, "");
