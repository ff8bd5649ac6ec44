// node in_wasm.mjs SITE PROGRAM INPUT: runs a Python file in WebAssembly, as the site's worker does. The file has the text of
// INPUT as `INPUT`, and sets `OUTPUT`, which is printed.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { gunzipSync } from "node:zlib";

const [site, program, input, ...folders] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${site}/pyodide/pyodide.mjs`));
const { start } = await import(pathToFileURL(`${site}/interpreter.js`));
const python = await loadPyodide({ indexURL: `${site}/pyodide/` });
start(python, new Uint8Array(gunzipSync(readFileSync(`${site}/python.gz`))));
folders.forEach((folder, i) => {
  python.FS.mkdirTree(`/given/${i}`);
  python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, `/given/${i}`);
});
python.globals.set("INPUT", readFileSync(input, "utf8"));
python.runPython(readFileSync(program, "utf8"));
console.log(python.globals.get("OUTPUT"));
