// What the browser tests share: a small model that is trained in seconds, and servers of it.
import { execFileSync, spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const program = process.env.FACET_PROGRAM;
export const environment = { ...process.env, OMP_NUM_THREADS: "1" };
const here = dirname(fileURLToPath(import.meta.url));

/** The widths of windows that the page is made for. */
export const WIDTHS = [390, 844, 1024, 1280, 1920];

/** Trains the model of explorer.json. */
export function train(run, options = []) {
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

/** Starts `facet serve` and waits for its address. */
export function serve(path, options = [], port = 0) {
  const words = ["serve", path, "--port", String(port), ...options];
  const child = spawn(program, words, { env: environment, stdio: ["ignore", "pipe", "pipe"] });
  return new Promise((resolve, reject) => {
    let [said, warned] = ["", ""];
    child.stderr.setEncoding("utf8").on("data", (text) => (warned += text));
    child.stdout.setEncoding("utf8").on("data", (text) => {
      said += text;
      const address = /http:\/\/[^\s]+/.exec(said);
      if (address) resolve({ child, address: address[0], warning: () => warned });
    });
    child.on("exit", (status) => reject(new Error(`facet serve ended with status ${status}: ${warned}`)));
  });
}

export async function stop({ child }) {
  const ended = new Promise((resolve) => child.on("exit", resolve));
  child.kill();
  await ended;
}
