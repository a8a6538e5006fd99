//! Making elements. Text only ever becomes text nodes, so nothing that a user types is read as HTML.

/** An element with properties (`dataset` and `style` as objects) and children, which are nodes or text. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === 'dataset' || name === 'style') {
      Object.assign(element[name], value);
    } else if (name in element) {
      element[name] = value;
    } else {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** The element of the page with that id. */
export function byId(id) {
  return document.getElementById(id);
}
