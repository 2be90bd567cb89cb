// @ts-check
/** Elements are changed only where something changed. */

/** A longer text is not laid out. */
export const MOST_SHOWN = 100_000;

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

/** Fill a template's copy, whose parts name what they show: texts, or figures as setFigure takes them. @param {Element} node @param {Record<string, any>} item */
export function fill(node, item) {
  for (const part of all(node, "[data-of]")) {
    const value = item[part.dataset.of] ?? "";
    if (Array.isArray(value)) setFigure(part, value[0], value[1], value[2]);
    else setText(part, value);
  }
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

/** Call with a long paste as a file: to lay it out as text would freeze the page. @param {Element} area @param {(files: FileList) => void} take */
export function onLongPaste(area, take) {
  on(area, "paste", (event) => {
    const text = event.clipboardData.getData("text");
    if (text.length <= MOST_SHOWN) return;
    const data = new DataTransfer();
    data.items.add(new File([text], "pasted.txt"));
    event.preventDefault();
    take(data.files);
  });
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
