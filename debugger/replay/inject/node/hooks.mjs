// The loader's hook for ES modules; CommonJS is met where Node.js compiles it.
import { fileURLToPath } from "node:url";
import rewriting from "./rewrite.cjs";

let settings;

/** Takes what the preloaded part was told. */
export function initialize(data) {
  settings = data;
}

/** The module's source, with the adapters' lines where it is one that they reach into. */
export async function load(url, context, next) {
  const found = await next(url, context);
  if (!url.startsWith("file:") || !String(found.format).startsWith("module") || found.source == null) {
    return found;
  }
  const source = typeof found.source === "string" ? found.source : new TextDecoder().decode(found.source);
  return { ...found, source: rewriting.rewrite(fileURLToPath(url), source, settings) };
}
