// Step by step: a slider through what the program computed, forward and backward.
import { element } from "./prose.js";

const PHASES = { forward: "forward", backward: "backward", deposit: "into .grad" };

export class Scrubber {
  // `show(step)` marks a step in the editor; null for none.
  constructor(panel, show) {
    this.show = show;
    this.steps = [];
    this.slider = element("input", {
      type: "range",
      min: 0,
      value: 0,
      "aria-label": "Step",
      oninput: () => this.go(Number(this.slider.value)),
    });
    this.back = element("button", { type: "button", "aria-label": "Previous step", onclick: () => this.go(this.at - 1) }, "◀");
    this.on = element("button", { type: "button", "aria-label": "Next step", onclick: () => this.go(this.at + 1) }, "▶");
    this.turn = element("button", { type: "button", onclick: () => this.go(this.turningPoint()) }, "first backward step");
    this.about = element("div", { class: "step", "aria-live": "polite" });
    this.table = element("table", {});
    this.empty = element("p", { class: "empty" }, "Run a program to go through its steps.");
    this.inner = element(
      "div",
      { hidden: true },
      element("div", { class: "controls" }, this.back, this.slider, this.on, this.turn),
      this.about,
      element("div", { class: "scrolled" }, this.table),
    );
    panel.replaceChildren(this.empty, this.inner);
  }

  set(steps, leftOut) {
    this.steps = steps;
    this.inner.hidden = !steps.length;
    this.empty.hidden = steps.length > 0;
    this.slider.max = Math.max(0, steps.length - 1);
    this.turn.hidden = this.turningPoint() < 0;
    const more = leftOut
      ? [element("caption", {}, `The first ${steps.length} steps; ${leftOut.toLocaleString()} more are left out.`)]
      : [];
    this.table.replaceChildren(...more, ...this.rows());
    this.at = 0;
    this.write(false);
  }

  rows() {
    const head = element(
      "thead",
      {},
      element("tr", {}, ...["line", "what", "shape", "norm", "values"].map((name) => element("th", { scope: "col" }, name))),
    );
    this.lines = this.steps.map((step, i) =>
      element(
        "tr",
        { class: step.phase, onclick: () => this.go(i) },
        element("td", {}, step.line),
        element("td", {}, step.phase === "deposit" ? ".grad" : step.name, element("small", {}, ` ${PHASES[step.phase]}`)),
        element("td", {}, shape(step)),
        element("td", {}, step.norm === undefined ? "" : number(step.norm)),
        element("td", {}, step.values),
      ),
    );
    return [head, element("tbody", {}, ...this.lines)];
  }

  turningPoint() {
    return this.steps.findIndex((step) => step.phase !== "forward");
  }

  go(number) {
    this.at = Math.max(0, Math.min(this.steps.length - 1, number));
    this.write(true);
  }

  // A step is marked in the editor once somebody looks at the steps.
  write(isAsked) {
    const step = this.steps[this.at];
    for (const row of this.table.querySelectorAll(".now")) row.classList.remove("now");
    if (!step) return;
    this.slider.value = this.at;
    this.back.disabled = this.at === 0;
    this.on.disabled = this.at === this.steps.length - 1;
    this.slider.setAttribute("aria-valuetext", `step ${this.at + 1}, line ${step.line}, ${step.name}`);
    this.about.replaceChildren(
      element("b", { class: step.phase }, PHASES[step.phase]),
      ` step ${this.at + 1} of ${this.steps.length}, line ${step.line} `,
      element("code", {}, step.expression),
      element("p", {}, describe(step)),
    );
    this.lines[this.at].classList.add("now");
    if (!isAsked) return;
    this.lines[this.at].scrollIntoView({ block: "nearest" });
    this.show({ line: step.line, phase: step.phase, text: inline(step) });
  }
}

function shape(step) {
  return step.shape.length ? `(${step.shape.join(", ")})` : "scalar";
}

function valueOf(step) {
  return step.norm === undefined ? step.values : `|g| ${number(step.norm)}  ·  ${step.values}`;
}

function inline(step) {
  return `${step.phase === "forward" ? "→" : "←"} ${step.name} ${shape(step)}  ${valueOf(step)}`;
}

function describe(step) {
  const what = {
    forward: `${step.name} gives`,
    backward: `the gradient that arrives at ${step.name}`,
    deposit: "added to a leaf's .grad",
  }[step.phase];
  return `${what}: ${shape(step)}  ${valueOf(step)}`;
}

function number(x) {
  return typeof x === "string"
    ? x
    : (Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5) || x === 0
      ? String(Number(x.toPrecision(4)))
      : x.toExponential(2);
}
