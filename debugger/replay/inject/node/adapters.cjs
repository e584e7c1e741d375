// The adapters: each takes what a framework calls its tools with, and asks before the tool runs.
"use strict";

const { Door, returned } = require("./door.cjs");

/** The functions that rewritten modules call. */
function adapters(settings) {
  const door = new Door(settings.url);

  /** The recorded result, or that of the tool where it has to run. */
  async function answered(name, args, id, run, give = returned) {
    const found = await door.ask(name, args, id);
    if (found.do !== "run") return give(found);
    try {
      const value = await run();
      await door.ran(found, value);
      return value;
    } catch (error) {
      await door.ran(found, null, error);
      throw error;
    }
  }

  /** As a model was shown it. */
  const shown = (found) => found.text ?? returned(found);

  return {
    openai(Completions) {
      const run = Completions.prototype.runTools;
      if (!run) return;
      door.helloNow("openai runTools");
      Completions.prototype.runTools = function (body, ...rest) {
        const tools = body.tools.map((tool) => {
          if (tool.$brand === "auto-parseable-tool" && typeof tool.$callback === "function") {
            // Made by a helper (zodFunction), which keeps the function where a copy would lose it.
            const callback = (args, ...more) =>
              answered(tool.function.name, args, undefined, () => tool.$callback(args, ...more), shown);
            const kept = Object.getOwnPropertyDescriptors(tool);
            return Object.defineProperties({}, { ...kept, $callback: { value: callback } });
          }
          if (typeof tool.function?.function !== "function") return tool;
          const given = tool.function;
          const work = (args, ...more) => {
            // Without a parser of its own the arguments come as they were written.
            const plain = typeof args === "string" ? parsed(args) : args;
            return answered(named(given), plain, undefined, () => given.function(args, ...more), shown);
          };
          // The runner goes by the function's name where the tool has none.
          Object.defineProperty(work, "name", { value: given.function.name });
          return { ...tool, function: { ...given, function: work } };
        });
        return run.call(this, { ...body, tools }, ...rest);
      };
    },

    langchain(StructuredTool) {
      door.helloNow("langchain.js");
      const { call } = StructuredTool.prototype;
      StructuredTool.prototype.call = function (arg, config, ...rest) {
        const id = arg?.type === "tool_call" ? arg.id : config?.toolCall?.id;
        const work = async (args, ...more) =>
          answered(this.name, args, id, () => this._call(args, ...more), (found) => {
            const text = shown(found);
            return this.responseFormat === "content_and_artifact" ? [text, undefined] : text;
          });
        return call.call(Object.create(this, { _call: { value: work } }), arg, config, ...rest);
      };
    },

    agents(invoke) {
      door.helloNow("openai-agents.js");
      return (given) => {
        const id = given.details?.toolCall?.callId;
        return answered(given.tool.name, parsed(given.input), id, () => invoke(given), shown);
      };
    },

    vercel(generate) {
      door.helloNow("ai");
      return function (given) {
        if (!given?.tools) return generate.call(this, given);
        const tools = Object.entries(given.tools).map(([name, tool]) => {
          if (typeof tool?.execute !== "function") return [name, tool];
          const execute = (args, options) =>
            answered(name, args, options?.toolCallId, () => last(tool.execute(args, options)));
          return [name, Object.assign(Object.create(Object.getPrototypeOf(tool)), tool, { execute })];
        });
        return generate.call(this, { ...given, tools: Object.fromEntries(tools) });
      };
    },

    plain(tool, work) {
      if (typeof work !== "function") throw new TypeError("no function");
      if (/Generator/.test(work.constructor.name)) throw new TypeError("a generator cannot be answered");
      const args = (given) => byName(work, given);
      if (work.constructor.name === "AsyncFunction") {
        return function (...given) {
          return answered(tool, args(given), undefined, () => work.apply(this, given));
        };
      }
      return function (...given) {
        const found = door.askNow(tool, args(given));
        if (found.do !== "run") return returned(found);
        let value;
        try {
          value = work.apply(this, given);
        } catch (error) {
          door.ranNow(found, null, error);
          throw error;
        }
        if (typeof value?.then !== "function") {
          door.ranNow(found, value);
          return value;
        }
        return value.then(
          (done) => door.ran(found, done).then(() => done),
          (error) => door.ran(found, null, error).then(() => Promise.reject(error)),
        );
      };
    },

    none(word) {
      process.stderr.write(`retrospan: --tool ${word}: the file declares no such function (\`function NAME\`), or what compiles it has renamed it\n`);
      process.exit(70);
    },
  };
}

/** An object stands for the arguments by name; several arguments are named by the function's own words. */
function byName(work, given) {
  const only = given.length === 1 ? given[0] : undefined;
  if (only !== null && typeof only === "object" && !Array.isArray(only)) return only;
  const words = /^[^(]*\(([^)]*)\)/.exec(Function.prototype.toString.call(work))?.[1].split(",") ?? [];
  const names = words.map((word) => word.split("=")[0].trim());
  return Object.fromEntries(given.map((value, at) => [names[at] || String(at), value]));
}

const named = (given) => given.name ?? given.function.name;

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Of a tool that tells of its progress, the last word is the result. */
async function last(result) {
  if (typeof result?.[Symbol.asyncIterator] !== "function") return result;
  let value;
  for await (value of result);
  return value;
}

module.exports = { adapters };
