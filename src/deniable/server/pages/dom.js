/** Making and finding elements: text is always text, never markup. */

export const at = (selector, root = document) => root.querySelector(selector);

const put = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== undefined && child !== false));
  return node;
};

/** An HTML element. */
export const make = (tag, attributes, ...children) => put(document.createElement(tag), attributes, children);

/** An SVG element. */
export const draw = (tag, attributes, ...children) =>
  put(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/** An SVG drawing that the collector made; it is read as XML, so names in it are never markup. */
export const parseSvg = (svg) => document.importNode(new DOMParser().parseFromString(svg, "image/svg+xml").documentElement, true);

/** Where the collector is: the folder that this page is in, so that a proxy may put it anywhere. */
export const collector = new URL(".", location.href).href.replace(/\/$/, "");
