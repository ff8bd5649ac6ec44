// node pack.mjs OUT LIBRARY FOLDER...: compiles, with the browser's Python, what that Python will import. OUT gets the packages of
// the folders (NumPy's files and whygrad's), one file that the browser inflates itself; LIBRARY the standard library, a zip.
import { readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { loadPyodide } from "pyodide";

const [out, library, ...folders] = process.argv.slice(2);
const SITE = "/lib/python3.11/site-packages";
const UNUSED = /(^|\/)(tests|f2py|distutils|doc|include|__pycache__)\/|\.(pyi|a|h|pxd|pyx|c|f|f90|sh|md|txt)$/;
const NEEDED = /(^|\/)(numpy\/_core\/tests\/(__init__|_natype)\.py)$/; // numpy.testing imports it

function* walk(folder) {
  for (const name of readdirSync(folder).sort()) {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) yield* walk(path);
    else yield path;
  }
}

const python = await loadPyodide();
const entries = [];
const compile = python.runPython(`
import importlib._bootstrap_external as external, importlib.util
def compiled(source, path):
    code = compile(source, path, "exec", dont_inherit=True, optimize=0)
    return bytes(external._code_to_hash_pyc(code, importlib.util.source_hash(source.encode()), False))
compiled`);
for (const folder of folders) {
  for (const path of walk(folder)) {
    const name = relative(folder, path);
    if (UNUSED.test(name) && !NEEDED.test(name)) continue;
    if (!name.endsWith(".py")) {
      entries.push([`${SITE}/${name}`, readFileSync(path)]);
      continue;
    }
    const code = compile(readFileSync(path, "utf8"), `${SITE}/${name}`);
    entries.push([`${SITE}/${name}c`, Buffer.from(code.toJs())]);
    code.destroy();
  }
}

// Pyodide brings the standard library as source, which takes a fifth of the time to a first answer to compile.
const source = join(dirname(createRequire(import.meta.url).resolve("pyodide")), "python_stdlib.zip");
python.FS.writeFile("/source.zip", readFileSync(source));
python.globals.set("compiled", compile);
python.runPython(`
import zipfile
with zipfile.ZipFile("/source.zip") as old, zipfile.ZipFile("/library.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as new:
    for name in sorted(old.namelist()):
        content = old.read(name)
        if name.endswith(".py"):
            name, content = name + "c", compiled(content.decode(), "/lib/python311.zip/" + name)
        if not name.endswith("/"):
            new.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)  # ZipInfo: without the time of day
`);
writeFileSync(library, python.FS.readFile("/library.zip"));

const index = Buffer.from(JSON.stringify(entries.map(([path, content]) => [path, content.length])));
const length = Buffer.alloc(4);
length.writeUInt32LE(index.length);
writeFileSync(out, gzipSync(Buffer.concat([length, index, ...entries.map(([, content]) => content)]), { level: 9 }));
