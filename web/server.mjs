// The back end of a served page: requests to `facet serve` (docs/openapi.yaml). A request to a busy server is repeated.

import { encodingNotice } from "./dom.mjs";

const BASE = "api/v1/";
const ATTEMPTS = 4;
/** Milliseconds after which a request has failed; the server needs no longer for any. */
const LONGEST_REQUEST = 20000;

class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }

  /** Whether there was no answer at all. The page tries again by itself, so this is no error to report. */
  get isConnection() {
    return this.status === 0;
  }
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}

async function errorOf(response) {
  let message = `the server answered ${response.status}`;
  try {
    message = (await response.json()).error.message;
  } catch {
    // Not an error of our API: the status is all there is to report.
  }
  return new ApiError(response.status, message);
}

async function ask(path, options = {}) {
  for (let attempt = 1; ; ++attempt) {
    let response;
    const limit = AbortSignal.timeout(LONGEST_REQUEST);
    try {
      const signal = options.signal ? AbortSignal.any([options.signal, limit]) : limit;
      response = await fetch(BASE + path, { ...options, signal });
    } catch (error) {
      if (options.signal?.aborted) throw options.signal.reason;
      dispatchEvent(new Event("facet-lost"));
      throw new ApiError(0, "The server cannot be reached. Is `facet serve` still running?");
    }
    if (response.ok) return response;
    const error = await errorOf(response);
    if (response.status !== 503 || attempt === ATTEMPTS) throw error;
    await pause(1000 * Math.min(5, Number(response.headers.get("Retry-After")) || 1), options.signal);
  }
}

function json(body, signal) {
  return { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
}

/** What the server last said about its images. */
let data = { available: true, ready: true };

export async function getModel(signal) {
  const summary = await (await ask("model", { signal })).json();
  data = summary.nearest;
  return summary;
}

/**
 * @param {number} commandScale the magnification that the commands name
 * @returns {Promise<{version: string, images: object[]}>}
 */
export async function generate(states, scale, signal, commandScale = scale) {
  return (await ask("generate", json({ states, scale, command_scale: commandScale }, signal))).json();
}

export async function decode(vectors, scale, signal) {
  return (await ask("decode", json({ z: vectors, scale }, signal))).json();
}

/** @param {string} image the photograph as a PNG in base64, which refined edits of it start from */
export async function edit(z, logVariance, edits, scale, signal, image) {
  return (await ask("edit", json({ z, log_variance: logVariance, edits, scale, image }, signal))).json();
}

export async function encode(blob, scale, signal) {
  const options = { method: "POST", headers: { "Content-Type": blob.type }, body: blob, signal };
  return (await ask(`encode?scale=${scale}`, options)).json();
}

/** @param {string[]} factors that count; none: all */
export async function nearest(z, count, signal, factors = []) {
  return (await ask("nearest", json({ z, count, factors }, signal))).json();
}

export async function getDirections(factor, component, signal) {
  const query = new URLSearchParams({ factor, component: String(component) });
  return (await ask(`directions?${query}`, { signal })).json();
}

/** Images of the data. @param {{factor, component, order, unlabelled, offset, count}} choice */
export async function getImages(choice, signal) {
  const known = Object.entries(choice).filter(([, value]) => value !== null && value !== undefined);
  return (await ask(`images?${new URLSearchParams(known)}`, { signal })).json();
}

export async function getImage(index, signal) {
  return (await ask(`image?index=${index}`, { signal })).json();
}

/** A factor's components and images spread over the data, with their latent vectors. @returns {Promise<{components: number[][], images: object[], sheet: string}>} */
export async function getMap(factor, images, signal) {
  return (await ask(`map?${new URLSearchParams({ factor, images })}`, { signal })).json();
}

/** What labels say about the components: nothing without images, and an error while they are encoded. The server need not be asked for that. */
export async function getStatements(signal) {
  if (!data.available) return { factors: [], properties: [], given: {} };
  if (!data.ready) throw new ApiError(503, encodingNotice(data));
  return (await ask("statements", { signal })).json();
}

/** Fixed images with their reconstructions. */
export async function getReconstructions(signal) {
  return (await ask("reconstructions", { signal })).json();
}

/** Names a factor, or one of its components; an empty name gives back its own. */
export async function setName(factor, component, name) {
  return (await ask("names", json(component === null ? { factor, name } : { factor, component, name }))).json();
}

export async function setLabels(labels) {
  return (await ask("labels", json(labels))).json();
}

export async function getMetrics(after, signal) {
  return (await ask(`metrics?after=${after}`, { signal })).json();
}

/** Pictures of the same samples at several checkpoints. @returns {Promise<{samples: number, pictures: object[]}>} */
export async function getProgress(signal) {
  const { samples, pictures } = await (await ask("progress", { signal })).json();
  const address = ({ phase, step, version }) => `${BASE}progress.png?${new URLSearchParams({ phase, step, v: version })}`;
  return { samples, pictures: pictures.map((picture) => ({ ...picture, address: address(picture) })) };
}

/** The mean pictures of a factor's components. @returns {Promise<{blob: Blob, columns: number, count: number}>} */
export async function getAtlas(factor, version, signal) {
  const query = new URLSearchParams({ factor, v: version });
  const response = await ask(`atlas?${query}`, { signal });
  return {
    blob: await response.blob(),
    columns: Number(response.headers.get("X-Facet-Columns")),
    count: Number(response.headers.get("X-Facet-Count")),
  };
}
