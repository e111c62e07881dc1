// What the page shows, as one value, and its way into the address and back. Everything here is pure: the
// page, a shared address and the tests see the same rules. A state knows names only; `fitted` compares it
// with the model that is served.

/**
 * What was chosen for one factor.
 * @typedef {object} Choice
 * @property {string|null} component  value's name or index as text; null draws it from the weights
 * @property {number|null} seed       null takes the seed of the picture
 * @property {boolean} held           redrawing the picture leaves it alone
 * @property {Map<number, number>} offsets  deviations by dimension of the factor's block
 */
/**
 * A picture drawn from the prior.
 * @typedef {object} Picture
 * @property {number} seed
 * @property {number} temperature
 * @property {Map<string, Choice>} factors  factors that are not here are drawn
 */
/**
 * An encoded image and what is to be changed in it.
 * @typedef {object} Upload
 * @property {number[]} z
 * @property {number[]} logVariance
 * @property {Map<string, string>} changes  component by factor
 * @property {boolean} keepOffset
 */
/**
 * @typedef {object} State
 * @property {"explore"|"image"|"training"} view
 * @property {boolean} smooth
 * @property {Picture} picture
 * @property {Picture|null} pinned      the picture to compare with
 * @property {[string, string]|null} grid  factors of rows and columns of the combinations
 * @property {Upload|null} upload
 */

export const VIEWS = ["explore", "image", "training"];
export const LARGEST_OFFSET = 4;
const LARGEST_TEMPERATURE = 2;
/** Below 1, at which rare draws come too: the first picture should show what is typical. */
const FIRST_TEMPERATURE = 0.7;
const RESERVED = new Set(["view", "seed", "t", "smooth", "pin", "grid", "z", "var", "edit", "keep"]);

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

/** Another component; the place within the old one means nothing in it. @returns {Picture} */
export function choose(picture, name, component) {
  return withChoice(picture, name, { component, offsets: new Map() });
}

/** Draws one factor anew: its place in the component, and the component where none was chosen. */
export function redrawFactor(picture, name, seed) {
  return withChoice(picture, name, { seed, offsets: new Map() });
}

/** Draws everything anew that is not held. @returns {Picture} */
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

/** Holds a factor or lets it go; its seed is written down, so that the picture stays when others change. */
export function toggleHold(picture, name) {
  const choice = choiceOf(picture, name);
  return withChoice(picture, name, { held: !choice.held, seed: choice.seed ?? picture.seed });
}

/** Moves one factor along one dimension. @returns {Picture} */
export function move(picture, name, dimension, deviations) {
  const offsets = new Map(choiceOf(picture, name).offsets);
  if (deviations === 0) offsets.delete(dimension);
  else offsets.set(dimension, deviations);
  return withChoice(picture, name, { offsets });
}

// The address: `#seed=7&t=0.8&glasses=with&first=3@17!~2:1.5`. A factor's value reads component, @seed,
// ! where it is held, ~dimension:deviations,... ; a factor called like one of the page's own keys has a dot before it.

/** Percent-encodes text so that it holds none of the signs that the address gives a meaning. */
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

/** @returns {Choice|null} null where the text is no choice */
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

/** @param {State} state @returns {string} the address's part behind #, without the # */
export function toAddress(state) {
  const parts = pictureParts(state.picture);
  if (state.view !== "explore") parts.unshift(`view=${state.view}`);
  if (state.smooth) parts.push("smooth=1");
  if (state.grid) parts.push("grid=" + state.grid.map(escaped).join(","));
  if (state.pinned) parts.push("pin=" + escaped(pictureParts(state.pinned).join("&")));
  if (state.upload) {
    parts.push("z=" + packed(state.upload.z), "var=" + packed(state.upload.logVariance));
    const changes = [...state.upload.changes].map(([name, component]) => `${escaped(name)}:${escaped(component)}`);
    if (changes.length > 0) parts.push("edit=" + changes.join(","));
    if (!state.upload.keepOffset) parts.push("keep=0");
  }
  return parts.join("&");
}

/**
 * Reads an address. What cannot be read is left out and named in `faults`, so that an old or mistyped
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

/** Reads `key=value&...`. @param {(key: string, value: string) => boolean} read @returns {string[]} what it refused */
function readParts(text, read) {
  return text.split("&").filter((part) => {
    if (part === "") return false;
    const cut = part.indexOf("=");
    try {
      return !(cut < 0 ? read(part, "") : read(part.slice(0, cut), part.slice(cut + 1)));
    } catch {
      return true; // a percent sign that encodes nothing
    }
  });
}

function readPart(state, numbers, key, value) {
  switch (key) {
    case "view":
      if (VIEWS.includes(value)) state.view = value;
      return VIEWS.includes(value);
    case "smooth":
      state.smooth = value === "1";
      return true;
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

/** Numbers as base64 of their 32-bit floats, little end first, with the alphabet that addresses allow. */
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

// Against a model

/** @returns {number} index of a component by the text that a state holds; -1 where there is none */
export function componentIndex(factor, text) {
  const byName = factor.components.findIndex((component) => component.name === text);
  if (byName >= 0 || !/^\d+$/.test(text)) return byName;
  return factor.components.findIndex((component) => component.index === Number(text));
}

/**
 * The state without what this model does not have.
 * @returns {{state: State, faults: string[]}}
 */
export function fitted(state, model) {
  const faults = new Set();
  const byName = new Map(model.factors.map((factor) => [factor.name, factor]));
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
  if (state.upload) {
    if (state.upload.z.length !== model.latents) {
      faults.add(`an image's code of ${state.upload.z.length} numbers, where this model has ${model.latents}`);
      next.upload = null;
    } else {
      const changes = new Map([...state.upload.changes].filter(([name, component]) => known(name, component)));
      next.upload = { ...state.upload, changes };
    }
  }
  return { state: next, faults: [...faults] };
}

/** A picture as `generate` takes it. Components go as indices: a value may be called "draw". */
export function toRequest(picture, model) {
  const factors = [];
  for (const factor of model.factors) {
    const choice = picture.factors.get(factor.name);
    if (!choice) continue;
    const entry = {};
    if (choice.component !== null) entry.component = componentIndex(factor, choice.component);
    if (choice.seed !== null) entry.seed = choice.seed;
    if (choice.offsets.size > 0) {
      entry.offsets = [...choice.offsets].map(([dimension, deviations]) => ({ dimension, deviations }));
    }
    factors.push([factor.name, entry]);
  }
  return { seed: picture.seed, temperature: picture.temperature, factors: Object.fromEntries(factors) };
}

/** Two pictures' states that make the same pixels have the same key; a model that was read anew makes others. */
export function pictureKey(picture, model) {
  return JSON.stringify([model.version, toRequest(picture, model)]);
}

/**
 * Where two pictures differ, factor by factor.
 * @param {{picture: Picture, components: Record<string, number>}} before and after: state and what was drawn
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
    else if (placeOf(before.picture, factor.name) !== placeOf(after.picture, factor.name)) {
      rows.push({ name: factor.name, before: from, after: `${to}, another place within` });
    }
  }
  return rows;
}

function placeOf(picture, name) {
  const choice = choiceOf(picture, name);
  const offsets = [...choice.offsets].sort((a, b) => a[0] - b[0]);
  return JSON.stringify([choice.seed ?? picture.seed, offsets]);
}
