// Days out of partition names: `dt=20261116`, `dt=2026-11-16`, with or without keys of a group before them.

export const DAY = 86_400_000;

/** The day that a partition stands for, as UTC milliseconds; null if its key is no day. */
export function dayOf(partition, keys) {
  const values = Object.fromEntries(
    partition.split("/").map((part) => [part.slice(0, part.indexOf("=")), part.slice(part.indexOf("=") + 1)]),
  );
  if (keys.length !== 1 || values[keys[0]] === undefined) return null;
  const found = /^(\d{4})-?(\d{2})-?(\d{2})$/.exec(values[keys[0]]);
  if (!found) return null;
  const day = Date.UTC(Number(found[1]), Number(found[2]) - 1, Number(found[3]));
  return Number.isNaN(day) ? null : day;
}

export const dayText = (day) => new Date(day).toISOString().slice(0, 10);
