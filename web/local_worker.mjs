// The thread of an exported page that computes: it loads the model and answers the calls of local.mjs, one after the
// other, so that the page never waits for a network.

import * as ort from "./ort.mjs";
import { LocalModel } from "./local_model.mjs";
import { fromImageData, readImage, toImageData, toPng } from "./local_pictures.mjs";

const SESSIONS = { executionProviders: ["wasm"], graphOptimizationLevel: "all" };
let model;

/** The ONNX files, which local.mjs sends as they arrive. */
const arrivals = new Map();
function arrived(name) {
  if (!arrivals.has(name)) {
    const arrival = {};
    arrival.promise = new Promise((resolve, reject) => Object.assign(arrival, { resolve, reject }));
    arrivals.set(name, arrival);
  }
  return arrivals.get(name);
}

async function begin(description, binary) {
  ort.env.wasm.numThreads = 1; // more need headers that file hosts do not send
  ort.env.wasm.wasmBinary = binary;
  ort.env.wasm.wasmPaths = { mjs: new URL("./ort-wasm.mjs", import.meta.url).href };
  const session = async (file) => ort.InferenceSession.create(new Uint8Array(await arrived(file).promise), SESSIONS);
  // One after the other, and first what the first picture needs.
  const sampler = session("sampler");
  const decoder = sampler.then(() => session("decoder"));
  const assignments = decoder.then(() => session("assignments"));
  const encoder = assignments.then(() => session("encoder"));
  const sessions = { sampler, decoder, assignments, encoder };
  for (const each of Object.values(sessions)) each.catch(() => {}); // reported by the calls that need it
  model = new LocalModel(ort, sessions, description);
  encoder.then(() => postMessage({ complete: true }), () => {});
}

function byFactor(code) {
  return Object.fromEntries(model.model.factors.map((factor, index) => [factor.name, code[index]]));
}

async function drawn({ z, code }, scale) {
  const pictures = await model.decode(z);
  const images = [];
  for (let row = 0; row < z.length; ++row) {
    const png = await toPng(toImageData(pictures[row], model.model.shape), scale);
    images.push({ png, z: z[row], components: byFactor(code[row]), command: "" });
  }
  return { images };
}

function shapeText(width, height, channels) {
  return `${width}x${height} ${channels === 1 ? "grey" : "RGB"}`;
}

const calls = {
  generate: async (states, scale) => drawn(await model.generate(states), scale),
  decode: async (vectors, scale) => drawn({ z: vectors, code: await model.codes(vectors) }, scale),
  edit: async (z, logVariance, edits, scale) => drawn(await model.edit(z, logVariance, edits), scale),
  directions: async (factor, component) => ({ directions: await model.directions(factor, component) }),

  async encode(blob, scale) {
    const shape = model.model.shape;
    const { image, original } = await readImage(blob, shape);
    const { z, logVariance } = await model.encode(fromImageData(image, shape.channels));
    const { code, probabilities } = await model.assign([z], [logVariance]);
    const [picture] = await model.decode([z]);
    const same = original.width === shape.width && original.height === shape.height;
    const seen = toImageData(fromImageData(image, shape.channels), shape);
    return {
      notice: same ? null : `${shapeText(original.width, original.height, 3)} made `
        + `${shapeText(shape.width, shape.height, shape.channels)}: cropped to the centre, resized and converted`,
      z, log_variance: logVariance,
      factors: model.model.factors.map((factor, index) => ({
        name: factor.name, component: code[0][index], probability: probabilities[index][0][code[0][index]],
        probabilities: probabilities[index][0],
      })),
      input: await toPng(seen, scale),
      reconstruction: await toPng(toImageData(picture, shape), scale),
    };
  },
};

addEventListener("message", async ({ data }) => {
  if (data.file) return arrived(data.file).resolve(data.bytes);
  if (data.failed) return arrived(data.failed).reject(new Error(data.message));
  if (data.begin) return begin(data.begin, data.binary);
  try {
    postMessage({ answer: await calls[data.call](...data.values) });
  } catch (error) {
    postMessage({ error: error.message ?? String(error) });
  }
});
