// Shuts the sockets of the program but the way to the endpoint.
"use strict";

const net = require("node:net");

/** Refuse every connection but to the endpoint's port on the loopback, and to pipes of the program's own. */
function block(port) {
  const { connect } = net.Socket.prototype;
  net.Socket.prototype.connect = function (...args) {
    // The arguments in order, or once already brought into it: an array with the options first.
    const given = Array.isArray(args[0]) ? args[0][0] : args[0];
    const [to, host] = typeof given === "object" && given !== null ? [given.port, given.host] : [given, args[1]];
    const piped = given?.path && to === undefined;
    if (piped || (Number(to) === port && host === "127.0.0.1")) return connect.apply(this, args);
    const why = "a strict replay has no network; use --mode live or --tools live for real calls";
    process.nextTick(() => this.destroy(Object.assign(new Error(why), { code: "ECONNREFUSED" })));
    return this;
  };
}

module.exports = { block };
