// CPython in WebAssembly with NumPy and whygrad. The worker of the playground and the tests under Node start it alike.

// NumPy of emscripten-forge imports backtrace(), which Pyodide does not export: a side module whose backtrace() returns 0.
const BACKTRACE =
  "0061736d01000000000f0864796c696e6b2e3001040000000001070160027f7f017f03020100070d01096261636b7472" +
  "61636500000a0601040041000b";

// `files` is what pack.mjs has written, inflated: the length of the index, the index in JSON, the contents one after the other.
function unpack(python, files) {
  const { FS } = python;
  const length = new DataView(files.buffer, files.byteOffset).getUint32(0, true);
  const index = JSON.parse(new TextDecoder().decode(files.subarray(4, 4 + length)));
  let at = 4 + length;
  const folders = new Set();
  for (const [path, size] of index) {
    const folder = path.slice(0, path.lastIndexOf("/"));
    if (!folders.has(folder)) FS.mkdirTree(folder);
    folders.add(folder);
    FS.writeFile(path, files.subarray(at, at + size), { canOwn: true });
    at += size;
  }
}

function allowNumpy(python) {
  const module = Uint8Array.from(BACKTRACE.match(/../g), (pair) => parseInt(pair, 16));
  python.FS.writeFile("/lib/libbacktrace.so", module);
  python.runPython("import ctypes; ctypes.CDLL('/lib/libbacktrace.so', ctypes.RTLD_GLOBAL)");
}

export async function inflate(response) {
  const stream = response.body.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// `python` is what loadPyodide gives; `files` the content of python.gz, inflated.
export function start(python, files) {
  unpack(python, files);
  allowNumpy(python);
}
