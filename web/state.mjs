// The state of the page as one value, and how it is written to the address and read back. Everything here is pure, so
// the page, a shared address and the tests follow the same rules. A state only holds names; `fitted` checks them
// against the served model.

/**
 * What was chosen for one factor.
 * @typedef {object} Choice
 * @property {string|null} component  name of a value, or an index as text; null draws it from the weights
 * @property {number|null} seed       null uses the seed of the picture
 * @property {boolean} held           redrawing the picture does not change it
 * @property {Map<number, number>} offsets  standard deviations by dimension of the factor's block
 */
/**
 * A picture drawn from the prior.
 * @typedef {object} Picture
 * @property {number} seed
 * @property {number} temperature
 * @property {Map<string, Choice>} factors  factors without an entry are drawn
 */
/**
 * An encoded image and the changes to it.
 * @typedef {object} Upload
 * @property {number[]} z
 * @property {number[]} logVariance
 * @property {Map<string, string>} changes  component by factor
 * @property {boolean} keepOffset
 */
/**
 * @typedef {object} State
 * @property {"explore"|"image"|"data"|"training"} view
 * @property {boolean} smooth
 * @property {Picture} picture
 * @property {Picture|null} pinned      the picture to compare with
 * @property {[string, string]|null} grid  the factors in the rows and in the columns of the combinations
 * @property {Upload|null} upload
 * @property {"mean"|"live"|"difference"} thumbnails
 * @property {{factor: string|null, component: number|null, order: string, unlabelled: string|null}} data  the images that are listed
 */

export const VIEWS = ["explore", "image", "data", "training"];
/** What the thumbnails of components show: their means, the picture with them, or where it differs. */
export const THUMBNAILS = ["mean", "live", "difference"];
export const IMAGE_ORDERS = ["typical", "borderline", "outliers", "index"];
export const LARGEST_OFFSET = 4;
const LARGEST_TEMPERATURE = 2;
/** Below 1, because the first picture should be a typical one and at 1 rare draws occur too. */
const FIRST_TEMPERATURE = 0.7;
const RESERVED = new Set(["view", "seed", "t", "smooth", "pin", "grid", "z", "var", "edit", "keep", "images", "thumbs"]);

/** @returns {Choice} */
export function freeChoice() {
  return { component: null, seed: null, held: false, offsets: new Map() };
}

/** @returns {State} */
export function initialState() {
  return {
    view: "explore",
    smooth: false,
    picture: { seed: 1, temperature: FIRST_TEMPERATURE, factors: new Map() },
    pinned: null,
    grid: null,
    upload: null,
    thumbnails: "mean",
    data: { factor: null, component: null, order: "typical", unlabelled: null },
  };
}

/** @param {Picture} picture @param {string} name @returns {Choice} */
export function choiceOf(picture, name) {
  return picture.factors.get(name) ?? freeChoice();
}

/** A picture with one factor's choice changed. @returns {Picture} */
export function withChoice(picture, name, changes) {
  const factors = new Map(picture.factors);
  const choice = { ...choiceOf(picture, name), ...changes };
  if (isFree(choice)) factors.delete(name);
  else factors.set(name, choice);
  return { ...picture, factors };
}

function isFree(choice) {
  return choice.component === null && choice.seed === null && !choice.held && choice.offsets.size === 0;
}

/** Chooses another component. Offsets are dropped: they only have a meaning within the old one. @returns {Picture} */
export function choose(picture, name, component) {
  return withChoice(picture, name, { component, offsets: new Map() });
}

/** Redraws one factor: its position within the component, and the component itself if none was chosen. */
export function redrawFactor(picture, name, seed) {
  return withChoice(picture, name, { seed, offsets: new Map() });
}

/** Redraws everything that is not held. @returns {Picture} */
export function redrawAll(picture, seed) {
  const factors = new Map();
  for (const [name, choice] of picture.factors) {
    const next = choice.held
      ? { ...choice, seed: choice.seed ?? picture.seed }
      : { ...choice, seed: null, offsets: new Map() };
    if (!isFree(next)) factors.set(name, next);
  }
  return { ...picture, seed, factors };
}

/** Holds or releases a factor. Its seed is stored, so that it stays the same when other factors change. */
export function toggleHold(picture, name) {
  const choice = choiceOf(picture, name);
  return withChoice(picture, name, { held: !choice.held, seed: choice.seed ?? picture.seed });
}

/** Moves one factor along one dimension. @returns {Picture} */
export function move(picture, name, dimension, stddevs) {
  const offsets = new Map(choiceOf(picture, name).offsets);
  if (stddevs === 0) offsets.delete(dimension);
  else offsets.set(dimension, stddevs);
  return withChoice(picture, name, { offsets });
}

// The address: `#seed=7&t=0.8&glasses=with&first=3@17!~2:1.5`. The value of a factor is its component, @seed,
// ! if it is held, then ~dimension:stddevs,... . A dot precedes a factor whose name is one of the page's own keys.

/** Percent-encodes text so that it contains none of the characters with a meaning in the address. */
function escaped(text) {
  return encodeURIComponent(text).replace(/[!~*'()]/g, (sign) => "%" + sign.charCodeAt(0).toString(16).toUpperCase());
}

function keyOf(name) {
  return escaped(RESERVED.has(name) || name.startsWith(".") ? "." + name : name);
}

function nameOf(key) {
  return key.startsWith(".") ? key.slice(1) : key;
}

function choiceText(choice) {
  let text = choice.component === null ? "" : escaped(choice.component);
  if (choice.seed !== null) text += "@" + choice.seed;
  if (choice.held) text += "!";
  const offsets = [...choice.offsets].sort((a, b) => a[0] - b[0]);
  if (offsets.length > 0) text += "~" + offsets.map(([dimension, value]) => `${dimension}:${value}`).join(",");
  return text;
}

/** @returns {Choice|null} null if the text is not a choice */
function readChoice(text) {
  const parts = /^([^@!~]*)(?:@(\d{1,16}))?(!)?(?:~([-\d.:,]+))?$/.exec(text);
  if (parts === null) return null;
  const choice = freeChoice();
  if (parts[1] !== "") choice.component = decodeURIComponent(parts[1]);
  if (parts[2] !== undefined) choice.seed = readSeed(parts[2]);
  choice.held = parts[3] !== undefined;
  for (const pair of parts[4]?.split(",") ?? []) {
    const [dimension, value] = pair.split(":").map((number) => (number === "" ? NaN : Number(number)));
    if (!Number.isInteger(dimension) || dimension < 0 || !(Math.abs(value) <= LARGEST_OFFSET)) return null;
    if (value !== 0) choice.offsets.set(dimension, value);
  }
  return choice.seed === undefined ? null : choice;
}

function readSeed(text) {
  const seed = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(seed) ? seed : undefined;
}

function pictureParts(picture) {
  const parts = [`seed=${picture.seed}`];
  parts.push(`t=${picture.temperature}`);
  for (const [name, choice] of picture.factors) parts.push(`${keyOf(name)}=${choiceText(choice)}`);
  return parts;
}

/** @param {State} state @returns {string} the part of the address after #, without the # */
export function toAddress(state) {
  const parts = pictureParts(state.picture);
  if (state.view !== "explore") parts.unshift(`view=${state.view}`);
  if (state.smooth) parts.push("smooth=1");
  if (state.thumbnails !== "mean") parts.push("thumbs=" + state.thumbnails);
  if (state.grid) parts.push("grid=" + state.grid.map(escaped).join(","));
  if (state.pinned) parts.push("pin=" + escaped(pictureParts(state.pinned).join("&")));
  const { factor, component, order, unlabelled } = state.data;
  if (factor !== null || order !== "typical" || unlabelled !== null) {
    parts.push("images=" + [factor ?? "", component ?? "", order, unlabelled ?? ""].map(escaped).join(","));
  }
  if (state.upload) {
    parts.push("z=" + packed(state.upload.z), "var=" + packed(state.upload.logVariance));
    const changes = [...state.upload.changes].map(([name, component]) => `${escaped(name)}:${escaped(component)}`);
    if (changes.length > 0) parts.push("edit=" + changes.join(","));
    if (!state.upload.keepOffset) parts.push("keep=0");
  }
  return parts.join("&");
}

/**
 * Reads an address. Parts that cannot be read are skipped and listed in `faults`, so that an old or mistyped
 * address still shows a picture.
 * @param {string} address with or without #
 * @returns {{state: State, faults: string[]}}
 */
export function fromAddress(address) {
  const state = initialState();
  const numbers = {};
  const faults = readParts(address.replace(/^#/, ""), (key, value) => readPart(state, numbers, key, value));
  if (numbers.z && numbers.var && numbers.z.length === numbers.var.length) {
    state.upload = { z: numbers.z, logVariance: numbers.var, changes: numbers.edit ?? new Map(), keepOffset: numbers.keep ?? true };
  }
  return { state, faults };
}

/** Reads `key=value&...`. @param {(key: string, value: string) => boolean} read @returns {string[]} the rejected parts */
function readParts(text, read) {
  return text.split("&").filter((part) => {
    if (part === "") return false;
    const cut = part.indexOf("=");
    try {
      return !(cut < 0 ? read(part, "") : read(part.slice(0, cut), part.slice(cut + 1)));
    } catch {
      return true; // an invalid percent encoding
    }
  });
}

function readImages(state, value) {
  const [factor, component, order, unlabelled] = value.split(",").map(decodeURIComponent);
  if (!IMAGE_ORDERS.includes(order) || !/^\d*$/.test(component)) return false;
  state.data = { factor: factor || null, component: component === "" ? null : Number(component), order, unlabelled: unlabelled || null };
  return true;
}

function readPart(state, numbers, key, value) {
  switch (key) {
    case "view":
      if (VIEWS.includes(value)) state.view = value;
      return VIEWS.includes(value);
    case "smooth":
      state.smooth = value === "1";
      return true;
    case "thumbs":
      if (THUMBNAILS.includes(value)) state.thumbnails = value;
      return THUMBNAILS.includes(value);
    case "images":
      return readImages(state, value);
    case "grid":
      return readGrid(state, value);
    case "pin":
      state.pinned = initialState().picture;
      return readParts(decodeURIComponent(value), (...part) => readPicturePart(state.pinned, ...part)).length === 0;
    case "z":
    case "var":
      numbers[key] = unpacked(value);
      return numbers[key] !== null;
    case "keep":
      numbers.keep = value !== "0";
      return true;
    case "edit":
      numbers.edit = new Map(value.split(",").map((pair) => pair.split(":").map(decodeURIComponent)));
      return [...numbers.edit.values()].every((component) => component !== undefined);
    default:
      return readPicturePart(state.picture, key, value);
  }
}

function readGrid(state, value) {
  const names = value.split(",").map(decodeURIComponent);
  if (names.length !== 2) return false;
  state.grid = [names[0], names[1]];
  return true;
}

function readPicturePart(picture, key, value) {
  if (key === "seed") {
    const seed = readSeed(value);
    if (seed !== undefined) picture.seed = seed;
    return seed !== undefined;
  }
  if (key === "t") {
    const temperature = value === "" ? NaN : Number(value);
    const allowed = temperature >= 0 && temperature <= LARGEST_TEMPERATURE;
    if (allowed) picture.temperature = temperature;
    return allowed;
  }
  const choice = readChoice(value);
  if (choice === null) return false;
  if (!isFree(choice)) picture.factors.set(nameOf(decodeURIComponent(key)), choice);
  return true;
}

/** Numbers as base64 of little-endian 32-bit floats, in the URL-safe alphabet. */
export function packed(numbers) {
  const bytes = new DataView(new ArrayBuffer(4 * numbers.length));
  numbers.forEach((number, index) => bytes.setFloat32(4 * index, number, true));
  const text = btoa(String.fromCharCode(...new Uint8Array(bytes.buffer)));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** @returns {number[]|null} */
export function unpacked(text) {
  if (!/^[\w-]+$/.test(text)) return null;
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  if (binary.length % 4 !== 0) return null;
  const bytes = new DataView(Uint8Array.from(binary, (sign) => sign.charCodeAt(0)).buffer);
  const numbers = Array.from({ length: binary.length / 4 }, (_, index) => bytes.getFloat32(4 * index, true));
  return numbers.every(Number.isFinite) ? numbers : null;
}

// Checks against a model

/** @returns {number} index of the component that a text in a state names; -1 if there is none */
export function componentIndex(factor, text) {
  const byName = factor.components.findIndex((component) => component.name === text);
  if (byName >= 0 || !/^\d+$/.test(text)) return byName;
  return factor.components.findIndex((component) => component.index === Number(text));
}

/**
 * The state without the factors and components that this model does not have.
 * @returns {{state: State, faults: string[]}}
 */
export function fitted(state, model) {
  const faults = new Set();
  const byName = new Map(model.factors.map((factor) => [factor.name, factor]));
  state = withNewNames(state, model);
  const known = (name, component) => {
    const factor = byName.get(name);
    if (!factor) faults.add(`no factor '${name}'`);
    else if (component !== null && componentIndex(factor, component) < 0) faults.add(`no component '${component}' of ${name}`);
    else return true;
    return false;
  };
  const fit = (picture) => {
    const factors = new Map();
    for (const [name, choice] of picture.factors) {
      if (!known(name, choice.component)) continue;
      const offsets = new Map([...choice.offsets].filter(([dimension]) => dimension < byName.get(name).dimensions));
      factors.set(name, { ...choice, offsets });
    }
    return { ...picture, factors };
  };
  const next = { ...state, picture: fit(state.picture), pinned: state.pinned && fit(state.pinned) };
  if (state.grid && (state.grid[0] === state.grid[1] || !state.grid.every((name) => known(name, null)))) next.grid = null;
  const { factor, component } = state.data;
  if (factor !== null && !byName.has(factor)) next.data = { ...state.data, factor: null, component: null };
  else if (component !== null && component >= (byName.get(factor)?.components.length ?? 0)) next.data = { ...state.data, component: null };
  if (state.upload) {
    if (state.upload.z.length !== model.latents) {
      faults.add(`a latent vector of ${state.upload.z.length} numbers (this model has ${model.latents})`);
      next.upload = null;
    } else {
      const changes = new Map([...state.upload.changes].filter(([name, component]) => known(name, component)));
      next.upload = { ...state.upload, changes };
    }
  }
  return { state: next, faults: [...faults] };
}

/** The state with factors by their present names: an address may be older than a name. */
function withNewNames(state, model) {
  return model.factors.filter((factor) => factor.original).reduce((known, { original, name }) => renamedIn(known, { from: original, to: name }), state);
}

/**
 * The state after a factor has got another name, or the same name and another one for a component.
 * @param {{from: string, to: string, component?: {from: string, to: string}}} rename
 */
export function renamedIn(state, { from, to, component }) {
  const factor = (name) => (name === from ? to : name);
  const value = (name, old) => (name === from && component && old === component.from ? component.to : old);
  const entries = (map, change) => new Map([...map].map(([name, each]) => [factor(name), change(name, each)]));
  const picture = (old) => old && {
    ...old, factors: entries(old.factors, (name, choice) => ({ ...choice, component: value(name, choice.component) })),
  };
  return {
    ...state, picture: picture(state.picture), pinned: picture(state.pinned),
    grid: state.grid && state.grid.map(factor),
    upload: state.upload && { ...state.upload, changes: entries(state.upload.changes, value) },
    data: { ...state.data, factor: state.data.factor && factor(state.data.factor) },
  };
}

/** A picture as a request to `generate`. Components are sent as indices, because a value may be named "draw". */
export function toRequest(picture, model) {
  const factors = [];
  for (const factor of model.factors) {
    const choice = picture.factors.get(factor.name);
    if (!choice) continue;
    const entry = {};
    if (choice.component !== null) entry.component = componentIndex(factor, choice.component);
    if (choice.seed !== null) entry.seed = choice.seed;
    if (choice.offsets.size > 0) {
      entry.offsets = [...choice.offsets].map(([dimension, stddevs]) => ({ dimension, stddevs }));
    }
    factors.push([factor.name, entry]);
  }
  return { seed: picture.seed, temperature: picture.temperature, factors: Object.fromEntries(factors) };
}

/** States that give the same pixels have the same key. A reloaded model gives other pixels. */
export function pictureKey(picture, model) {
  return JSON.stringify([model.version, toRequest(picture, model)]);
}

/**
 * The differences between two pictures, factor by factor.
 * @param {{picture: Picture, components: Record<string, number>}} before state and drawn components; `after` likewise
 * @returns {{name: string, before: string, after: string}[]}
 */
export function differences(before, after, model) {
  const rows = [];
  if (before.picture.temperature !== after.picture.temperature) {
    rows.push({ name: "temperature", before: String(before.picture.temperature), after: String(after.picture.temperature) });
  }
  for (const factor of model.factors) {
    const [from, to] = [before, after].map((side) => factor.components[side.components[factor.name]]?.name ?? "?");
    if (from !== to) rows.push({ name: factor.name, before: from, after: to });
    else if (positionOf(before.picture, factor.name) !== positionOf(after.picture, factor.name)) {
      rows.push({ name: factor.name, before: from, after: `${to}, another position within it` });
    }
  }
  return rows;
}

function positionOf(picture, name) {
  const choice = choiceOf(picture, name);
  const offsets = [...choice.offsets].sort((a, b) => a[0] - b[0]);
  return JSON.stringify([choice.seed ?? picture.seed, offsets]);
}
