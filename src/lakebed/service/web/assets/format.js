// Numbers, sizes and times for people; the exact value is the title of the element.

import { h } from "./dom.js";

const WHOLE = new Intl.NumberFormat("en-US");
const SHORT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const SPANS = [
  ["year", 31_557_600_000],
  ["month", 2_629_800_000],
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
];
const AGO = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const DASH = "–";

const known = (value) => value !== null && value !== undefined;

export const whole = (value) => (known(value) ? WHOLE.format(value) : DASH);

export const short = (value) =>
  !known(value) ? DASH : Math.abs(value) < 10_000 ? WHOLE.format(value) : SHORT.format(value);

export function size(bytes) {
  if (!known(bytes)) return DASH;
  let value = Number(bytes);
  let unit = 0;
  while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || Math.abs(value) >= 100 ? 0 : 1;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

export function duration(millis) {
  if (!known(millis)) return DASH;
  if (millis < 1000) return `${Math.round(millis)} ms`;
  if (millis < 60_000) return `${(millis / 1000).toFixed(millis < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(millis / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((millis % 60_000) / 1000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function ago(millis, now = Date.now()) {
  if (!known(millis)) return DASH;
  const apart = millis - now;
  for (const [unit, span] of SPANS) {
    if (Math.abs(apart) >= span) return AGO.format(Math.trunc(apart / span), unit);
  }
  return "just now";
}

const two = (value) => String(value).padStart(2, "0");

/** A time in the local time zone: 2026-11-16 01:02:03. */
export function moment(millis) {
  if (!known(millis)) return DASH;
  const at = new Date(millis);
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

const exactMoment = (millis) => `${new Date(millis).toISOString()} (${whole(millis)} ms)`;

/** A count, short, with the exact one on hover. */
export const count = (value) => h("span.num", { title: known(value) ? whole(value) : null }, short(value));

/** A size in bytes, short, with the exact one on hover. */
export const bytes = (value) => h("span.num", { title: known(value) ? `${whole(value)} bytes` : null }, size(value));

/** How long something took, with the exact milliseconds on hover. */
export const took = (value) => h("span.num", { title: known(value) ? `${whole(value)} ms` : null }, duration(value));

/** A time as text such as "3 hours ago", with the exact time as the title. */
export const since = (millis) =>
  known(millis)
    ? h(
        "time",
        { datetime: new Date(millis).toISOString(), title: `${moment(millis)} · ${exactMoment(millis)}` },
        ago(millis),
      )
    : h("span", DASH);

/** A time, with UTC as the title. */
export const at = (millis) =>
  known(millis)
    ? h(
        "time.num",
        { datetime: new Date(millis).toISOString(), title: `${exactMoment(millis)}, ${ago(millis)}` },
        moment(millis),
      )
    : h("span", DASH);

/** A partition as text: `dt=2026-11-16, region=eu`; empty for tables without partitions. */
export function partitionText(partition) {
  if (!known(partition) || partition === "") return "whole table";
  if (typeof partition === "string") return partition;
  const parts = Object.entries(partition);
  return parts.length
    ? parts.map(([name, value]) => `${name}=${value === null ? "null" : value}`).join(", ")
    : "whole table";
}

/** The name of a file, shortened in the middle: files of one write differ at the end. The title is the whole path. */
export function fileName(path) {
  const name = path.slice(path.lastIndexOf("/") + 1);
  return h("code", { title: path }, name.length > 36 ? `${name.slice(0, 14)}…${name.slice(-18)}` : name);
}

/** `1 file`, `2 files`, `2 branches`. */
export const plural = (amount, noun) => `${short(amount)} ${nouns(amount, noun)}`;

/** The same with every digit: `12,345 files`. */
export const exactly = (amount, noun) => `${whole(amount)} ${nouns(amount, noun)}`;

const nouns = (amount, noun) => (amount === 1 ? noun : noun.endsWith("ch") ? `${noun}es` : `${noun}s`);
