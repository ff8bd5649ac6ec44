// Search through all pages, without a server. The index is fetched when somebody begins to type.
const up = document.querySelector("script[data-up]").dataset.up;
const form = document.getElementById("search");
const input = form.querySelector("input");
const found = document.getElementById("found");
let index = null;

function score(page, words) {
  let total = 0;
  for (const word of words) {
    const inTitle = page.title.toLowerCase().includes(word) ? 10 : 0;
    const inHeadings = page.headings.filter(([text]) => text.toLowerCase().includes(word)).length ? 5 : 0;
    const inText = page.text.toLowerCase().includes(word) ? 1 : 0;
    if (!(inTitle + inHeadings + inText)) return 0;
    total += inTitle + inHeadings + inText;
  }
  return total;
}

function entry(page, words) {
  const heading = page.headings.find(([text]) => words.some((word) => text.toLowerCase().includes(word)));
  const item = document.createElement("li"),
    link = document.createElement("a");
  link.href = up + page.address + (heading ? `#${heading[1]}` : "");
  link.textContent = heading ? `${page.title}: ${heading[0]}` : page.title;
  item.append(link);
  return item;
}

async function search() {
  index ??= await (await fetch(`${up}search.json`)).json();
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const best = words.length
    ? index
        .map((page) => [score(page, words), page])
        .filter(([n]) => n)
        .sort((a, b) => b[0] - a[0])
    : [];
  found.replaceChildren(...best.slice(0, 12).map(([, page]) => entry(page, words)));
  if (words.length && !best.length) found.append(Object.assign(document.createElement("li"), { textContent: "nothing found" }));
  found.hidden = !words.length;
}

input.addEventListener("input", search);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  found.querySelector("a")?.click();
});
addEventListener("keydown", (event) => {
  if (event.key === "/" && !event.target.closest("input, textarea, [contenteditable]")) {
    event.preventDefault();
    input.focus();
  }
  if (event.key === "Escape") found.hidden = true;
});

// In a narrow window the list of pages is closed at first.
if (matchMedia("(max-width: 60rem)").matches) document.getElementById("pages").open = false;
