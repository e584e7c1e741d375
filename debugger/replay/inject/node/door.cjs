// Asks the endpoint what to do with a tool call; a function that is not async has to wait for the answer.
"use strict";

const http = require("node:http");
const { Worker, MessageChannel, receiveMessageOnPort } = require("node:worker_threads");

/** The recording holds no answer to a tool call, and the replay is strict. */
class NoRecordedAnswerError extends Error {
  name = "NoRecordedAnswerError";
}

/** One question, over a connection of its own. */
function post(url, body) {
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": "application/json" };
    const request = http.request(url, { method: "POST", agent: false, headers }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (block) => (text += block));
      answer.on("error", reject);
      answer.on("end", () => {
        const refused = answer.statusCode !== 200;
        if (refused) reject(new Error(`retrospan: the endpoint refused a question of an adapter: ${text}`));
        else resolve(JSON.parse(text));
      });
    });
    request.on("error", reject);
    request.end(JSON.stringify(body));
  });
}

const WAITING = `
const { parentPort, workerData } = require("node:worker_threads");
const { post } = require(workerData.here);
parentPort.on("message", async ({ url, body, port, flag }) => {
  try { port.postMessage({ found: await post(url, body) }); }
  catch (fault) { port.postMessage({ fault: String(fault.message) }); }
  Atomics.store(flag, 0, 1);
  Atomics.notify(flag, 0);
});`;

/** The way to the endpoint. */
class Door {
  #url;
  #worker;

  constructor(url) {
    this.#url = url;
  }

  ask(name, args, id) {
    return post(`${this.#url}/adapter/tool`, question(name, args, id)).then(allowed);
  }

  askNow(name, args) {
    return allowed(this.#now("/adapter/tool", question(name, args)));
  }

  ran(found, value, error) {
    return post(`${this.#url}/adapter/ran`, ended(found, value, error));
  }

  ranNow(found, value, error) {
    this.#now("/adapter/ran", ended(found, value, error));
  }

  helloNow(framework) {
    this.#now("/adapter/hello", { framework });
  }

  #now(path, body) {
    if (this.#worker === undefined) {
      this.#worker = new Worker(WAITING, { eval: true, workerData: { retrospan: true, here: __filename } });
      this.#worker.unref();
    }
    const flag = new Int32Array(new SharedArrayBuffer(4));
    const { port1, port2 } = new MessageChannel();
    const asked = { url: this.#url + path, body: JSON.parse(JSON.stringify(body)), port: port2, flag };
    this.#worker.postMessage(asked, [port2]);
    Atomics.wait(flag, 0, 0);
    const { found, fault } = receiveMessageOnPort(port1).message;
    port1.close();
    if (fault !== undefined) throw new Error(fault);
    return found;
  }
}

function question(name, args, id) {
  return { name, arguments: args ?? {}, tool_call_id: id };
}

function ended(found, value, error) {
  const told = error && { type: error.name ?? "Error", message: String(error.message ?? error) };
  return { call_id: found.call_id, value: value ?? null, error: told };
}

function allowed(found) {
  if (found.do === "stop") throw new NoRecordedAnswerError(found.message);
  return found;
}

/** What a tool returned when it was recorded. Throws the recorded error. */
function returned(found) {
  if (!found.error) return found.value;
  const kind = globalThis[found.error.type];
  const known = typeof kind === "function" && (kind === Error || kind.prototype instanceof Error);
  throw known ? new kind(found.error.message) : new Error(`${found.error.type}: ${found.error.message}`);
}

module.exports = { Door, post, returned };
