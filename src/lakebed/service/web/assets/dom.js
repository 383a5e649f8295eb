// Creates elements from plain values. Text always becomes a text node, so text from tables is never markup.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element: `h("button.primary", {onclick, "aria-label": "…"}, "Run")`. Skips children that are null or false. */
export function h(spec, props, ...children) {
  return build((tag) => document.createElement(tag), spec, props, children);
}

/** The same for SVG. */
export function s(spec, props, ...children) {
  return build((tag) => document.createElementNS(SVG, tag), spec, props, children);
}

/** Replaces all children. */
export function fill(element, ...children) {
  element.replaceChildren(...flat(children));
  return element;
}

function build(create, spec, props, children) {
  const isProps = props !== null && typeof props === "object" && !Array.isArray(props) && !(props instanceof Node);
  const [tag, ...classes] = spec.split(".");
  const element = create(tag);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  if (isProps) for (const [name, value] of Object.entries(props)) set(element, name, value);
  element.append(...flat(isProps ? children : [props, ...children]));
  return element;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "style") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
  else if (name === "class") for (const one of value.split(" ").filter(Boolean)) element.classList.add(one);
  else if (name === "value" || name === "checked" || name === "selected") element[name] = value;
  else element.setAttribute(name, value === true ? "" : String(value));
}

function flat(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}
