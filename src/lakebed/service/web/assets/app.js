// The entry point: draws the header and the page of the current address.

import { get, hasToken, onTokenWanted, setToken } from "./api.js";
import { fill, h, s } from "./dom.js";
import { askForToken } from "./parts/dialogs.js";
import { empty, failure } from "./parts/states.js";
import { showAutopilot } from "./pages/autopilot.js";
import { showJobs } from "./pages/jobs.js";
import { showTable } from "./pages/table.js";
import { showTables } from "./pages/tables.js";
import { current, tablesLink } from "./router.js";
import * as theme from "./theme.js";

const top = document.getElementById("top");
const main = document.getElementById("main");
let page = null; // the current page: {key, update(route), stop()}
let service = null;

theme.apply();
onTokenWanted(askForToken);
addEventListener("hashchange", follow);
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // its fragment is not a route
  main.focus();
});
start();

async function start() {
  try {
    service = await get(["service"]);
    header();
    follow();
  } catch (error) {
    fill(main, failure(error, start));
  }
}

function follow() {
  if (!service) return;
  const route = current();
  const key = keyOf(route);
  if (page?.key === key) {
    page.update(route);
    return;
  }
  page?.stop();
  scrollTo({ top: 0 });
  page = { key, ...open(route) };
}

function keyOf(route) {
  if (route.page === "table")
    return JSON.stringify([route.warehouse, route.database, route.table, route.params.branch ?? ""]);
  return route.page;
}

function open(route) {
  if (route.page === "table") return showTable(main, route, service);
  if (route.page === "jobs") return showJobs(main, service);
  if (route.page === "autopilot") return showAutopilot(main, route, service);
  if (route.page === "tables") return showTables(main, route);
  document.title = "Lakebed";
  fill(
    main,
    empty(
      "Page not found",
      "The dashboard has no page at this address.",
      h("a.button", { href: tablesLink() }, "All tables"),
    ),
  );
  return { update: () => {}, stop: () => {} };
}

function header() {
  const themeButton = h("button.quiet", {
    type: "button",
    id: "theme",
    onclick: () => label(themeButton, theme.turn()),
  });
  label(themeButton, theme.chosen());
  fill(
    top,
    h("a.brand", { href: tablesLink() }, mark(), "Lakebed"),
    h(
      "nav.top-links",
      { "aria-label": "Main" },
      h("a", { href: tablesLink() }, "Tables"),
      service.allow_actions ? h("a", { href: "#/jobs" }, "Jobs") : null,
      h("a", { href: "#/autopilot" }, "Autopilot"),
    ),
    h("span.grow"),
    service.token_required ? h("button.quiet", { type: "button", onclick: signOut }, "Sign out") : null,
    themeButton,
  );
}

function label(button, name) {
  const sign = { auto: "◐", light: "☀", dark: "☾" }[name];
  fill(
    button,
    h("span", { "aria-hidden": "true" }, sign),
    h("span.wide-only", ` ${name[0].toUpperCase()}${name.slice(1)}`),
  );
  button.setAttribute("aria-label", `Colours: ${name}`);
  button.title = `Colours: ${name}. Click to switch between auto, light and dark.`;
}

function mark() {
  return s(
    "svg",
    { viewBox: "0 0 32 32", width: 24, height: 24, "aria-hidden": "true" },
    s("rect.mark-back", { width: 32, height: 32, rx: 7 }),
    s("path.mark-line", { d: "M5 11q5.5-4 11 0t11 0M5 17q5.5-4 11 0t11 0" }),
    s("path.mark-bed", { d: "M6 23.5h20" }),
  );
}

function signOut() {
  if (hasToken()) setToken(null);
  location.reload();
}
