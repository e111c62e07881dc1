// Whether the server answers, as the page shows it: a ring over the picture when an answer takes long, and a line in the
// header while there is no server. The page goes on asking, and draws what was requested when the server is back.

import { show } from "./dom.mjs";

/** Milliseconds that an answer may take before the page says that it waits. */
const PATIENCE = 300;

export class Connection {
  #timer;

  /** @param {HTMLElement} line in the header @param {HTMLElement} frame of the picture */
  constructor(line, frame) {
    Object.assign(this, { line, frame, isLost: false });
    addEventListener("facet-waiting", ({ detail }) => this.#waiting(detail));
  }

  lost() {
    this.isLost = true;
    this.line.textContent = "Reconnecting: the server does not answer";
    show(this.line, true);
    document.documentElement.classList.add("lost");
  }

  found() {
    if (!this.isLost) return;
    this.isLost = false;
    this.line.textContent = "";
    show(this.line, false);
    document.documentElement.classList.remove("lost");
  }

  /** @param {boolean} waiting for the picture */
  #waiting(waiting) {
    clearTimeout(this.#timer);
    if (waiting) this.#timer = setTimeout(() => this.frame.classList.add("waiting"), PATIENCE);
    else this.frame.classList.remove("waiting");
  }
}

/** Says that the picture is waited for, or no longer. */
export function waitForPicture(waiting) {
  dispatchEvent(new CustomEvent("facet-waiting", { detail: waiting }));
}
