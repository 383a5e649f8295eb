// Names and values, side by side; those without a value are left out.

import { h } from "../dom.js";

export function facts(pairs) {
  const known = pairs.filter(
    ([, value]) => value !== null && value !== undefined && value !== "" && value.textContent !== "",
  );
  return h(
    "dl.facts",
    known.map(([name, value]) => [h("dt", name), h("dd", value)]),
  );
}
