// Light or dark: as the system prefers, or as the reader chose with the switch (kept for later visits).

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

/** Takes the next of auto, light, dark and gives its name. */
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
