// Loaded by Node.js before a program behind the endpoint: puts the adapters in place. Needs nothing but Node.js itself.
"use strict";

const { isMainThread, workerData } = require("node:worker_threads");

/** End the program before it starts: without adapters its tools might really run. */
function refuse(why) {
  process.stderr.write(`retrospan: the adapters could not be loaded (${why}); the program is not started\n`);
  process.exit(70);
}

if (process.env.RETROSPAN_DOOR && (isMainThread || !(workerData && workerData.retrospan))) {
  try {
    const module_ = require("node:module");
    if (!module_.register) {
      refuse(`Node.js ${process.version} is too old, 20.6 is needed`);
    }
    const settings = JSON.parse(process.env.RETROSPAN_DOOR);
    const { rewrite } = require("./rewrite.cjs");
    globalThis[Symbol.for("retrospan")] = require("./adapters.cjs").adapters(settings);
    if (settings.block) {
      require("./network.cjs").block(settings.port);
    }
    const compile = module_.prototype._compile;
    module_.prototype._compile = function (content, filename, ...rest) {
      return compile.call(this, rewrite(filename, content, settings), filename, ...rest);
    };
    module_.register("./hooks.mjs", { parentURL: require("node:url").pathToFileURL(__filename), data: settings });
  } catch (fault) {
    refuse(fault);
  }
}
