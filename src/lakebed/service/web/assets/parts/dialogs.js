// Dialogs, as native elements: Escape closes them, and the browser manages the focus.

import { h } from "../dom.js";

let number = 0;

/** Opens a dialog; `kind` is `sheet` (from the side) or `box`. Returns the element; calls `closed` after it closes. */
export function open({ title, kind = "box", body, closed }) {
  const id = `dialog-${(number += 1)}`;
  const dialog = h(
    `dialog.${kind}`,
    { "aria-labelledby": id },
    h(
      "header.dialog-head",
      h("h2", { id }, title),
      h("button.quiet.icon", { type: "button", "aria-label": "Close", onclick: () => dialog.close() }, "✕"),
    ),
    h("div.dialog-body", body),
  );
  dialog.addEventListener("close", () => {
    dialog.remove();
    closed?.();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close(); // the backdrop
  });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/** Asks for the token; returns null if the dialog is closed without one. */
export function askForToken(wasRefused) {
  return new Promise((resolve) => {
    let given = null;
    const field = h("input", {
      type: "password",
      id: "token",
      autocomplete: "off",
      required: true,
      autofocus: true,
      "aria-describedby": "token-hint",
    });
    const form = h(
      "form.stack",
      {
        onsubmit: (event) => {
          event.preventDefault();
          given = field.value.trim() || null;
          dialog.close();
        },
      },
      wasRefused ? h("p.warning", { role: "alert" }, "The service rejected this token.") : null,
      h("label", { for: "token" }, "Token"),
      field,
      h(
        "p.hint",
        { id: "token-hint" },
        "The token that the service was started with. It is kept until this browser tab is closed.",
      ),
      h("div.buttons", h("button.primary", { type: "submit" }, "Sign in")),
    );
    const dialog = open({ title: "This service needs a token", body: form, closed: () => resolve(given) });
  });
}
