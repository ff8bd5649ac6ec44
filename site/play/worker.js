// A module worker: one Python that runs programs one after the other.
import { inflate, start } from "./interpreter.js";
import { loadPyodide } from "./pyodide/pyodide.mjs";

const IMPORTS = `
import json
from play import program
`;
// What a first run would load.
const WARM = `
program.run("import torch\\nw = torch.ones(2, requires_grad=True)\\n(w * torch.nn.Linear(2, 2)(w).detach()).sum().backward()\\n"
            "x = w * 2\\nprint(x.grad)\\ntorch.optim.SGD([w], 0.1).step()\\n", lambda text, kind: None)
`;

let isAsked = false;

async function load() {
  const began = performance.now(),
    steps = {};
  const lap = (name) => {
    steps[name] = Math.round(performance.now() - began);
  };
  const files = fetch("./python.gz").then(inflate);
  postMessage({ progress: "loading Python" });
  const python = await loadPyodide({ indexURL: new URL("./pyodide/", location.href).href });
  lap("python");
  start(python, await files);
  lap("files");
  postMessage({ progress: "loading NumPy and whygrad" });
  python.runPython(IMPORTS);
  lap("imports");
  withoutNetwork(python);
  await new Promise((resolve) => setTimeout(resolve)); // for the message of a program that waits already
  if (!isAsked) python.runPython(WARM);
  lap("warm");
  postMessage({ ready: steps });
  return python;
}

// A program of a link was written by somebody else: it computes, and reaches neither the network nor the page.
function withoutNetwork(python) {
  for (const name of ["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "Worker", "BroadcastChannel", "indexedDB", "caches"])
    Object.defineProperty(self, name, { value: undefined, configurable: false });
  python.runPython("import sys; sys.modules.update(dict.fromkeys(('js', 'pyodide_js', 'pyodide.http', 'pyodide.code')))");
}

const loading = load().catch((error) => {
  postMessage({ failed: String(error) });
  throw error;
});

onmessage = async ({ data }) => {
  isAsked = true;
  const python = await loading;
  try {
    python.globals.set("_source", data.source);
    python.globals.set("_tell", (text, kind) => postMessage({ text, kind }));
    const result = python.runPython("json.dumps(program.run(_source, _tell))");
    postMessage({ result: JSON.parse(result) });
  } catch (error) {
    // Python itself is lost: out of memory, or a fault in WebAssembly.
    postMessage({ died: String(error) });
  }
};
