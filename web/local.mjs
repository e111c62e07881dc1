// The back end of a page that `facet export page` wrote: the model runs in this browser, in a thread of its own
// (local_worker.mjs). Everything is fetched when the page opens, so that it goes on working without a network.

const FILES = ["sampler", "decoder", "assignments", "encoder"];
const FOLDER = "model/";
/** Bytes of an image; the browser itself limits what it can read. */
const LARGEST_IMAGE = 1 << 30;

async function fetched(path) {
  let response;
  try {
    response = await fetch(path);
  } catch {
    throw new Error(`'${path}' cannot be loaded. Is there a network?`);
  }
  if (!response.ok) throw new Error(`'${path}' cannot be loaded: the file host answered ${response.status}`);
  return response;
}

const worker = new Worker(new URL("./local_worker.mjs", import.meta.url), { type: "module" });
const description = fetched(FOLDER + "model.json").then((response) => response.json());
const page = fetched(FOLDER + "page.json").then((response) => response.json());

/** The runtime's binary comes compressed; a host that decompresses it by itself does no harm. */
async function unpacked(bytes) {
  const [first, second] = new Uint8Array(bytes, 0, 2);
  if (first !== 0x1f || second !== 0x8b) return bytes;
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** Sends the worker what it computes with. A file that cannot be loaded is an error of the calls that need it. */
async function load() {
  const bytes = async (path) => (await fetched(path)).arrayBuffer();
  const waiting = FILES.map((file) => bytes(`${FOLDER}${file}.onnx`));
  for (const each of waiting) each.catch(() => {}); // awaited below
  const binary = await unpacked(await bytes("ort.bin"));
  worker.postMessage({ begin: await description, binary }, [binary]);
  for (const [index, file] of FILES.entries()) {
    try {
      const content = await waiting[index];
      worker.postMessage({ file, bytes: content }, [content]);
    } catch (error) {
      worker.postMessage({ failed: file, message: error.message });
    }
  }
}
const loading = load();
loading.catch(() => {}); // reported by every call

// One call at a time is in the worker; those that wait can be cancelled.
const queue = [];
let current = null;
let broken = null;

function next() {
  if (current !== null || queue.length === 0) return;
  current = queue.shift();
  worker.postMessage(current.message);
}

worker.addEventListener("message", ({ data }) => {
  if (data.complete) return loaded();
  const { resolve, reject } = current;
  current = null;
  if (data.error === undefined) resolve(data.answer);
  else reject(new Error(data.error));
  next();
});

/** A browser that cannot run the worker at all says so here. */
worker.addEventListener("error", (event) => {
  broken = new Error(`This browser cannot run the model: ${event.message ?? "its worker did not start"}`);
  for (const { reject } of [...(current ? [current] : []), ...queue.splice(0)]) reject(broken);
  current = null;
});

async function call(name, values, signal) {
  await loading;
  if (broken) throw broken;
  return new Promise((resolve, reject) => {
    const entry = { message: { call: name, values }, resolve, reject };
    queue.push(entry);
    signal?.addEventListener("abort", () => {
      if (queue.includes(entry)) queue.splice(queue.indexOf(entry), 1);
      reject(signal.reason);
    });
    next();
  });
}

// What is written as data: mean pictures of the components, and the curves of training.
const atlases = page.then((known) => known.atlases.map(async (atlas) => {
  const blob = await (await fetched(atlas.file)).blob();
  return { blob, columns: atlas.columns, count: atlas.count };
}));
const records = page.then(async ({ training }) => {
  if (training.lines === 0) return [];
  const text = await (await fetched(FOLDER + "metrics.jsonl")).text();
  return text.split("\n").filter((line) => line !== "").map((line, index) => ({ line: index + 1, ...parsed(line) }));
});
atlases.catch(() => {});
records.catch(() => {});

function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return {}; // a line that was cut short
  }
}

/** Marks the page when everything is in the browser. */
async function loaded() {
  await Promise.all([...(await atlases), records]);
  document.documentElement.dataset.loaded = "true";
}

export async function getModel() {
  const [model, { run, training }] = [await description, await page];
  return {
    run, program: model.program, ready: true, training, model: { version: "exported", ...model },
    write: false, nearest: { available: false, ready: false }, limits: { image_bytes: LARGEST_IMAGE },
  };
}

export function generate(states, scale, signal) {
  return call("generate", [states, scale], signal);
}

export function decode(vectors, scale, signal) {
  return call("decode", [vectors, scale], signal);
}

export function edit(z, logVariance, edits, scale, signal) {
  return call("edit", [z, logVariance, edits, scale], signal);
}

export function encode(blob, scale, signal) {
  return call("encode", [blob, scale], signal);
}

export async function getDirections(name, component, signal) {
  const index = (await description).factors.findIndex((factor) => factor.name === name);
  return call("directions", [index, component], signal);
}

export async function getAtlas(name) {
  const index = (await description).factors.findIndex((factor) => factor.name === name);
  return (await atlases)[index];
}

export async function getMetrics(after) {
  const { training } = await page;
  const all = await records;
  const last = all.findLast((record) => Array.isArray(record.factors));
  const living = (last?.factors ?? []).map(({ name, living: count }) => ({ name, living: count }));
  return { lines: all.length, after, more: false, restarted: false, records: all.slice(after), training, living };
}

/** An exported page has no data set to show. */
export async function getImages() {
  return { total: 0, images: [], sheet: "" };
}

export async function getImage() {
  throw new Error("An exported page has no data set");
}

export async function getMap() {
  throw new Error("An exported page has no data set");
}

export async function getStatements() {
  return { factors: [], properties: [], given: {} };
}

export async function getReconstructions() {
  return { pairs: [] };
}

export async function getProgress() {
  return { samples: 0, pictures: [] };
}

export async function setName() {
  throw new Error("An exported page cannot be changed");
}

export const setLabels = setName;

/** An exported page has no data set to search. */
export async function nearest() {
  return { images: [] };
}
