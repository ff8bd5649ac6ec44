// One answer as a box: what was observed, why, its causes, the fix.
import { element, prose } from "./prose.js";

// `actions`: go(line), apply(edit).
export function answerBox(answer, number, actions) {
  const box = element(
    "section",
    { class: answer.odd ? "answer odd" : "answer", id: `answer-${number}`, "aria-label": `Answer ${number}` },
    element(
      "h3",
      {},
      element("span", { class: "category" }, answer.category),
      element("code", {}, shortened(answer.expression, 60)),
      " ",
      element("span", {}, ...prose(answer.headline)),
    ),
    element("p", {}, ...prose(answer.text)),
  );
  if (answer.causes.length) box.append(causes(answer.causes, actions));
  if (answer.fix) box.append(element("p", { class: "fix" }, element("b", {}, "Fix "), ...prose(answer.fix)));
  if (answer.edit) box.append(edit(answer.edit, actions));
  return box;
}

function causes(found, actions) {
  const inProgram = found.filter((cause) => cause.line > 0);
  return element(
    "p",
    { class: "causes" },
    ...inProgram.map((cause) =>
      element(
        "button",
        { type: "button", class: "cause", onclick: () => actions.go(cause.line) },
        `line ${cause.line}`,
        " ",
        element("code", {}, shortened(cause.expression, 70)),
      ),
    ),
  );
}

function edit(change, actions) {
  const lines = changes(change).map(({ line, text }) => `line ${line} ${text ? "becomes" : "goes"}\n${text}`);
  return element(
    "div",
    { class: "edit" },
    element("pre", {}, lines.join("\n").trimEnd()),
    element("button", { type: "button", class: "apply", onclick: () => actions.apply(change) }, "Apply and run"),
  );
}

// The changed lines of an edit, in order: `text` is "" if the line goes.
export function changes({ line, new: text, also = [] }) {
  return [{ line, text: text.replace(/\n$/, "") }, ...also.flatMap(changes)].sort((a, b) => a.line - b.line);
}

function shortened(text, length) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}
