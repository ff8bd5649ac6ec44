// Text of answers as elements: `code` between backticks, never HTML.

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

export function prose(text) {
  return text.split("`").map((part, i) => (i % 2 ? element("code", {}, part) : part));
}
