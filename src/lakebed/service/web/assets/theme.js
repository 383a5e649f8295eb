// Light or dark colours: as the system prefers, or as the reader chose; the choice is stored in the browser.

const KEY = "lakebed.theme";
const NEXT = { auto: "light", light: "dark", dark: "auto" };

export function chosen() {
  try {
    const kept = localStorage.getItem(KEY);
    return kept in NEXT ? kept : "auto";
  } catch {
    return "auto"; // a browser may forbid storage
  }
}

export function apply(theme = chosen()) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

/** Switches to the next of auto, light and dark; returns its name. */
export function turn() {
  const theme = NEXT[chosen()];
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // it holds for this page, then
  }
  apply(theme);
  return theme;
}
