// The playground: wires editor, Python, answers, drawing, steps, examples and links together.
import { Editor } from "./editor.js";
import { ReportFrame } from "./flow.js";
import { element } from "./prose.js";
import { Runner } from "./runner.js";
import { Scrubber } from "./scrubber.js";
import { addressOf, programOf } from "./share.js";
import { Tabs } from "./tabs.js";

const byId = (id) => document.getElementById(id);
const parameters = new URLSearchParams(location.search);
const isEmbedded = parameters.has("embed");
document.documentElement.classList.toggle("embedded", isEmbedded);

// What travels before the first answer. Afterwards it is on the reader's disk.
const FIRST_TIME = " (15 MB, once)";
// Seconds after which a program is told to be a large one, and what is shown then.
const LARGE = 20;
const TOO_LARGE =
  "This program is large for a page: it runs on one core, without compiled kernels. On your machine it is ten to a hundred " +
  "times as fast: pip install '.[torch]' in a clone of whygrad, then whygrad run program.py";

const FIRST = `import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Linear(4, 8)
head = nn.Linear(8, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)

x, y = torch.randn(32, 4), torch.randn(32, 1)
for step in range(5):
    features = torch.relu(encoder(x)).detach()
    loss = nn.functional.mse_loss(head(features), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())

print(encoder.weight.grad)
`;

const marked = new Set(); // lines that the drawing knows
let before = null; // what the last "Apply and run" changed, and how many answers there were
let answers = [];
let patience = 0;
let greeting = "ready"; // what the status says while nothing was run
let isQueued = false; // whether a program was chosen while another one ran

const editor = new Editor(byId("editor"), {
  run,
  stop,
  hover: (line) => {
    if (line && marked.has(line)) flow.light(line);
  },
  typed: () => {
    byId("gallery").value = "";
    forgetLink();
  },
});
const flow = new ReportFrame(byId("flow"), {
  drawingAlone: true,
  hover: (line) => editor.light(line),
  empty: "Run a program: the way its gradient takes is drawn here.",
});
const report = new ReportFrame(byId("report"), {
  empty: "Run a program: the whole report, with the check-list of its training and its curves, is shown here.",
});
const scrubber = new Scrubber(byId("steps"), (step) => {
  editor.showStep(step);
  editor.go(step.line, false);
});
const tabs = new Tabs(document.querySelector("[role=tablist]"), (name) => {
  ({ flow, report })[name]?.shown();
  if (name !== "steps") editor.showStep(null);
});
const runner = new Runner(
  {
    progress: (text) => status(`${text}${navigator.serviceWorker?.controller ? "" : FIRST_TIME} …`),
    output: write,
    result: finished,
    died: (text) => {
      write(`\n${text}\nPython ended. It starts anew.\n`, "error");
      ended("ended");
    },
  },
  { spare: !isEmbedded && (navigator.deviceMemory ?? 8) >= 4 },
);

runner.current.ready.then(
  (steps) => {
    window.playground.marks.ready = performance.now();
    window.playground.steps = steps;
    if (!runner.busy) {
      status(greeting);
      keepOffline();
    }
  },
  () => {},
);

// The program is no longer that of the address.
function forgetLink() {
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
}

function status(text) {
  byId("status").textContent = text;
}

// `kind`: "out", "error", or "plot" with a drawing.
function write(text, kind) {
  const output = byId("output"),
    atEnd = output.scrollTop + output.clientHeight >= output.scrollHeight - 30;
  const last = output.lastElementChild;
  document.body.classList.toggle("plots", kind === "plot" || document.body.classList.contains("plots"));
  if (kind === "plot") output.append(element("img", { src: `data:image/svg+xml,${encodeURIComponent(text)}`, alt: "a chart" }));
  else if (last?.classList.contains(kind)) last.append(text);
  else output.append(element("span", { class: kind }, text));
  if (atEnd) output.scrollTop = output.scrollHeight;
}

function run() {
  if (runner.busy) return;
  channel?.postMessage(identity);
  byId("output").replaceChildren();
  document.body.classList.remove("plots");
  byId("verdict").hidden = true;
  editor.show([], {});
  editor.showStep(null);
  byId("run").disabled = true;
  byId("stop").disabled = false;
  document.body.classList.add("running");
  status("running …");
  patience = setTimeout(() => verdict([element("p", {}, TOO_LARGE)]), LARGE * 1000);
  runner.run(editor.text);
}

function stop() {
  if (!runner.busy) return;
  runner.stop();
  write("\nstopped\n", "error");
  ended("stopped");
}

// Gives whether the next program began at once.
function ended(text) {
  clearTimeout(patience);
  byId("run").disabled = false;
  byId("stop").disabled = true;
  document.body.classList.remove("running");
  status(text);
  keepOffline();
  if (!isQueued) return false;
  isQueued = false;
  run();
  return true;
}

function finished(result) {
  window.playground.marks.answer ??= performance.now();
  window.playground.result = result;
  if (ended(`ran ${result.seconds.toFixed(1)} s`)) return;
  answers = result.answers;
  editor.show(answers, actions);
  marked.clear();
  for (const step of result.steps) marked.add(step.line);
  flow.set(result.report);
  report.set(result.report);
  scrubber.set(result.steps, result.steps_left_out);
  for (const failure of result.failures) write(`whygrad itself failed: ${failure}\n`, "error");
  verdict(summary(result));
  before = null;
  if (answers.length) show(1);
}

const actions = {
  go: (line) => editor.go(line),
  apply: (edit) => {
    before = { answers: answers.length, changed: editor.apply(edit) };
    forgetLink();
    run();
  },
};

function summary({ code }) {
  const found = answers.filter((answer) => !answer.odd).length,
    odd = answers.length - found;
  const things = [
    found && `${found} ${found === 1 ? "thing" : "things"} to explain`,
    odd && `${odd} odd, but perhaps meant`,
  ].filter(Boolean);
  const said = things.join(", ") || (code ? "The program ended with an error." : "Nothing about the gradients is surprising.");
  const links = answers.map((answer, i) =>
    element("button", { type: "button", onclick: () => show(i + 1) }, `line ${answer.line}`),
  );
  const at = answers.length || !code ? 0 : lineOfError();
  if (at) {
    editor.showFailure(at);
    links.push(element("button", { type: "button", onclick: () => editor.go(at) }, `line ${at}`));
  }
  const parts = [element("p", { class: answers.length ? "found" : code ? "failed" : "fine" }, said, " ", ...links)];
  return before ? [whatChanged(), ...parts] : parts;
}

// The line of the program that the last traceback names; 0 if there is none.
function lineOfError() {
  const named = [...byId("output").textContent.matchAll(/File "program\.py", line (\d+)/g)];
  return named.length ? Number(named.at(-1)[1]) : 0;
}

function show(number) {
  editor.reveal(answers[number - 1].line);
  requestAnimationFrame(() => byId(`answer-${number}`)?.scrollIntoView({ block: "nearest" }));
}

function whatChanged() {
  const rows = before.changed.flatMap(({ line, before: old, after }) => [
    element("del", {}, `${String(line).padStart(4)}  ${old}`),
    ...(after ? after.split("\n") : []).map((text, i) => element("ins", {}, `${String(line + i).padStart(4)}  ${text}`)),
  ]);
  const less = before.answers - answers.length;
  return element(
    "div",
    { class: "changed" },
    element("p", {}, `Changed. Before: ${before.answers} to explain; now: ${answers.length}.`, less > 0 ? " ✓" : ""),
    element("pre", {}, ...rows),
  );
}

function verdict(parts) {
  byId("verdict").hidden = false;
  byId("verdict").replaceChildren(...parts);
}

async function share() {
  const address = await addressOf(editor.text, location.href.split("#")[0].replace(/[?&]embed[^&]*/, ""));
  history.replaceState(null, "", address.slice(address.indexOf("#")));
  const copied = await navigator.clipboard?.writeText(address).then(
    () => true,
    () => false,
  );
  status(copied ? "The link is copied. The program is in it; no server has it." : "The link is in the address bar.");
}

async function fillGallery() {
  const programs = await (await fetch("gallery.json")).json(),
    select = byId("gallery"),
    groups = new Map();
  programs.forEach(({ group, name, claim }, i) => {
    if (!groups.has(group)) groups.set(group, select.appendChild(element("optgroup", { label: group })));
    groups.get(group).append(element("option", { value: i }, claim ? `${name} “${claim}”` : name));
  });
  select.addEventListener("change", () => {
    if (select.value === "") return;
    editor.text = programs[Number(select.value)].source;
    forgetLink();
    if (runner.busy) isQueued = true;
    else run();
  });
}

// Of several boxes in one page only the one that ran last keeps its Python.
const identity = String(Math.random());
const channel = isEmbedded && "BroadcastChannel" in window ? new BroadcastChannel("whygrad-boxes") : null;
if (channel)
  channel.onmessage = ({ data }) => {
    if (data !== identity) runner.rest();
  };

// A box on a page of ours was opened by a click there. A link from elsewhere must not run what it brings.
function isOurs() {
  try {
    return parent !== window && parent.location.origin === location.origin;
  } catch {
    return false;
  }
}

// Take over the program of the address, and do not run it. Gives whether it has one.
async function openShared() {
  const shared = await programOf(location.hash);
  if (shared !== null) editor.text = shared;
  if (shared !== null) greeting = isEmbedded ? "Press Run." : "A program from a link: read it before you run it.";
  else if (location.hash) greeting = "The link holds no program.";
  if (location.hash && !runner.busy) status(greeting);
  return shared !== null;
}

async function begin() {
  const isShared = await openShared();
  if (!isShared) editor.text = FIRST;
  addEventListener("hashchange", openShared);
  byId("run").disabled = false;
  byId("run").addEventListener("click", run);
  byId("stop").addEventListener("click", stop);
  byId("share").addEventListener("click", share);
  tabs.choose(parameters.get("view") ?? "flow");
  if (isEmbedded) {
    byId("open").hidden = false;
    byId("open").href = "./";
    byId("open").addEventListener("pointerdown", async () => {
      byId("open").href = await addressOf(editor.text, "./");
    });
    byId("open").addEventListener("focus", async () => {
      byId("open").href = await addressOf(editor.text, "./");
    });
  } else {
    await fillGallery();
  }
  if (!isShared && !isEmbedded) run();
  if (parameters.has("run") && isEmbedded && isOurs()) run();
}

// Once Python has loaded, so that the first answer does not wait for it. A box in a page of another site keeps nothing.
let isKept = false;
function keepOffline() {
  if (isKept || !("serviceWorker" in navigator) || (isEmbedded && !isOurs())) return;
  isKept = true;
  navigator.serviceWorker.register("../service-worker.js", { scope: "../" }).catch(() => {});
}

window.playground = { editor, runner, marks: {}, result: null };
begin();
