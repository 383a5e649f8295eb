// The times of snapshots: how many of each kind in equal slices of time, of those that are loaded.

import { fill, h, s } from "../dom.js";
import { moment, plural, whole } from "../format.js";

const SLICES = 120;
const HEIGHT = 56;
const KINDS = ["APPEND", "COMPACT", "OVERWRITE", "ANALYZE"];

export class Timeline {
  /** `choose(index)` is called with the index of the newest snapshot in the slice that was clicked. */
  constructor(choose) {
    this.choose = choose;
    this.times = [];
    this.kinds = [];
    this.picture = h("div.timeline-picture");
    this.from = h("span", " ");
    this.to = h("span", " ");
    this.element = h(
      "figure.timeline",
      this.picture,
      h(
        "div.timeline-axis",
        this.from,
        h(
          "span.legend",
          KINDS.map((kind) => h("span", { class: `kind-${kind}` }, kind.toLowerCase())),
        ),
        this.to,
      ),
    );
  }

  add(rows) {
    for (const row of rows) {
      this.times.push(row.time_millis);
      this.kinds.push(Math.max(0, KINDS.indexOf(row.commit_kind)));
    }
    this.#draw();
  }

  #draw() {
    if (!this.times.length) return;
    const [first, last] = edges(this.times);
    const slices = this.#slices(first, last);
    const most = Math.max(...slices.map((slice) => slice.count));
    const label = `${plural(this.times.length, "snapshot")} from ${moment(first)} to ${moment(last)}`;
    fill(
      this.picture,
      s(
        "svg",
        { viewBox: `0 0 ${SLICES} ${HEIGHT}`, preserveAspectRatio: "none", role: "img", "aria-label": label },
        slices.map((slice, place) => this.#bars(slice, place, most)),
      ),
    );
    this.from.textContent = moment(first);
    this.to.textContent = moment(last);
  }

  #slices(first, last) {
    const span = Math.max(1, last - first);
    const slices = Array.from({ length: SLICES }, (_, place) => ({
      count: 0,
      kinds: [0, 0, 0, 0],
      newest: 0,
      at: first + (place * span) / SLICES,
    }));
    for (let index = this.times.length - 1; index >= 0; index -= 1) {
      const slice = slices[Math.min(SLICES - 1, Math.floor(((this.times[index] - first) / span) * SLICES))];
      slice.count += 1;
      slice.kinds[this.kinds[index]] += 1;
      slice.newest = index;
    }
    return slices;
  }

  #bars(slice, place, most) {
    if (!slice.count) return null;
    let y = HEIGHT;
    const parts = slice.kinds
      .map((amount, kind) => (amount ? `${whole(amount)} ${KINDS[kind].toLowerCase()}` : ""))
      .filter(Boolean);
    return s(
      "g.slice",
      { onclick: () => this.choose(slice.newest) },
      s("title", `${moment(slice.at)}: ${parts.join(", ")}`),
      s("rect.slice-back", { x: place, y: 0, width: 1, height: HEIGHT }),
      slice.kinds.map((amount, kind) => {
        if (!amount) return null;
        const height = Math.max(2, (amount / most) * (HEIGHT - 4));
        y -= height;
        return s(`rect.fill-${KINDS[kind]}`, { x: place + 0.1, y, width: 0.8, height });
      }),
    );
  }
}

function edges(times) {
  let first = times[0];
  let last = times[0];
  for (const time of times) {
    if (time < first) first = time;
    if (time > last) last = time;
  }
  return [first, last];
}
