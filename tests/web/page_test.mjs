// The page that `facet export page` writes, on a plain file host in a headless Chromium: it gives the numbers of the
// server, does what the explorer does, and goes on without a network.
//   node --test page_test.mjs, with the program in FACET_PROGRAM
import assert from "node:assert/strict";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SETTLED } from "./browser.mjs";
import { Classifier, Portraits } from "./portraits.mjs";
import { drawPortraits, facet, finallyDo, visit } from "./served.mjs";
import { serveFolder } from "./static_server.mjs";

const { folder, run, browser, server } = await visit("page"); // the server is there to compare with
const SEEN = 900; // portraits that train the classifier
// In a folder of the host: the page must not assume that it is at the root.
facet("export", "page", run, "--out", join(folder, "host", "page"));
const portraits = new Portraits(drawPortraits(folder, 1200), "glasses");
const classifier = new Classifier(portraits, SEEN);
let host = await serveFolder(join(folder, "host"));
finallyDo(() => host?.close());

const complete = "document.documentElement.dataset.loaded === 'true'";

async function open(state = "", page = "page") {
  await browser.open(`${host.address}/${page}/${state}`);
  await browser.until(SETTLED);
}

/** A call of the page's own back end. */
function local(call, ...values) {
  return browser.evaluate(`import("./api.js").then((api) => api.${call}(...${JSON.stringify(values)}))`);
}

/** The server's answer to the same. */
async function remote(path, body, type = "application/json") {
  const options = body && { method: "POST", headers: { "Content-Type": type }, body };
  const response = await fetch(`${server.address}/api/v1/${path}`, options);
  assert.equal(response.status, 200, path);
  return response.json();
}

/** The largest difference of two PNGs in base64, in grey levels. */
function difference(first, second) {
  return browser.evaluate(`(async () => {
    const [a, b] = await Promise.all(${JSON.stringify([first, second])}.map(async (png) => {
      const bitmap = await createImageBitmap(await (await fetch("data:image/png;base64," + png)).blob());
      const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
      context.drawImage(bitmap, 0, 0);
      return context.getImageData(0, 0, bitmap.width, bitmap.height);
    }));
    if (a.width !== b.width || a.height !== b.height) return 999;
    return a.data.reduce((most, value, index) => Math.max(most, Math.abs(value - b.data[index])), 0);
  })()`);
}

function near(found, expected, tolerance, what) {
  assert.equal(found.length, expected.length, what);
  found.forEach((value, index) => assert.ok(Math.abs(value - expected[index]) <= tolerance,
    `${what}: ${value} at ${index}, expected ${expected[index]}`));
}

/** Pixels of a picture on the page at the model's resolution, channel by channel. */
function pixels(id) {
  return browser.evaluate(`(() => {
    const image = document.getElementById("${id}");
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [16, 16];
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(image, 0, 0, 16, 16);
    const { data } = context.getImageData(0, 0, 16, 16);
    return Array.from({ length: 768 }, (_, place) => data[4 * (place % 256) + Math.floor(place / 256)]);
  })()`);
}

const glasses = "#factors [data-factor=glasses] .switch";
const portrait = join(folder, "portrait.png");

test("pictures are those of the server for the same latent vectors", async () => {
  await open("#seed=3");
  const { images } = await local("generate", [1, 2, 3, 4].map((seed) => ({ seed, temperature: 0.7, factors: {} })), 2);
  const answer = await remote("decode", JSON.stringify({ z: images.map((image) => image.z), scale: 2 }));
  for (const [index, image] of images.entries()) {
    assert.ok((await difference(image.png, answer.images[index].png)) <= 1); // a value between two levels may round either way
  }
  const decoded = await local("decode", images.map((image) => image.z), 2);
  assert.deepEqual(decoded.images.map((image) => image.components), answer.images.map((image) => image.components));
});

test("samples are at the requested components and positions", async () => {
  const state = { seed: 5, temperature: 0, factors: { glasses: { component: 1 }, first: { component: 2, offsets: [{ dimension: 1, stddevs: 1.5 }] } } };
  const [image] = (await local("generate", [state], 1)).images;
  assert.equal(image.components.glasses, 1);
  assert.equal(image.components.first, 2);
  // Without noise the server has the same vector, up to the component that it draws for the third factor.
  state.factors.style = { component: image.components.style };
  const [expected] = (await remote("generate", JSON.stringify({ states: [state] }))).images;
  near(image.z, expected.z, 1e-5, "z");
  assert.ok((await difference(image.png, expected.png)) <= 1);
});

test("an image is encoded and edited as by the server", async () => {
  const row = portraits.labels.findIndex((label, index) => index >= SEEN && label === 0);
  writeFileSync(portrait, portraits.png(row));
  const expected = await remote("encode", portraits.png(row), "image/png");
  const found = await browser.evaluate(`(async () => {
    const blob = await (await fetch("data:image/png;base64,${portraits.png(row).toString("base64")}")).blob();
    return (await import("./api.js")).encode(blob, 1);
  })()`);
  near(found.z, expected.z, 1e-4, "z");
  near(found.log_variance, expected.log_variance, 1e-4, "log variance");
  found.factors.forEach((factor, index) => {
    assert.equal(factor.component, expected.factors[index].component);
    near(factor.probabilities, expected.factors[index].probabilities, 1e-4, factor.name);
  });
  assert.equal(await difference(found.input, expected.input), 0);
  assert.ok((await difference(found.reconstruction, expected.reconstruction)) <= 1);
  const edits = [{ changes: {} }, { changes: { glasses: 1 } }, { changes: { glasses: 1, first: 3 }, keep_offset: false }];
  const answer = await remote("edit", JSON.stringify({ z: found.z, log_variance: found.log_variance, edits }));
  const edited = await local("edit", found.z, found.log_variance, edits, 1);
  edited.images.forEach((image, index) => near(image.z, answer.images[index].z, 1e-4, `edit ${index}`));
});

test("directions and mean pictures are those of the server", async () => {
  const expected = (await remote("directions?factor=style&component=2")).directions;
  const found = (await local("getDirections", "style", 2)).directions;
  assert.equal(found.length, expected.length);
  for (const { dimension, stddev, effect } of expected) {
    const same = found.find((direction) => direction.dimension === dimension);
    near([same.stddev, same.effect], [stddev, effect], 0.3, `dimension ${dimension}`); // the server measures rounded pixels
  }
  for (const [index, name] of ["glasses", "style", "first"].entries()) {
    const response = await fetch(`${server.address}/api/v1/atlas?factor=${name}`);
    const atlas = Buffer.from(await response.arrayBuffer()).toString("base64");
    const exported = readFileSync(join(folder, "host", "page", "model", `atlas-${index}.png`)).toString("base64");
    assert.ok((await difference(atlas, exported)) <= 1); // in a batch, sums may round otherwise
    const { columns, count } = JSON.parse(readFileSync(join(folder, "host", "page", "model", "page.json"))).atlases[index];
    assert.equal(columns, Number(response.headers.get("X-Facet-Columns")));
    assert.equal(count, Number(response.headers.get("X-Facet-Count")));
  }
});

test("glasses are switched on and off, and the classifier agrees", async () => {
  let agreed = 0;
  for (let seed = 1; seed <= 8; ++seed) {
    await open(`#seed=${seed}&t=0.5&glasses=without`);
    agreed += Number(classifier.score(await pixels("picture")) < 0);
    await browser.changes(() => browser.click(glasses));
    agreed += Number(classifier.score(await pixels("picture")) > 0);
  }
  assert.ok(agreed >= 12, `the classifier agreed on ${agreed} of 16 pictures`); // the model was trained for seconds
});

test("a factor is redrawn without the others, and an address shows its picture again", async () => {
  await open("#seed=3");
  const before = await browser.evaluate("document.getElementById('picture').alt");
  const shown = await browser.source();
  await browser.changes(() => browser.click("#factors [data-factor=first] .panel-actions button:nth-child(3)"));
  const after = await browser.evaluate("document.getElementById('picture').alt");
  assert.equal(after.split(", first")[0], before.split(", first")[0]);
  const address = await browser.evaluate("location.hash");
  const redrawn = await browser.source();
  await open("#seed=3");
  assert.equal(await browser.source(), shown);
  await open(address);
  assert.equal(await browser.source(), redrawn);
});

test("what needs a server is not shown", async () => {
  await open("#seed=3");
  const visible = (selector) => browser.evaluate(`document.querySelector("${selector}").checkVisibility()`);
  for (const selector of ["#command", "#status", "#nearest"]) assert.equal(await visible(selector), false, selector);
  await browser.click("#show-image");
  assert.match(await browser.evaluate("document.getElementById('drop').innerText"), /stays in this browser/);
  assert.doesNotMatch(await browser.evaluate("document.getElementById('drop').innerText"), /facet serve/);
});

test("after loading, everything works without a network", async (t) => {
  await open("#seed=3&t=0.6&glasses=without");
  await browser.until(complete);
  await host.close();
  t.after(async () => (host = await serveFolder(join(folder, "host"))));
  await browser.changes(() => browser.click(glasses));
  await browser.click("#combinations summary");
  await browser.until("document.querySelectorAll('#grid .cell').length === 8");
  await browser.click("#factors [data-factor=style] summary");
  await browser.until("document.querySelectorAll('#factors [data-factor=style] input[type=range]').length === 4");
  await browser.chooseFile("#file", portrait);
  await browser.until("document.getElementById('edited').naturalWidth > 0");
  const note = "document.querySelector('#code [data-factor=glasses] .note').textContent";
  await browser.until(`${note} !== ''`); // the picture may come before the probabilities
  assert.match(await browser.evaluate(note), /^without \(\d+(\.\d)? %\)$/);
  await browser.changes(() => browser.click("#code [data-factor=glasses] .switch"), "edited");
  await browser.changes(() => browser.click("#keep-offset"), "edited");
  assert.ok(classifier.score(await pixels("edited")) > 0);
  await browser.click("#show-training");
  await browser.until("document.querySelectorAll('#samples img').length === 24");
  await browser.until("document.querySelectorAll('#charts .line').length >= 10");
  assert.match(await browser.text("training-state"), /Finished after phase 3 joint, step 800/);
  assert.equal(await browser.evaluate("document.querySelectorAll('#living-rows tr').length"), 3);
  assert.deepEqual(browser.complaints, []);
});

test("a photo of another size is cropped and converted, and the page says so", async () => {
  await open("#seed=3");
  const found = await browser.evaluate(`(async () => {
    const canvas = new OffscreenCanvas(80, 40);
    const context = canvas.getContext("2d");
    context.fillStyle = "rgb(200, 100, 50)";
    context.fillRect(20, 0, 40, 40);
    return (await import("./api.js")).encode(await canvas.convertToBlob({ type: "image/webp", quality: 1 }), 1);
  })()`);
  assert.match(found.notice, /^80x40 RGB made 16x16 RGB/);
  const plain = await browser.evaluate(`(() => {
    const canvas = new OffscreenCanvas(16, 16);
    const context = canvas.getContext("2d");
    context.fillStyle = "rgb(200, 100, 50)";
    context.fillRect(0, 0, 16, 16);
    return canvas.convertToBlob().then((blob) => new Promise((resolve) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result.split(",")[1]);
      reader.readAsDataURL(blob);
    }));
  })()`);
  assert.ok((await difference(found.input, plain)) <= 6); // WebP changes colours a little
});

test("a run without metrics has no training view, even if the address asks for it", async () => {
  const bare = join(folder, "bare");
  cpSync(run, bare, { recursive: true, filter: (path) => !path.endsWith("metrics.jsonl") });
  facet("export", "page", bare, "--out", join(folder, "host", "bare"));
  await open("#view=training&seed=3", "bare");
  assert.equal(await browser.evaluate("document.getElementById('show-training').checkVisibility()"), false);
  assert.equal(await browser.evaluate("document.getElementById('explore').checkVisibility()"), true);
});

test("on a phone nothing is cut off", async () => {
  await browser.resize(390, 844, { phone: true });
  for (const view of ["explore", "image", "training"]) {
    await browser.open(`${host.address}/page/#view=${view}&seed=3`);
    await browser.until(complete);
    assert.ok((await browser.evaluate("document.documentElement.scrollWidth")) <= 390, `${view} is wider than a phone`);
  }
  await browser.resize(1280, 900);
});

test("the console shows no error and no warning", () => {
  assert.deepEqual(browser.complaints, []);
});

test("a file that is missing on the host is named", async () => {
  const broken = join(folder, "host", "broken");
  cpSync(join(folder, "host", "page"), broken, { recursive: true });
  rmSync(join(broken, "model", "decoder.onnx"));
  await open("#seed=3", "broken");
  await browser.until("document.getElementById('announcement').textContent.includes('decoder.onnx')");
});
