// The model of an exported page: the four ONNX files as functions of plain arrays (docs/export.md says what each takes).
// It follows the explorer's API, so that the page shows the same things with and without a server.

import { uniforms } from "./noise.mjs";

/** Pictures in one forward pass: more take longer and gain nothing. */
const BATCH = 16;
const MEASURED_DIMENSIONS = 64;
/** The log variance of a latent vector that is given without one. */
const POINT_LOG_VARIANCE = -12;

export class LocalModel {
  /**
   * @param {object} ort ONNX Runtime
   * @param {Record<string, Promise<object>>} sessions by file: encoder, decoder, assignments, sampler
   * @param {object} model model.json
   */
  constructor(ort, sessions, model) {
    Object.assign(this, { ort, sessions, model });
    /** Every factor at its heaviest component. */
    this.typical = model.factors.map((factor) =>
      factor.components.reduce((best, component) => (component.weight > best.weight ? component : best)).index);
  }

  async #run(file, feeds) {
    const session = await this.sessions[file];
    return session.run(feeds);
  }

  #floats(rows, ...shape) {
    return new this.ort.Tensor("float32", Float32Array.from(rows.flat()), [rows.length, ...shape]);
  }

  /**
   * Latent vectors by recipes.
   * @param {{components: number[], choice: number[], noise: number[], temperature: number[], offsets: number[]}[]} recipes
   * @returns {Promise<{z: number[][], code: number[][]}>}
   */
  async #sample(recipes) {
    const [factors, latents] = [this.model.factors.length, this.model.latents];
    const rows = (key) => recipes.map((recipe) => recipe[key]);
    const components = BigInt64Array.from(rows("components").flat(), BigInt);
    const { z, code } = await this.#run("sampler", {
      components: new this.ort.Tensor("int64", components, [recipes.length, factors]),
      choice: this.#floats(rows("choice"), factors),
      noise: this.#floats(rows("noise"), latents, 2),
      temperature: this.#floats(rows("temperature"), factors),
      offsets: this.#floats(rows("offsets"), latents),
    });
    return { z: split(z.data, latents), code: split(Array.from(code.data, Number), factors) };
  }

  /** A recipe for given positions within components. */
  #placed(components, offsets) {
    const [factors, latents] = [this.model.factors.length, this.model.latents];
    const zeros = Array(factors).fill(0);
    return { components, choice: zeros, noise: Array(2 * latents).fill(0.5), temperature: zeros, offsets };
  }

  /** The recipe of a state of `generate`. */
  #recipe(state) {
    const recipe = { components: [], choice: [], noise: [], temperature: [], offsets: Array(this.model.latents).fill(0) };
    this.model.factors.forEach((factor, index) => {
      const chosen = state.factors?.[factor.name] ?? {};
      const seed = chosen.seed ?? state.seed;
      recipe.components.push(chosen.component ?? -1);
      recipe.choice.push(...uniforms(1, seed, `component ${index}`));
      recipe.noise.push(...uniforms(2 * factor.dimensions, seed, `block ${index}`));
      recipe.temperature.push(state.temperature ?? 1);
      for (const { dimension, stddevs } of chosen.offsets ?? []) recipe.offsets[factor.first + dimension] = stddevs;
    });
    return recipe;
  }

  /** @returns {Promise<{z: number[][], code: number[][]}>} */
  generate(states) {
    return this.#sample(states.map((state) => this.#recipe(state)));
  }

  /** Pixels of latent vectors, each [C, H, W] in [0, 1]. @returns {Promise<number[][]>} */
  async decode(vectors) {
    const { channels, height, width } = this.model.shape;
    const pictures = [];
    for (let first = 0; first < vectors.length; first += BATCH) {
      const { pixels } = await this.#run("decoder", { z: this.#floats(vectors.slice(first, first + BATCH), this.model.latents) });
      pictures.push(...split(pixels.data, channels * height * width));
    }
    return pictures;
  }

  /** Pixels [C, H, W] in [0, 1] to the encoding of one image. */
  async encode(pixels) {
    const { channels, height, width } = this.model.shape;
    const { mean, log_variance: logVariance } = await this.#run("encoder", {
      pixels: new this.ort.Tensor("float32", pixels, [1, channels, height, width]),
    });
    return { z: Array.from(mean.data), logVariance: Array.from(logVariance.data) };
  }

  /** The components of encodings, with their probabilities by factor, and the positions within them. */
  async assign(vectors, logVariances) {
    const latents = this.model.latents;
    const answer = await this.#run("assignments", {
      mean: this.#floats(vectors, latents), log_variance: this.#floats(logVariances, latents),
    });
    return {
      code: split(Array.from(answer.code.data, Number), this.model.factors.length),
      offsets: split(answer.offsets.data, latents),
      probabilities: this.model.factors.map((factor) =>
        split(answer[`probabilities.${factor.name}`].data, factor.components.length)),
    };
  }

  /** The components that latent vectors are most likely in. */
  async codes(vectors) {
    const certain = vectors.map((vector) => vector.map(() => POINT_LOG_VARIANCE));
    return (await this.assign(vectors, certain)).code;
  }

  /** An encoding moved to other components. @param {{changes: Record<string, number>, keep_offset: boolean}[]} edits */
  async edit(z, logVariance, edits) {
    const { code, offsets } = await this.assign([z], [logVariance]);
    const { z: moved } = await this.#sample(edits.map(({ changes, keep_offset: keepOffset = true }) => {
      const [components, kept] = [[...code[0]], [...offsets[0]]];
      this.model.factors.forEach((factor, index) => {
        if (!(factor.name in changes)) return;
        components[index] = changes[factor.name];
        if (!keepOffset) kept.fill(0, factor.first, factor.first + factor.dimensions);
      });
      return this.#placed(components, kept);
    }));
    // What is not changed stays as it is, without the rounding of there and back.
    const vectors = moved.map((vector, row) => Object.keys(edits[row].changes).length === 0 ? z : vector);
    return { z: vectors, code: await this.codes(vectors) };
  }

  /** The dimensions of a component, sorted by how much one standard deviation changes the picture. */
  async directions(factorIndex, component) {
    const factor = this.model.factors[factorIndex];
    const components = this.typical.with(factorIndex, component);
    const rows = [];
    for (let dimension = 0; dimension < factor.dimensions; ++dimension) {
      for (const step of [1, -1]) {
        rows.push(this.#placed(components, Array(this.model.latents).fill(0).with(factor.first + dimension, step)));
      }
    }
    const { z } = await this.#sample(rows);
    const stddev = (dimension) => {
      const place = factor.first + dimension;
      return (z[2 * dimension][place] - z[2 * dimension + 1][place]) / 2;
    };
    // Only the widest where there are very many: each costs two pictures.
    const measured = Array.from({ length: factor.dimensions }, (_, dimension) => dimension)
      .sort((a, b) => stddev(b) - stddev(a)).slice(0, MEASURED_DIMENSIONS);
    const pictures = await this.decode(measured.flatMap((dimension) => [z[2 * dimension], z[2 * dimension + 1]]));
    return measured.map((dimension, place) => ({
      dimension, stddev: stddev(dimension), effect: 255 * rootMeanSquare(pictures[2 * place], pictures[2 * place + 1]),
    })).sort((a, b) => b.effect - a.effect);
  }
}

/** Half the difference of two pictures. */
function rootMeanSquare(up, down) {
  const sum = up.reduce((total, value, index) => total + ((value - down[index]) / 2) ** 2, 0);
  return Math.sqrt(sum / up.length);
}

/** The rows of a flat array. */
function split(data, size) {
  return Array.from({ length: data.length / size }, (_, row) => Array.from(data.slice(row * size, (row + 1) * size)));
}
