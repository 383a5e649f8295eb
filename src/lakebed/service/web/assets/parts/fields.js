// Fields of forms and filters, each with its label.

import { h } from "../dom.js";

/** A labelled text, number or other field; `props` go to the input. */
export function field(label, props, hint) {
  return h(
    "div.field",
    h("label", { for: props.id }, label),
    h("input", {
      autocomplete: "off",
      spellcheck: "false",
      ...props,
      "aria-describedby": hint ? `${props.id}-hint` : null,
    }),
    hint ? h("p.hint", { id: `${props.id}-hint` }, hint) : null,
  );
}

export function choice(label, { id, value, options, onchange }) {
  return h(
    "div.field",
    h("label", { for: id }, label),
    h(
      "select",
      { id, onchange: (event) => onchange?.(event.target.value) },
      options.map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
    ),
  );
}

export function check(label, props) {
  return h("label.check", h("input", { type: "checkbox", ...props }), h("span", label));
}

/** Buttons of which one is pressed: a filter with few values. */
export function segments(label, { value, options, onchange }) {
  return h(
    "div.field",
    h("span.label", label),
    h(
      "div.segments",
      { role: "group", "aria-label": label },
      options.map(([key, text]) =>
        h(
          "button",
          {
            type: "button",
            id: `segment-${key || "all"}`,
            "aria-pressed": String(key === value),
            onclick: () => onchange(key),
          },
          text,
        ),
      ),
    ),
  );
}

/** Calls back once nobody has called for a while. */
export function calm(callback, millis = 250) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => callback(...args), millis);
  };
}

/** The values of a form's fields by their ids, without those that are empty. */
export function valuesOf(form) {
  const found = {};
  for (const one of form.elements) {
    if (!one.name) continue;
    if (one.type === "checkbox") found[one.name] = one.checked;
    else if (one.value !== "") found[one.name] = one.type === "number" ? Number(one.value) : one.value;
  }
  return found;
}
