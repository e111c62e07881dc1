// The rules of the page without a browser: what an address means, and what hold and redraw do.
import assert from "node:assert/strict";
import { test } from "node:test";
import { animatedPng, chunksOf } from "../../web/apng.mjs";
import { moved as movedRegion, resized } from "../../web/crop.mjs";
import { pathOf, smoothed, ticks, valueRange } from "../../web/curves.mjs";
import { centred } from "../../web/local_pictures.mjs";
import { uniforms } from "../../web/noise.mjs";
import { pathBetween } from "../../web/paths.mjs";
import { principal, similarityOrder, squaredDistances, tsne } from "../../web/projection.mjs";
import {
  choiceOf, choose, differences, fitted, freeChoice, fromAddress, initialState, move, packed, pictureKey, redrawAll, redrawFactor,
  renamedIn, toAddress, toRequest, toggleHold, unpacked, withChoice,
} from "../../web/state.mjs";
import { fromAddress as runsFromAddress, sorted, toAddress as runsToAddress } from "../../web/runs/runs.mjs";
import { onOneAxis, progress, sentence } from "../../web/phases.mjs";
import { standardNormal } from "../../web/training.mjs";

const model = {
  latents: 4,
  factors: [
    { name: "glasses", named: true, dimensions: 2, components: [{ index: 0, name: "without" }, { index: 1, name: "with" }] },
    { name: "first", named: false, dimensions: 2, components: [0, 1, 2, 3].map((index) => ({ index, name: String(index) })) },
  ],
};

function example() {
  const state = initialState();
  state.picture = choose({ ...state.picture, seed: 7, temperature: 0.8 }, "glasses", "with");
  const offsets = new Map([[0, -1.5], [1, 2]]);
  state.picture = withChoice(state.picture, "first", { component: "3", seed: 17, held: true, offsets });
  return state;
}

test("an address can be read by a person", () => {
  assert.equal(toAddress(example()), "seed=7&t=0.8&glasses=with&first=3@17!~0:-1.5,1:2");
});

test("a state comes back from its address", () => {
  const state = example();
  state.view = "image";
  state.smooth = true;
  state.grid = ["glasses", "a,b&c"];
  state.pinned = choose(state.picture, "glasses", "without");
  const changes = new Map([["glasses", "with"], ["a:b", "c,d"]]);
  state.upload = { z: [0.5, -1.25, 3, 0], logVariance: [-2, -2, 1, 0], changes, keepOffset: false };
  const { state: read, faults } = fromAddress("#" + toAddress(state));
  assert.deepEqual(faults, []);
  assert.deepEqual(read, state);
});

test("names may contain any character, even those with a meaning in addresses", () => {
  const state = initialState();
  for (const name of ["seed", ".t", "a&b=c", "x@y!~1:2", "50 %", "__proto__", "ä 🙂", "view", "#"]) {
    state.picture = choose(state.picture, name, name);
  }
  const { state: read, faults } = fromAddress(toAddress(state));
  assert.deepEqual(faults, []);
  assert.deepEqual(read.picture, state.picture);
});

test("unreadable parts of an address are skipped and listed", () => {
  const { state, faults } = fromAddress("#seed=-3&t=9&view=nowhere&first=3@x&glasses=with&second=%E0%A4&third=1~0:9&fourth=1~-1:2&z=!");
  assert.deepEqual(faults, ["seed=-3", "t=9", "view=nowhere", "first=3@x", "second=%E0%A4", "third=1~0:9", "fourth=1~-1:2", "z=!"]);
  assert.equal(choiceOf(state.picture, "glasses").component, "with");
  assert.equal(state.picture.seed, initialState().picture.seed);
});

test("a pinned picture has no pinned picture of its own, however deeply an address nests", () => {
  const { state, faults } = fromAddress("pin=".repeat(200000));
  assert.equal(faults.length, 0);
  assert.deepEqual([...state.pinned.factors.keys()], ["pin"]);
});

test("an empty address is the initial state", () => {
  assert.deepEqual(fromAddress(""), { state: initialState(), faults: [] });
});

test("redrawing leaves held factors as they are and chosen components chosen", () => {
  let { picture } = initialState();
  picture = toggleHold(choose(picture, "first", "2"), "first");
  picture = choose(picture, "glasses", "with");
  const next = redrawAll(picture, 99);
  assert.equal(next.seed, 99);
  assert.deepEqual(choiceOf(next, "first"), { component: "2", seed: 1, held: true, offsets: new Map() });
  assert.deepEqual(choiceOf(next, "glasses"), { ...freeChoice(), component: "with" });
});

test("a factor that is held without being chosen keeps what was drawn", () => {
  const next = redrawAll(toggleHold(initialState().picture, "first"), 99);
  assert.deepEqual(toRequest(next, model).factors, { first: { seed: 1 } });
});

test("a released factor is redrawn with the others", () => {
  const held = toggleHold(initialState().picture, "first");
  assert.deepEqual(redrawAll(toggleHold(held, "first"), 99).factors, new Map());
});

test("redrawing one factor changes only its seed", () => {
  const { picture } = example();
  const next = redrawFactor(picture, "glasses", 55);
  assert.deepEqual(choiceOf(next, "first"), choiceOf(picture, "first"));
  assert.equal(next.seed, picture.seed);
  assert.deepEqual(choiceOf(next, "glasses"), { ...choiceOf(picture, "glasses"), seed: 55 });
});

test("choosing another component drops the offsets within the old one", () => {
  const moved = move(choose(initialState().picture, "first", "2"), "first", 1, 1.5);
  assert.deepEqual(choiceOf(moved, "first").offsets, new Map([[1, 1.5]]));
  assert.deepEqual(choiceOf(choose(moved, "first", "3"), "first").offsets, new Map());
});

test("components are requested by index", () => {
  assert.deepEqual(toRequest(example().picture, model), {
    seed: 7, temperature: 0.8,
    factors: {
      glasses: { component: 1 },
      first: { component: 3, seed: 17, offsets: [{ dimension: 0, stddevs: -1.5 }, { dimension: 1, stddevs: 2 }] },
    },
  });
});

test("a state from another model loses the factors and components that this model does not have", () => {
  const state = example();
  state.picture = choose(choose(state.picture, "hat", "on"), "glasses", "broken");
  state.grid = ["hat", "glasses"];
  state.upload = { z: [1], logVariance: [1], changes: new Map(), keepOffset: true };
  const { state: fit, faults } = fitted(state, model);
  assert.deepEqual([...fit.picture.factors.keys()], ["first"]);
  assert.equal(fit.grid, null);
  assert.equal(fit.upload, null);
  assert.deepEqual(faults, [
    "no component 'broken' of glasses", "no factor 'hat'", "a latent vector of 1 numbers (this model has 4)",
  ]);
});

test("a new name of a factor or a component is used wherever the state names it", () => {
  const { state } = fromAddress("#seed=7&first=3~2:1&pin=" + encodeURIComponent("seed=5&first=3") + "&grid=glasses,first&images=first,3,typical,");
  const renamed = renamedIn(state, { from: "first", to: "sky" });
  assert.match(toAddress(renamed), /&sky=3~2:1/);
  assert.equal(renamed.pinned.factors.get("sky").component, "3");
  assert.deepEqual(renamed.grid, ["glasses", "sky"]);
  assert.equal(renamed.data.factor, "sky");
  const blue = renamedIn(renamed, { from: "sky", to: "sky", component: { from: "3", to: "blue" } });
  assert.equal(blue.picture.factors.get("sky").component, "blue");
  assert.equal(blue.pinned.factors.get("sky").component, "blue");
  assert.deepEqual(renamedIn(state, { from: "hair", to: "x" }), state);
});

test("differences are listed by component, then by the position within it", () => {
  const before = { picture: example().picture, components: { glasses: 1, first: 3 } };
  const other = redrawFactor(choose(before.picture, "glasses", "without"), "first", 5);
  assert.deepEqual(differences(before, { picture: other, components: { glasses: 0, first: 3 } }, model), [
    { name: "glasses", before: "with", after: "without" },
    { name: "first", before: "3", after: "3, another position within it" },
  ]);
});

test("numbers are packed as 32-bit floats", () => {
  const numbers = [0, -1.5, 3 * 2 ** 40, Math.fround(0.1)];
  assert.deepEqual(unpacked(packed(numbers)), numbers);
  assert.equal(unpacked("AAAA"), null);
  assert.equal(unpacked(packed([Infinity])), null);
});

test("the same state has another key after the model was reloaded", () => {
  const { picture } = example();
  assert.equal(pictureKey(picture, { ...model, version: "a" }), pictureKey({ ...picture }, { ...model, version: "a" }));
  assert.notEqual(pictureKey(picture, { ...model, version: "a" }), pictureKey(picture, { ...model, version: "b" }));
});

test("phases follow each other on one axis", () => {
  const { records, phases } = onOneAxis([
    { phase: "pretrain", step: 100 }, { line: 2 }, { phase: "pretrain", step: 200 },
    { phase: "initialise", step: 50 }, { phase: "joint", step: 10 },
  ]);
  assert.deepEqual(records.map((record) => record.at), [100, 200, 250, 260]);
  assert.deepEqual(phases.map((phase) => [phase.first, phase.last]), [[0, 200], [200, 250], [250, 260]]);
});

test("training progress counts the steps of all phases", () => {
  const training = { state: "running", phase: "initialise", step: 50, phase_steps: { pretrain: 200, initialise: 100, joint: 100 } };
  assert.equal(progress(training), 250 / 400);
  assert.equal(sentence(training), "Training: phase 2 mixtures, step 50 of 100");
  assert.equal(progress({ state: "waiting", phase: null, step: 0, phase_steps: {} }), 0);
});

test("the range of a chart leaves out a low start and nothing else", () => {
  const [low] = valueRange([-5000, ...Array.from({ length: 50 }, (_, index) => index)]);
  assert.ok(low > -10);
  const [all] = valueRange([-5, 0, 5]);
  assert.ok(all < -5);
});

test("axes have round ticks", () => {
  assert.deepEqual(ticks(-0.3, 9.7, 5), [0, 2, 4, 6, 8]);
  assert.deepEqual(ticks(0, 0.25, 5), [0, 0.05, 0.1, 0.15, 0.2, 0.25]);
});

test("a curve has a gap where a value is missing", () => {
  const same = (value) => value;
  assert.equal(pathOf([[0, 1], [1, 2], [2, NaN], [3, 4]], same, same), "M0.0 1.0L1.0 2.0M3.0 4.0");
});

test("normal numbers have mean 0 and standard deviation 1 and depend only on the seed", () => {
  const numbers = standardNormal(4000, 3);
  const mean = numbers.reduce((sum, number) => sum + number) / numbers.length;
  const variance = numbers.reduce((sum, number) => sum + (number - mean) ** 2, 0) / numbers.length;
  assert.ok(Math.abs(mean) < 5 / Math.sqrt(4000)); // five standard errors
  assert.ok(Math.abs(variance - 1) < 5 * Math.sqrt(2 / 4000));
  assert.deepEqual(standardNormal(3, 3), numbers.slice(0, 3));
  assert.notDeepEqual(standardNormal(3, 4), numbers.slice(0, 3));
});

test("uniform numbers depend on the seed and on what they are for, and are spread evenly", () => {
  const numbers = uniforms(100000, 7, "block 0");
  assert.deepEqual(uniforms(3, 7, "block 0"), numbers.slice(0, 3));
  for (const other of [uniforms(3, 8, "block 0"), uniforms(3, 7, "block 1")]) {
    other.forEach((number, index) => assert.notEqual(number, numbers[index]));
  }
  assert.ok(numbers.every((number) => number > 0 && number < 1));
  const tenths = Array(10).fill(0);
  for (const number of numbers) tenths[Math.floor(10 * number)] += 1;
  // Each has 10000 with a standard deviation of 95.
  for (const count of tenths) assert.ok(Math.abs(count - 10000) < 500, tenths.join(" "));
  const product = numbers.slice(1).reduce((sum, number, index) => sum + (number - 0.5) * (numbers[index] - 0.5), 0);
  assert.ok(Math.abs(product / numbers.length) < 5 / 12 / Math.sqrt(numbers.length), "neighbours are not correlated");
});

test("first numbers of neighbouring seeds are spread evenly too", () => {
  const firsts = Array.from({ length: 10000 }, (_, seed) => uniforms(1, seed, "component 0")[0]);
  const mean = firsts.reduce((sum, number) => sum + number, 0) / firsts.length;
  assert.ok(Math.abs(mean - 0.5) < 5 / Math.sqrt(12 * firsts.length), String(mean));
});

test("an image is cropped to the centre in the model's aspect ratio", () => {
  assert.deepEqual(centred({ width: 80, height: 40 }, { width: 16, height: 16 }), { left: 20, top: 0, width: 40, height: 40 });
  assert.deepEqual(centred({ width: 40, height: 81 }, { width: 32, height: 16 }), { left: 0, top: 30, width: 40, height: 20 });
  assert.deepEqual(centred({ width: 16, height: 16 }, { width: 16, height: 16 }), { left: 0, top: 0, width: 16, height: 16 });
  assert.deepEqual(centred({ width: 1, height: 900 }, { width: 28, height: 28 }), { left: 0, top: 449, width: 1, height: 1 });
});

/** Three groups of ten points around the corners of a triangle, in five dimensions. */
function threeGroups() {
  const noise = standardNormal(150, 1);
  return Array.from({ length: 30 }, (_, row) => Float32Array.from({ length: 5 }, (_, place) =>
    (place === Math.floor(row / 10) ? 10 : 0) + 0.3 * noise[5 * row + place]));
}

/** Whether each point's nearest point belongs to its own group. */
function groupsStay(places) {
  return places.every((place, row) => {
    const distance = (other) => (other === row ? Infinity : Math.hypot(place[0] - places[other][0], place[1] - places[other][1]));
    const nearest = places.map((_, other) => other).reduce((best, other) => (distance(other) < distance(best) ? other : best));
    return Math.floor(nearest / 10) === Math.floor(row / 10);
  });
}

test("principal components keep the distances of points that lie in a plane", () => {
  const corners = [[0, 0], [3, 0], [0, 4], [3, 4]].map((point) => Float32Array.from(point));
  const places = principal(squaredDistances(corners), 4);
  const distance = (one, other) => Math.hypot(places[one][0] - places[other][0], places[one][1] - places[other][1]);
  for (const [one, other, expected] of [[0, 1, 3], [0, 2, 4], [0, 3, 5]]) {
    assert.ok(Math.abs(distance(one, other) - expected) < 1e-6); // float64, and power iteration has converged
  }
});

test("groups stay together in both projections and in the order by similarity", () => {
  const distances = squaredDistances(threeGroups());
  assert.ok(groupsStay(principal(distances, 30)));
  assert.ok(groupsStay(tsne(distances, 30, { perplexity: 5, steps: 200 })));
  const groups = similarityOrder(distances, 30).map((row) => Math.floor(row / 10));
  assert.equal(groups.filter((group, place) => place > 0 && group !== groups[place - 1]).length, 2);
});

test("a smoothed curve keeps a constant, skips gaps and is itself without smoothing", () => {
  assert.deepEqual(smoothed([[0, 2], [1, NaN], [2, 2]], 0.9).map(([, value]) => value), [2, NaN, 2]);
  assert.deepEqual(smoothed([[0, 1], [1, 5]], 0), [[0, 1], [1, 5]]);
});

test("a path moves only the block of its factor", () => {
  const path = pathBetween([0, 0, 0], [8, 8, 8], { first: 1, dimensions: 1 });
  assert.equal(path.length, 9);
  assert.deepEqual(path[4], [0, 4, 0]);
});

test("an animated PNG has the frames of its files", () => {
  const chunk = (type, data) => [0, 0, 0, data.length, ...[...type].map((sign) => sign.charCodeAt(0)), ...data, 0, 0, 0, 0];
  const head = [0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 0];
  const file = (pixel) => Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10, ...chunk("IHDR", head), ...chunk("IDAT", [pixel]), ...chunk("IEND", [])]);
  const chunks = chunksOf(animatedPng([file(7), file(9)], 100));
  assert.deepEqual(chunks.map(({ type }) => type), ["IHDR", "acTL", "fcTL", "IDAT", "fcTL", "fdAT", "IEND"]);
  assert.deepEqual([...chunks[3].data], [7]);
  assert.deepEqual([...chunks[5].data], [0, 0, 0, 2, 9]); // after its number
});

test("a region keeps the model's proportions and stays in the image", () => {
  const image = { width: 300, height: 100 };
  const centre = centred(image, { width: 32, height: 16 });
  assert.deepEqual(movedRegion(centre, 500, 10, image), { left: 100, top: 0, width: 200, height: 100 });
  assert.deepEqual(resized(centre, 80, image), { left: 50, top: 0, width: 80, height: 40 });
  assert.deepEqual(resized({ left: 200, top: 60, width: 40, height: 20 }, 500, image), { left: 200, top: 60, width: 80, height: 40 });
  assert.equal(resized(centre, 0, image).width, 8);
});

test("the choice of runs comes back from its address", () => {
  const choice = { runs: ["a b", "c&d,é", "100%"], seed: 7 };
  assert.deepEqual(runsFromAddress("#" + runsToAddress(choice)), choice);
  assert.deepEqual(runsFromAddress(""), { runs: null, seed: 1 });
  assert.equal(runsFromAddress("#seed=-3").seed, 1);
});

test("runs without a bound come last", () => {
  const runs = [{ name: "a" }, { name: "b", bound: { value: -90 } }, { name: "c", bound: { value: -80 } }, { name: "d", bound: { value: null } }];
  assert.deepEqual(sorted(runs, "bound").map((run) => run.name), ["c", "b", "a", "d"]);
  assert.deepEqual(sorted(runs, "name"), runs);
});
