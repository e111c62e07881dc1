// What the browser tests share: a small model that is trained in seconds, servers of it, and a browser that visits them.
import { execFileSync, spawn } from "node:child_process";
import assert from "node:assert/strict";
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, afterEach } from "node:test";
import { fileURLToPath } from "node:url";
import { Browser, DEADLINE, findBrowser, pause } from "./browser.mjs";

export const program = process.env.FACET_PROGRAM;
/** A run of explorer.json that was trained for all test files (model_test.mjs); without it each trains its own. */
export const sharedModel = process.env.FACET_WEB_MODEL;
export const environment = { ...process.env, OMP_NUM_THREADS: "1" };
const here = dirname(fileURLToPath(import.meta.url));

/** The widths of windows that the page is made for. */
export const WIDTHS = [390, 844, 1024, 1280, 1920];

/** The options that change settings of a config. */
export function settings(...changes) {
  return changes.flatMap((change) => ["--set", change]);
}

/** A finished run of explorer.json. */
export function train(run, options = []) {
  if (sharedModel && options.length === 0) {
    cpSync(sharedModel, run, { recursive: true, preserveTimestamps: true });
    return;
  }
  const words = ["train", join(here, "explorer.json"), "--out", run, ...options];
  execFileSync(program, words, { env: environment, stdio: "ignore" });
}

/** Starts a training of the model of explorer.json, which goes on until it is killed. */
export function begin(run, options) {
  return spawn(program, ["train", join(here, "explorer.json"), "--out", run, ...options], { env: environment, stdio: "ignore" });
}

/** Runs a command of the program; gives what it prints. */
export function facet(...words) {
  return execFileSync(program, words, { env: environment, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}

const cleaning = [];

/** Does something after the tests of a file; what was begun last ends first. */
export function finallyDo(work) {
  if (cleaning.length === 0) {
    after(async () => {
      for (const each of cleaning.reverse()) await each();
    });
  }
  cleaning.push(work);
}

/** A folder for the files of a test, which is removed after it. */
export function temporaryFolder(name) {
  const folder = mkdtempSync(join(tmpdir(), `facet-${name}-`));
  finallyDo(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const axe = join(here, "../../build/axe-core/axe.min.js");

/** Fails if axe-core, if scripts/fetch-npm has fetched it, finds something in the page's present state that people with a disability
 * cannot use. All rules are tried, or those named. */
export async function expectAccessible(browser, state = "", rules) {
  if (!existsSync(axe) || !(await browser.evaluate("location.protocol === 'http:'"))) return;
  if (!(await browser.evaluate("'axe' in window"))) await browser.evaluate(readFileSync(axe, "utf8") + ";0");
  assert.deepEqual(await browser.evaluate(`(async () => {
    const { violations } = await axe.run(document, { resultTypes: ["violations"], runOnly: ${JSON.stringify(rules)} });
    return violations.map(({ id, nodes }) => id + ": " + nodes.map((node) => node.html).join(" ").slice(0, 300));
  })()`), [], state);
}

/** A browser with a window of 1280 by 900 pixels, which ends after the tests; so do all servers. The state in which each test
 * leaves the page is checked with axe-core. */
export async function startBrowser() {
  finallyDo(() => Promise.all([...running].map((server) => stop(server))));
  const browser = await Browser.start(findBrowser());
  finallyDo(() => browser.end());
  await browser.resize(1280, 900);
  afterEach(() => expectAccessible(browser));
  return browser;
}

/** The set-up of a test file: a trained run in a folder of its own, its server, and a browser. */
export async function visit(name, { training = [], serving = [] } = {}) {
  const folder = temporaryFolder(name);
  const run = join(folder, "run");
  train(run, training);
  const browser = await startBrowser();
  return { folder, run, browser, server: await serve(run, serving) };
}

/** Draws labelled portraits that the model was not trained on; gives the path of their pack. */
export function drawPortraits(folder, count) {
  const pack = join(folder, "portraits.safetensors");
  facet("import", "portraits", "--count", String(count), "--size", "16", "--seed", "9", "--out", pack);
  return pack;
}

/** The file that a click on the selector downloads. */
export async function downloaded(browser, selector) {
  const known = new Set(readdirSync(browser.folder));
  await browser.click(selector);
  for (let waited = 0; waited < DEADLINE; waited += 50) {
    const name = readdirSync(browser.folder).find((candidate) => !known.has(candidate) && candidate.endsWith(".png"));
    if (name) return { name, bytes: readFileSync(join(browser.folder, name)) };
    await pause(50);
  }
  throw new Error("nothing was downloaded");
}

const running = new Set();

/** Starts `facet serve` and waits for its address. */
export function serve(path, options = [], port = 0) {
  return serveWith(["serve", path, "--port", String(port), ...options]);
}

/** Starts a command that serves, and waits for its address. */
export function serveWith(words) {
  const child = spawn(program, words, { env: environment, stdio: ["ignore", "pipe", "pipe"] });
  let [said, warned] = ["", ""];
  const server = { child, warning: () => warned };
  running.add(server);
  return new Promise((resolve, reject) => {
    child.stderr.setEncoding("utf8").on("data", (text) => (warned += text));
    child.stdout.setEncoding("utf8").on("data", (text) => {
      said += text;
      const address = /http:\/\/[^\s]+/.exec(said);
      if (address) resolve(Object.assign(server, { address: address[0] }));
    });
    child.on("exit", (status) => {
      running.delete(server);
      reject(new Error(`facet ${words[0]} ended with status ${status}: ${warned}`));
    });
  });
}

export async function stop({ child }, signal = "SIGTERM") {
  const ended = new Promise((resolve) => child.on("exit", resolve));
  child.kill(signal);
  await ended;
}
