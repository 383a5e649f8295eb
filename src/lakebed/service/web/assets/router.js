// The current page is in the fragment of the address: `#/t/<warehouse>/<database>/<table>/<tab>?kind=COMPACT`.
// A fragment is not sent to the server, and browsers do not normalise it, so names may contain any character.

/** The route of the current address. */
export function current() {
  const raw = location.hash.replace(/^#\/?/, "");
  const [path, query = ""] = split(raw, "?");
  const parts = path.split("/").filter(Boolean).map(decode);
  const params = Object.fromEntries(new URLSearchParams(query));
  if (parts[0] === "t" && parts.length >= 4) {
    const [, warehouse, database, table, tab = "overview"] = parts;
    return { page: "table", warehouse, database, table, tab, params };
  }
  if (["jobs", "autopilot"].includes(parts[0])) return { page: parts[0], params };
  return parts.length ? { page: "unknown", params } : { page: "tables", params };
}

/** The address of a table's tab. */
export function tableLink(name, tab = "overview", params = {}) {
  const path = [name.warehouse, name.database, name.table, tab].map(encodeURIComponent).join("/");
  return `#/t/${path}${queryOf(params)}`;
}

/** The address of the list of tables. */
export const tablesLink = (params = {}) => `#/${queryOf(params)}`;

/** Goes to an address; with `replace` without a new entry in the history of the browser. */
export function go(link, { replace = false } = {}) {
  if (replace) {
    history.replaceState(null, "", link);
  } else {
    location.hash = link;
  }
}

/** Changes parameters of the current address without a new history entry, for filters that the view already shows. */
export function note(changes) {
  const route = current();
  const params = clean({ ...route.params, ...changes });
  const page = route.page === "tables" ? "" : route.page;
  go(route.page === "table" ? tableLink(route, route.tab, params) : `#/${page}${queryOf(params)}`, { replace: true });
}

function clean(params) {
  return Object.fromEntries(
    Object.entries(params).filter(([, value]) => value !== null && value !== undefined && value !== ""),
  );
}

function queryOf(params) {
  const text = new URLSearchParams(clean(params)).toString();
  return text ? `?${text}` : "";
}

function split(text, mark) {
  const place = text.indexOf(mark);
  return place < 0 ? [text] : [text.slice(0, place), text.slice(place + 1)];
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
