// Drives Debian's Chromium over its DevTools protocol, through Chromium's own pipe, so that no driver program and no
// package is needed. Tests evaluate expressions in the page; clicks, keys and files arrive as from a user.
import { spawn } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** Milliseconds to wait for what should happen soon; a busy machine may take long. */
export const DEADLINE = Number(process.env.FACET_DEADLINE ?? 90000);

/** True in the page when it shows the picture that its address means. */
export const SETTLED = "document.getElementById('picture').getAttribute('aria-busy') === 'false'";

/** The path of the browser; null if there is none. */
export function findBrowser() {
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    for (const folder of process.env.PATH.split(delimiter)) {
      const path = join(folder, name);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // Not here.
      }
    }
  }
  return null;
}

export function pause(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** One browser with one page. */
export class Browser {
  #next = 0;
  #answers = new Map();
  #received = "";
  #trace = null;
  /** Console errors and warnings, uncaught exceptions, and failed requests. */
  complaints = [];

  static async start(path) {
    const browser = new Browser();
    browser.folder = mkdtempSync(join(tmpdir(), "facet-browser-"));
    const options = [
      "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
      "--disable-extensions", "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
      "--force-color-profile=srgb", `--user-data-dir=${join(browser.folder, "profile")}`, "about:blank",
    ];
    browser.process = spawn(path, options, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    browser.process.stdio[4].setEncoding("utf8");
    browser.process.stdio[4].on("data", (text) => browser.#receive(text));
    browser.process.on("exit", () => browser.#answers.forEach(({ reject }) => reject(new Error("the browser has ended"))));
    const { targetInfos } = await browser.send("Target.getTargets");
    const { targetId } = targetInfos.find((target) => target.type === "page");
    browser.session = (await browser.send("Target.attachToTarget", { targetId, flatten: true })).sessionId;
    await browser.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: browser.folder, eventsEnabled: false });
    for (const domain of ["Page", "Runtime", "Log", "DOM"]) await browser.send(`${domain}.enable`);
    return browser;
  }

  #receive(text) {
    const messages = (this.#received + text).split("\0");
    this.#received = messages.pop();
    for (const message of messages.map((line) => JSON.parse(line))) {
      if (message.id !== undefined) this.#settle(message);
      else this.#notice(message);
    }
  }

  #settle({ id, result, error }) {
    const { resolve, reject, method } = this.#answers.get(id);
    this.#answers.delete(id);
    if (error) reject(new Error(`${method}: ${error.message}`));
    else resolve(result);
  }

  #notice({ method, params }) {
    if (method === "Tracing.dataCollected") this.#trace.events.push(...params.value);
    if (method === "Tracing.tracingComplete") this.#trace.ended();
    if (method === "Runtime.exceptionThrown") {
      this.complaints.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    }
    if (method === "Runtime.consoleAPICalled" && ["error", "warning", "assert"].includes(params.type)) {
      this.complaints.push(params.args.map((argument) => argument.value ?? argument.description).join(" "));
    }
    if (method === "Log.entryAdded" && params.entry.level === "error") {
      this.complaints.push(`${params.entry.text} ${params.entry.url ?? ""}`);
    }
  }

  send(method, params = {}) {
    const id = ++this.#next;
    const message = { id, method, params };
    if (this.session) message.sessionId = this.session;
    this.process.stdio[3].write(JSON.stringify(message) + "\0");
    return new Promise((resolve, reject) => this.#answers.set(id, { resolve, reject, method }));
  }

  /** The value of a JavaScript expression in the page; promises are awaited. */
  async evaluate(expression) {
    const options = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = await this.send("Runtime.evaluate", options);
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  /** Whether an expression is true; false where the page gives way to the next one meanwhile. */
  async #holds(expression) {
    try {
      return await this.evaluate(expression);
    } catch (error) {
      if (/target navigated or closed|context was destroyed|Cannot find.* context/.test(error.message)) return false;
      throw error;
    }
  }

  /** Waits until an expression is true, on the next page if need be. */
  async until(expression, deadline = DEADLINE) {
    const end = Date.now() + deadline;
    while (!(await this.#holds(expression))) {
      if (Date.now() > end) {
        throw new Error(`not true after ${deadline / 1000} s: ${expression}\n${this.complaints.join("\n")}`);
      }
      await pause(30);
    }
  }

  /** The events of some categories of Chromium's trace while `work` is done. */
  async trace(includedCategories, work) {
    this.#trace = { events: [] };
    const complete = new Promise((resolve) => (this.#trace.ended = resolve));
    await this.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories } });
    await work();
    await this.send("Tracing.end");
    await complete;
    return this.#trace.events;
  }

  async leave() {
    await this.send("Page.navigate", { url: "about:blank" });
  }

  /** Loads an address, even if only its part after # differs from the current one. */
  async open(address) {
    await this.leave();
    await this.send("Page.navigate", { url: address });
    await this.until("document.readyState === 'complete' && location.protocol === 'http:'");
  }

  text(id) {
    return this.evaluate(`document.getElementById("${id}").textContent`);
  }

  /** The address of a picture, which has its bytes. */
  source(id = "picture") {
    return this.evaluate(`document.getElementById("${id}").src`);
  }

  /** Runs an action and waits until the picture has changed. */
  async changes(action, id = "picture") {
    const old = await this.source(id);
    await action();
    await this.until(`document.getElementById("${id}").src !== ${JSON.stringify(old)} && ${SETTLED}`);
  }

  /** Clicks in the middle of an element as a pointer does: an element that covers it would get the click. */
  async click(selector) {
    const { x, y } = await this.evaluate(`(() => {
      const node = document.querySelector(${JSON.stringify(selector)});
      node.scrollIntoView({ block: "center", behavior: "instant" });
      const area = node.getBoundingClientRect();
      return { x: area.left + area.width / 2, y: area.top + area.height / 2 };
    })()`);
    for (const type of ["mousePressed", "mouseReleased"]) {
      await this.send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
    }
  }

  /** Presses a key, such as " ", "Tab" or "ArrowRight", on the focused element. */
  async press(key) {
    const code = { " ": 32, Tab: 9, Enter: 13, ArrowRight: 39, ArrowLeft: 37, Home: 36, End: 35 }[key];
    const text = key === " " ? " " : key === "Enter" ? "\r" : undefined;
    await this.send("Input.dispatchKeyEvent", { type: "keyDown", key, windowsVirtualKeyCode: code, text });
    await this.send("Input.dispatchKeyEvent", { type: "keyUp", key, windowsVirtualKeyCode: code });
  }

  async chooseFile(selector, path) {
    const { root } = await this.send("DOM.getDocument");
    const { nodeId } = await this.send("DOM.querySelector", { nodeId: root.nodeId, selector });
    await this.send("DOM.setFileInputFiles", { nodeId, files: [path] });
  }

  /** Sets the size of the window; `phone` emulates a mobile device. */
  async resize(width, height, { phone = false, dark = false, density = 1 } = {}) {
    await this.send("Emulation.setDeviceMetricsOverride", { width, height, deviceScaleFactor: density, mobile: phone });
    await this.send("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }] });
  }

  /** A PNG of the window. */
  async screenshot() {
    return Buffer.from((await this.send("Page.captureScreenshot", { format: "png" })).data, "base64");
  }

  async end() {
    const ended = new Promise((resolve) => this.process.on("exit", resolve));
    this.session = null;
    this.send("Browser.close").catch(() => {}); // unlike a signal, waits for its child processes
    await ended;
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
}
