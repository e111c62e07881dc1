// What the page asks for, from one of two back ends with the same functions: the server of `facet serve` (server.mjs), or
// the model itself in this browser, in a page that `facet export page` wrote (local.mjs). One rule for the whole page is
// here too: of several requests for the same part of the page only the newest is shown.

/** Whether the model runs in this browser. */
export const isLocal = globalThis.document?.documentElement.dataset.backend === "local";

export const {
  getModel, generate, decode, edit, encode, nearest, getDirections, getMetrics, getAtlas, getImages, getImage, getStatements,
  getReconstructions, getProgress, getMap, setName, setLabels,
} = await (isLocal ? import("./local.mjs") : import("./server.mjs"));

/** Milliseconds after which a request is cancelled when a newer one arrives. */
const PATIENCE = 400;

/**
 * Runs one task at a time and keeps only the newest of the waiting ones. So answers arrive in the order of their
 * requests, and a slider that moves faster than the server answers does not build up a queue.
 */
export class Newest {
  #waiting = null;
  #controller = null;
  #began = 0;

  /** @param {(error: Error) => void} report */
  constructor(report) {
    this.report = report;
  }

  /** @param {(signal: AbortSignal) => Promise<void>} task sends a request and shows the answer */
  request(task) {
    this.#waiting = task;
    if (this.#controller === null) this.#work();
    else if (performance.now() - this.#began > PATIENCE) this.#controller.abort();
  }

  async #work() {
    while (this.#waiting !== null) {
      const task = this.#waiting;
      this.#waiting = null;
      this.#controller = new AbortController();
      this.#began = performance.now();
      try {
        await task(this.#controller.signal);
      } catch (error) {
        if (error.name !== "AbortError") this.report(error);
      }
    }
    this.#controller = null;
  }
}
