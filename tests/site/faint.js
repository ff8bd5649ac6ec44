// Visible texts that are too faint to read (WCAG AA): [ratio, text, element] each. The last expression is the result.
const context = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
const rgba = (colour) => {
  context.clearRect(0, 0, 1, 1);
  context.fillStyle = colour;
  context.fillRect(0, 0, 1, 1);
  return [...context.getImageData(0, 0, 1, 1).data].map((x) => x / 255);
};
const over = ([r, g, b, a], below) => [r, g, b].map((x, i) => x * a + below[i] * (1 - a));
const luminance = (rgb) => {
  const [r, g, b] = rgb.map((x) => (x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ancestors = (element) => (element ? [element, ...ancestors(element.parentElement)] : []);
const page = matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [1, 1, 1];

function ratio(element) {
  const style = getComputedStyle(element), chain = ancestors(element);
  let behind = page;
  for (const each of [...chain].reverse()) behind = over(rgba(getComputedStyle(each).backgroundColor), behind);
  const [r, g, b, a] = rgba(element.closest("svg") ? style.fill : style.color);
  const seen = chain.reduce((opacity, each) => opacity * Number(getComputedStyle(each).opacity), a);
  const [low, high] = [luminance(over([r, g, b, seen], behind)), luminance(behind)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

function isLarge(element) {
  const { fontSize, fontWeight } = getComputedStyle(element), size = parseFloat(fontSize);
  return size >= 24 || (size >= 18.66 && Number(fontWeight) >= 700);
}

const texts = [...document.querySelectorAll("body *")].filter(
  (element) =>
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim()) &&
    element.checkVisibility({ visibilityProperty: true }) &&
    !element.closest(":disabled, script, style, option, .skip, .anchor"),
);
return texts
  .map((element) => [ratio(element), element.textContent.trim().slice(0, 40), `${element.localName}.${element.className?.baseVal ?? element.className}`, isLarge(element)])
  .filter(([found, , , large]) => found < (large ? 3 : 4.5))
  .map(([found, text, name]) => [found.toFixed(2), text, name]);
