// Calls to the service. Every failure is an ApiError with one sentence. If a token is missing, a dialog asks for it.

const KEY = "lakebed.token";
const BASE = new URL("/api/v1/", location.origin);

let askForToken = async () => null;
let asking = null;

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

/** Sets the async function that asks for a token; it returns the token, or null. */
export function onTokenWanted(ask) {
  askForToken = ask;
}

export const hasToken = () => Boolean(token());

export function setToken(value) {
  if (value) sessionStorage.setItem(KEY, value);
  else sessionStorage.removeItem(KEY);
}

/** Sends a GET request. The path is a list of its parts; empty parameters are omitted. */
export function get(parts, params = {}, { signal } = {}) {
  return call("GET", address(parts, params), undefined, signal);
}

export function post(parts, body = {}, params = {}) {
  return call("POST", address(parts, params), body);
}

/** The path of a table and of its endpoints. */
export const tablePath = (name, ...rest) => [
  "warehouses",
  name.warehouse,
  "databases",
  name.database,
  "tables",
  name.table,
  ...rest,
];

/** Whether the request was aborted because its view was closed. */
export const isAbort = (error) => error instanceof DOMException && error.name === "AbortError";

function token() {
  return sessionStorage.getItem(KEY);
}

function address(parts, params) {
  const url = new URL(parts.map(segment).join("/"), BASE);
  for (const [name, value] of Object.entries(params)) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, String(value));
  }
  return url;
}

// Browsers remove segments of dots from a path, so the request would be for another table.
function segment(part) {
  const text = String(part);
  if (text === "" || text === "." || text === "..") throw new ApiError(`There is no table with the name '${text}'.`, 404);
  return encodeURIComponent(text);
}

async function call(method, url, body, signal) {
  const sent = token();
  const answer = await request(method, url, body, signal, sent);
  if (answer.status !== 401) return read(answer);
  if (token() === sent) {
    asking ??= Promise.resolve(askForToken(Boolean(sent))).finally(() => (asking = null));
    const given = await asking;
    if (given === null) return read(answer);
    setToken(given);
  }
  return call(method, url, body, signal);
}

async function request(method, url, body, signal, bearer) {
  const headers = { Accept: "application/json" };
  if (bearer) headers.Authorization = `Bearer ${bearer}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch(url, {
      method,
      headers,
      signal,
      credentials: "omit",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new ApiError("The service cannot be reached. It may have been stopped, or the connection was lost.", 0);
  }
}

async function read(answer) {
  let content = null;
  try {
    content = await answer.json();
  } catch (error) {
    if (isAbort(error)) throw error;
  }
  if (answer.ok) return content;
  throw new ApiError(sentence(content) ?? `The service answered with status ${answer.status}.`, answer.status);
}

function sentence(content) {
  return typeof content?.message === "string" ? content.message : null;
}
