// Which files of a program get lines of ours, and which. A function declaration can be given a new value inside its own
// module, and everybody who imports it sees that: so no package's file is exchanged, and no import is counterfeited.
"use strict";

const path = require("node:path");

const OURS = 'globalThis[Symbol.for("retrospan")]';

/** End of a file's path -> the lines behind its source, while tools are answered. */
const PACKAGES = require("./packages.json").flatMap(({ package: name, files, lines }) =>
  files.map((file) => [`/node_modules/${name}/${file}`, lines.replaceAll("OURS", OURS)]),
);

/** The source of a file as it is to run. */
function rewrite(file, source, settings) {
  const plain = file.split(path.sep).join("/");
  if (plain.includes("/node_modules/")) {
    const found = settings.tools === "answer" ? PACKAGES.find(([end]) => plain.endsWith(end)) : undefined;
    return found === undefined ? source : `${source}\n;${found[1]}\n`;
  }
  const lines = settings.functions.map(parts).filter(({ where }) => path.resolve(where) === file).map(exchange);
  return lines.length ? behindTheHead(source, lines.join("")) : source;
}

/** ``NAME=FILE:FUNCTION`` in its parts. */
function parts(word) {
  const [tool, target] = [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)];
  const end = target.lastIndexOf(":");
  return { word, tool, where: target.slice(0, end), name: target.slice(end + 1) };
}

/** A declared function is there before the first line runs; anything else is not, and is said to be none. */
function exchange({ word, tool, name }) {
  const [said, called] = [JSON.stringify(word), JSON.stringify(tool)];
  return `try { ${name} = ${OURS}.plain(${called}, ${name}); } catch { ${OURS}.none(${said}); }`;
}

/** Puts a line behind the first line for the shell and the directives, without a new line: numbers stay as they are. */
function behindTheHead(source, line) {
  const head = /^(\uFEFF?#![^\n]*\n)?(\s*(?:\/\/[^\n]*\n|\/\*[\s\S]*?\*\/|"use strict";?|'use strict';?)\s*)*/.exec(source)[0];
  return `${head};${line}${source.slice(head.length)}`;
}

module.exports = { rewrite };
