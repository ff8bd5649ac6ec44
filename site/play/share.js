// A program as part of an address, behind the #: no server sees it. A shared program never runs by itself.

const PREFIX = "#code=";

async function through(stream, content) {
  return new Uint8Array(await new Response(new Blob([content]).stream().pipeThrough(stream)).arrayBuffer());
}

export async function addressOf(text, base) {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text));
  let binary = "";
  for (const byte of packed) binary += String.fromCharCode(byte);
  return `${base}${PREFIX}${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

// The program of an address; null if it has none, or none that can be read.
export async function programOf(hash) {
  if (!hash.startsWith(PREFIX)) return null;
  try {
    const binary = atob(hash.slice(PREFIX.length).replaceAll("-", "+").replaceAll("_", "/"));
    return new TextDecoder().decode(
      await through(
        new DecompressionStream("deflate-raw"),
        Uint8Array.from(binary, (c) => c.charCodeAt(0)),
      ),
    );
  } catch {
    return null;
  }
}
