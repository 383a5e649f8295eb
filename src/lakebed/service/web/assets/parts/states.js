// What stands in a view before, instead of or after its content: skeletons, nothing to show, something went wrong.

import { isAbort } from "../api.js";
import { fill, h } from "../dom.js";

/** Grey lines in the shape of what is coming, so that nothing jumps when it comes. */
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
    h("p.failure-title", error.status === 404 ? "Not found" : "This could not be loaded"),
    h("p", error.message),
    retry ? h("button", { type: "button", onclick: retry }, "Try again") : null,
  );
}

/** Shows a skeleton, then what `show` makes of what `load` gives; on failure a sentence and a button that tries again. */
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
