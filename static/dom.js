// @ts-check
/** Elements are changed only where something changed. */

/** @param {ParentNode} root @param {string} selector @returns {any} */
export function find(root, selector) {
  const found = root.querySelector(selector);
  if (!found) throw new Error(`the page has no ${selector}`);
  return found;
}

/** @param {ParentNode} root @param {string} selector @returns {any[]} */
export const all = (root, selector) => [...root.querySelectorAll(selector)];

/** @param {EventTarget} node @param {string} type @param {(event: any) => void} act */
export const on = (node, type, act) => node.addEventListener(type, act);

/** @param {Element} node @param {string} text */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Set attributes; null removes one. @param {Element} node @param {Record<string, Scalar | null>} attributes */
export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null) node.removeAttribute(name);
    else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, String(value));
  }
}

/** @param {Element} node @param {boolean} visible */
export function show(node, visible) {
  if (node.hasAttribute("hidden") === visible) node.toggleAttribute("hidden", !visible);
}

/** @param {Element} node @param {string} name @param {Scalar | null} value @param {string} text */
export function setFigure(node, name, value, text) {
  set(node, { "data-figure": name, value: value ?? "" });
  setText(node, text);
}

/**
 * Keep one child for each item, cloned from the template that the parent's data-each names and
 * updated in place, so that focus stays where it is.
 * @template T
 * @param {Element} parent
 * @param {readonly T[]} items
 * @param {(child: any, item: T, index: number) => void} update
 */
export function each(parent, items, update) {
  while (parent.children.length > items.length) parent.lastElementChild?.remove();
  for (const [index, item] of items.entries()) {
    const model = `#${parent.getAttribute("data-each")}`;
    update(parent.children[index] ?? parent.appendChild(clone(model)), item, index);
  }
}

/** @param {string} selector @returns {Element} */
function clone(selector) {
  const { content, dataset } = find(document, selector);
  return find(content, dataset.of ?? "*").cloneNode(true);
}

/** @param {Element} node @param {string} template @param {string} kind */
export function setVariant(node, template, kind) {
  if (node.getAttribute("data-kind") === kind) return;
  const { content } = find(document, template);
  const variant = content.querySelector(`[data-for=${kind}]`) ?? content.lastElementChild;
  set(node, { "data-kind": kind });
  node.replaceChildren(variant.cloneNode(true));
}

/** @param {string} kind @param {Record<string, Scalar | undefined>} [values] */
export function phrase(kind, values = {}) {
  const text = find(find(document, "#phrases").content, `[data-for=${kind}]`).textContent;
  return text.replace(
    /\{(\w+)\}/g,
    (/** @type {string} */ _, /** @type {string} */ name) => values[name],
  );
}
