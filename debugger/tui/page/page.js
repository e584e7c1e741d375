// What the terminal's own script leaves out: keys go to the screen at once, and a page that ended says why.
"use strict";

(() => {
  const LEFT = 1000, FAULT = 1011;

  // Kept from the start, since the terminal's script makes its socket itself and hands it to nobody.
  window.WebSocket = class extends window.WebSocket {
    constructor(...where) {
      super(...where);
      this.addEventListener("close", (event) => tell(event.code, event.reason));
    }
  };

  function tell(code, reason) {
    const why = document.querySelector("#why");
    if (code === LEFT) why.textContent = "This screen was left.";
    else if (code === FAULT) why.textContent = reason;
    else document.querySelector("#gone").hidden = false;
    // What it stands in is shown by the terminal's script, which hears of the end after this one.
    setTimeout(() => document.querySelector("#again").focus());
  }

  // Whoever opens a page types: without this the first key would be lost until the page was clicked.
  document.addEventListener("DOMContentLoaded", () => {
    const drawn = new MutationObserver(() => {
      if (!document.body.classList.contains("-first-byte")) return;
      drawn.disconnect();
      document.querySelector(".xterm-helper-textarea").focus();
    });
    drawn.observe(document.body, { attributeFilter: ["class"] });
  });
})();
