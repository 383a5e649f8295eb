// The states of a view without content: loading, empty, and failed.

import { isAbort } from "../api.js";
import { fill, h } from "../dom.js";

/** Grey lines in the shape of the content, so that the layout does not jump when it arrives. */
export function skeleton(lines = 6, kind = "line") {
  return h(
    "div.skeleton",
    { role: "status", "aria-label": "Loading" },
    Array.from({ length: lines }, () => h(`div.skeleton-${kind}`)),
  );
}

export function empty(title, text, ...more) {
  return h("div.empty", h("p.empty-title", title), text ? h("p", text) : null, more);
}

export function failure(error, retry) {
  return h(
    "div.failure",
    { role: "alert" },
    h("p.failure-title", error.status === 404 ? "Not found" : "Loading failed"),
    h("p", error.message),
    retry ? h("button", { type: "button", onclick: retry }, "Try again") : null,
  );
}

/** Shows a skeleton, then `show` of the result of `load`; after a failure, the error and a button to retry. */
export async function settle(place, { load, show, waiting = skeleton(), signal }) {
  fill(place, waiting);
  place.setAttribute("aria-busy", "true");
  try {
    const found = await load();
    if (signal?.aborted) return;
    fill(place, show(found));
  } catch (error) {
    if (isAbort(error) || signal?.aborted) return;
    fill(
      place,
      failure(error, () => settle(place, { load, show, waiting, signal })),
    );
  } finally {
    if (!signal?.aborted) place.removeAttribute("aria-busy");
  }
}
