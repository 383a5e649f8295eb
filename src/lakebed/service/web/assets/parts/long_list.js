// A list of any length: pages are loaded by cursor, the next one before it is needed, and only visible rows are
// elements. Pages far away drop their rows and are loaded again by their cursor, so memory use is constant.

import { isAbort } from "../api.js";
import { fill, h } from "../dom.js";
import { exactly } from "../format.js";
import { failure } from "./states.js";

const MARGIN = 8; // rows kept beyond the edges of the screen
const KEPT_PAGES = 20;
const MOST_ROWS = 200_000; // browsers lay out at most some ten million pixels exactly

/**
 * options: load(cursor) -> {rows, next, total}; columns: [{label, cell(row), class}], the first has the link;
 * link(row) -> the address that a row opens, or null; label; noun of a row; class; onPage(page, list) after each new
 * page; none() -> what an empty list shows; further(row) -> how to continue after MOST_ROWS.
 */
export class LongList {
  constructor(options) {
    this.options = options;
    this.pages = [];
    this.count = 0;
    this.next = null; // the cursor of the page after the last
    this.ahead = null; // the promise of that page
    this.drawn = new Map();
    this.active = 0;
    this.body = h("div.long-body", { role: "rowgroup" });
    this.foot = h("div.long-foot");
    this.element = h(
      "div.long",
      { role: "table", "aria-label": options.label, class: options.class ?? "" },
      h(
        "div.long-head.long-row",
        { role: "row" },
        options.columns.map((column) => h("span", { role: "columnheader", class: column.class ?? "" }, column.label)),
      ),
      this.body,
      this.foot,
    );
    this.body.addEventListener("keydown", (event) => this.#key(event));
    this.body.addEventListener("focusin", (event) => this.#focused(event));
    this.redraw = () => requestAnimationFrame(() => this.draw());
    this.stopped = false;
  }

  async start() {
    addEventListener("scroll", this.redraw, { passive: true });
    addEventListener("resize", this.redraw);
    this.#waiting();
    await this.#append(this.options.load(null), null);
  }

  stop() {
    this.stopped = true;
    removeEventListener("scroll", this.redraw);
    removeEventListener("resize", this.redraw);
  }

  /** Scrolls to a row. */
  show(index) {
    const top = this.body.getBoundingClientRect().top + scrollY + index * this.height;
    scrollTo({ top: top - innerHeight / 3 });
  }

  /** All rows that are in memory. */
  rows() {
    return this.pages.flatMap((page) => page.rows ?? []);
  }

  get height() {
    return parseFloat(getComputedStyle(this.element).getPropertyValue("--row-height")) || 44;
  }

  draw() {
    if (this.stopped || !this.element.isConnected) return;
    const height = this.height;
    this.body.style.setProperty("height", `${this.count * height}px`);
    const top = -this.body.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(top / height) - MARGIN);
    const last = Math.min(this.count, Math.ceil((top + innerHeight) / height) + MARGIN);
    for (const [index, row] of this.drawn) {
      if ((index < first || index >= last) && !row.contains(document.activeElement)) {
        row.remove();
        this.drawn.delete(index);
      }
    }
    for (let index = first; index < last; index += 1) this.#drawRow(index, height);
    this.#forget(first, last);
    if (last >= this.count - MARGIN && this.next !== null) this.#advance();
  }

  #drawRow(index, height) {
    const page = this.#pageOf(index);
    const row = page.rows?.[index - page.start];
    const drawn = this.drawn.get(index);
    if (drawn && drawn.dataset.ready === String(Boolean(row))) {
      drawn.style.setProperty("top", `${index * height}px`);
      return;
    }
    drawn?.remove();
    if (!row) this.#refill(page);
    const element = h(
      "div.long-row",
      {
        role: "row",
        "aria-rowindex": index + 2,
        "data-index": index,
        "data-ready": String(Boolean(row)),
        style: { top: `${index * height}px` },
      },
      row ? this.#cells(row, index) : h("span.skeleton-line"),
    );
    const after = [...this.drawn.keys()].filter((other) => other > index);
    this.body.insertBefore(element, after.length ? this.drawn.get(Math.min(...after)) : null);
    this.drawn.set(index, element);
  }

  #cells(row, index) {
    const link = this.options.link(row);
    return this.options.columns.map((column, place) =>
      h(
        "span",
        { role: "cell", class: column.class ?? "" },
        place === 0 && link
          ? h("a.cover", { href: link, tabindex: index === this.active ? "0" : "-1" }, column.cell(row))
          : column.cell(row),
      ),
    );
  }

  #pageOf(index) {
    return this.pages.find((page) => index < page.start + page.count);
  }

  async #refill(page) {
    if (page.loading) return;
    page.loading = true;
    try {
      const again = await this.options.load(page.cursor);
      page.rows = again.rows.slice(0, page.count);
      this.draw();
    } catch (error) {
      if (!isAbort(error)) this.#failed(error, () => this.#refill(page));
    } finally {
      page.loading = false;
    }
  }

  #forget(first, last) {
    if (this.pages.length <= KEPT_PAGES) return;
    const far = (page) => Math.min(Math.abs(page.start - last), Math.abs(page.start + page.count - first));
    const held = this.pages.filter((page) => page.rows).sort((a, b) => far(a) - far(b));
    for (const page of held.slice(KEPT_PAGES)) page.rows = null;
  }

  #advance() {
    if (this.busy || this.count >= MOST_ROWS) return;
    const cursor = this.next;
    this.next = null;
    this.#waiting();
    this.#append(this.ahead ?? this.options.load(cursor), cursor);
  }

  async #append(promise, cursor) {
    this.busy = true;
    try {
      const page = await promise;
      if (this.stopped) return;
      if (page.rows.length) {
        this.pages.push({ cursor, start: this.count, count: page.rows.length, rows: page.rows });
        this.count += page.rows.length;
      }
      this.next = page.next ?? null;
      this.ahead = this.next === null || this.count >= MOST_ROWS ? null : this.#prefetch(this.next);
      this.element.setAttribute("aria-rowcount", String((page.total ?? (this.next === null ? this.count : -2)) + 1));
      this.#ended();
      this.options.onPage?.(page, this);
    } catch (error) {
      if (isAbort(error) || this.stopped) return;
      this.ahead = null;
      this.#failed(error, () => {
        this.#waiting();
        this.#append(this.options.load(cursor), cursor);
      });
      return;
    } finally {
      this.busy = false;
    }
    this.draw();
  }

  #prefetch(cursor) {
    const page = this.options.load(cursor);
    page.catch(() => {}); // told when the page is wanted
    return page;
  }

  #waiting() {
    const lines = this.count ? 1 : 8;
    fill(
      this.foot,
      h(
        "div.skeleton",
        { role: "status", "aria-label": "Loading" },
        Array.from({ length: lines }, () => h("div.skeleton-row")),
      ),
    );
  }

  #failed(error, retry) {
    fill(this.foot, failure(error, retry));
  }

  #ended() {
    if (!this.count && this.next === null) {
      this.element.classList.add("is-empty");
      fill(this.foot, this.options.none());
    } else if (this.count >= MOST_ROWS && this.next !== null) {
      const rows = this.pages.at(-1).rows;
      fill(
        this.foot,
        h(
          "p.hint",
          `The list ends after ${exactly(this.count, this.options.noun)}. `,
          this.options.further?.(rows.at(-1)),
        ),
      );
    } else if (this.next !== null) {
      this.#waiting();
    } else {
      fill(
        this.foot,
        h(
          "p.hint.end",
          exactly(this.count, this.options.noun),
        ),
      );
    }
  }

  #focused(event) {
    const link = event.target.closest("a.cover");
    if (!link) return;
    const before = this.drawn.get(this.active)?.querySelector("a.cover");
    if (before) before.tabIndex = -1;
    this.active = Number(link.closest(".long-row").dataset.index);
    link.tabIndex = 0;
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? this.count - 1 : step && this.active + step;
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.#focus(Math.max(0, Math.min(this.count - 1, to)));
  }

  #focus(index) {
    const height = this.height;
    const place = this.body.getBoundingClientRect().top + index * height;
    if (place < 160 || place + height > innerHeight - 40) scrollBy({ top: place - innerHeight / 2 });
    this.draw();
    this.drawn.get(index)?.querySelector("a.cover")?.focus({ preventScroll: true });
  }
}

/** A `load` for lists that are paged by offset: the offset is the cursor. */
export function byOffset(ask) {
  return async (cursor) => {
    const page = await ask(cursor ?? 0);
    return { ...page, rows: page.items, next: page.next_offset, total: page.total };
  };
}
