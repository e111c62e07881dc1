// The data behind the model: lists of images by component, statements of labels, one image with its code, how far an upload is like
// the data, maps and searches. Nothing is written without --write.
import assert from "node:assert/strict";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pause } from "./browser.mjs";
import { Portraits } from "./portraits.mjs";
import { drawPortraits, serve, stop, visit } from "./served.mjs";

const { folder, run, browser, server } = await visit("data", { serving: ["--write"] });
const portraits = new Portraits(drawPortraits(folder, 40), "glasses");

async function open(state = "#view=data&seed=1") {
  await browser.open(`${server.address}/${state}`);
  await browser.until("document.getElementById('model-facts').textContent.includes('factor')");
}

const LISTED = "document.querySelectorAll('.data-cell:not([hidden])').length > 8 && document.querySelector('.data-cell').ariaLabel !== 'Loading'";
const api = (path, options) => browser.evaluate(`fetch("api/v1/${path}", ${JSON.stringify(options ?? {})}).then((answer) => answer.json())`);
const post = (path, body) => api(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

test("the run's own data are found without options", async () => {
  await open();
  await browser.until(LISTED);
  assert.equal(await browser.text("data-count"), "3,000 images");
});

test("a component shows its images, most typical first, and what labels say", async () => {
  await open("#view=data&seed=1&images=style,1,typical,");
  await browser.until(LISTED);
  const { total, images } = await api("images?factor=style&component=1&order=typical");
  assert.ok(total > 100 && total < 3000);
  const right = images.filter((image) => image.labels.hair_style === "short").length;
  assert.ok(right >= 0.9 * images.length, `${right} of ${images.length}`); // it was trained with these labels
  assert.ok(images.every((image) => image.code.style.component === 1));
  const doubtful = (await api("images?factor=style&component=1&order=borderline")).images.map((image) => image.code.style.probability);
  assert.deepEqual(doubtful, [...doubtful].sort((a, b) => a - b));
  await browser.until("document.querySelectorAll('.component-card').length === 4");
  await browser.until("/hair style: short \\d+ %/.test(document.getElementById('data-components').textContent)");
});

test("the grid makes only the cells in view, whatever their number", async () => {
  await open("#view=data&seed=1&images=,,index,");
  await browser.until(LISTED);
  await browser.evaluate("document.getElementById('data-grid').scrollTop = 1e9");
  await browser.until("[...document.querySelectorAll('.data-cell')].some((cell) => cell.ariaLabel === 'Image 2999')");
  assert.ok((await browser.evaluate("document.querySelectorAll('.data-cell').length")) < 400);
});

test("a click opens an image with its code, and the image can be edited", async () => {
  await open("#view=data&seed=1&images=,,index,");
  await browser.until(LISTED);
  await browser.click(".data-cell[aria-label='Image 5']");
  await browser.until("document.getElementById('image-dialog').open");
  assert.equal(await browser.evaluate("document.querySelectorAll('#image-code tr').length"), 3);
  assert.match(await browser.text("image-labels"), /glasses: with/);
  await browser.click("#image-edit");
  await browser.until("document.getElementById('edited').naturalWidth > 0");
  assert.match(await browser.text("trust"), /% of the test images/);
});

async function upload(name, bytes) {
  const file = join(folder, name);
  writeFileSync(file, bytes);
  await open("#view=image&seed=1");
  await browser.until("document.querySelectorAll('#code .panel').length === 3");
  await browser.chooseFile("#file", file);
  await browser.until("document.getElementById('edited').naturalWidth > 0");
}

test("an upload unlike the data is said to be so, another portrait is not", async () => {
  await upload("portrait.png", portraits.png(3));
  assert.equal(await browser.evaluate("document.getElementById('unlike').hidden"), true);
  const noise = await browser.evaluate(`(() => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [16, 16];
    const context = canvas.getContext("2d");
    for (let y = 0; y < 16; ++y) for (let x = 0; x < 16; ++x) {
      context.fillStyle = (x + y) % 2 ? "#f0f" : "#0f0";
      context.fillRect(x, y, 1, 1);
    }
    return canvas.toDataURL().split(",")[1];
  })()`);
  await upload("checks.png", Buffer.from(noise, "base64"));
  assert.match(await browser.text("unlike"), /unlike the images/);
  const faded = await browser.evaluate("Number(getComputedStyle(document.querySelector('#code .probability .bar')).opacity)");
  assert.ok(faded < 0.5, "probabilities fade where they mean little");
  assert.equal(await browser.evaluate("document.getElementById('error-figure').hidden"), false);
});

test("the region of an upload is chosen by mouse, touch and keyboard", async () => {
  // A portrait in the right half of an image that is twice as wide.
  await open("#view=image&seed=1");
  const wide = await browser.evaluate(`(async () => {
    const image = new Image();
    image.src = "data:image/png;base64,${portraits.png(3).toString("base64")}";
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [320, 160];
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    context.drawImage(image, 160, 0, 160, 160);
    return canvas.toDataURL().split(",")[1];
  })()`);
  await upload("wide.png", Buffer.from(wide, "base64"));
  const input = () => browser.source("input");
  const centre = await input();
  await browser.click("#crop summary");
  await browser.until("document.getElementById('crop-box').getBoundingClientRect().width > 20"); // it is placed when the part is open
  await browser.evaluate("document.getElementById('crop-box').scrollIntoView({ block: 'center', behavior: 'instant' })");
  const box = () => browser.evaluate(`(() => {
    const area = document.getElementById("crop-box").getBoundingClientRect();
    return { left: area.left, top: area.top, x: area.left + area.width / 2, y: area.top + area.height / 2, right: area.right, bottom: area.bottom };
  })()`);
  const { x, y } = await box();
  const mouse = (type, at) => browser.send("Input.dispatchMouseEvent", { type, ...at, button: "left", buttons: 1, clickCount: 1 });
  await mouse("mousePressed", { x, y });
  await mouse("mouseMoved", { x: x + 400, y });
  await mouse("mouseReleased", { x: x + 400, y });
  await browser.until(`document.getElementById("input").src !== ${JSON.stringify(centre)}`);
  assert.match(await browser.text("crop-text"), /^160 pixels wide, 160 from the left, 0 from the top$/);
  const right = await input();
  // The same portrait by itself has nearly the same code.
  const factors = await browser.evaluate("[...document.querySelectorAll('#code [aria-checked=true]')].map((node) => node.ariaLabel).join()");
  await browser.evaluate("document.getElementById('crop-box').focus()");
  for (const key of ["ArrowLeft", "-"]) await browser.press(key);
  await browser.until(`document.getElementById("input").src !== ${JSON.stringify(right)}`);
  assert.doesNotMatch(await browser.text("crop-text"), /^160 pixels wide/);
  const smaller = await input();
  const corner = await box();
  const touch = (type, points) => browser.send("Input.dispatchTouchEvent", { type, touchPoints: points });
  await touch("touchStart", [{ x: corner.right - 8, y: corner.bottom - 8 }]);
  for (const step of [20, 40, 60]) await touch("touchMove", [{ x: corner.right - 8 - step, y: corner.bottom - 8 - step }]);
  await touch("touchEnd", []);
  await browser.until(`document.getElementById("input").src !== ${JSON.stringify(smaller)}`);
  await browser.click("#crop-reset");
  await browser.until(`document.getElementById("input").src === ${JSON.stringify(centre)}`);
  assert.ok(factors.length > 0);
});

const select = (id, value) => browser.evaluate(`document.getElementById("${id}").value = "${value}"; document.getElementById("${id}").dispatchEvent(new Event("change"))`);

test("a map shows components and images by latent vectors or pixels, by principal components and t-SNE, and a click chooses a component", async () => {
  await open("#view=data&seed=1&images=first,,typical,");
  await browser.until(LISTED);
  await browser.click("#map summary");
  const drawn = (kind) => browser.until(`document.getElementById('map').dataset.drawn === '${kind}'`);
  await drawn("latents pca");
  assert.match(await browser.evaluate("document.getElementById('map-canvas').ariaLabel"), /^Map of 6 components and 256 images of first$/);
  assert.equal(await browser.text("map-text"), "6 components and 256 images, spread evenly over the data.");
  const picture = () => browser.evaluate("document.getElementById('map-canvas').toDataURL()");
  const seen = [await picture()];
  for (const [by, kind] of [["latents", "tsne"], ["pixels", "tsne"], ["pixels", "pca"]]) {
    await select("map-by", by);
    await select("map-kind", kind);
    await drawn(`${by} ${kind}`);
    seen.push(await picture());
  }
  assert.equal(new Set(seen).size, 4);
  await browser.click("#map-images");
  assert.notEqual(await picture(), seen.at(-1)); // components alone
  const alone = await picture();
  await browser.click("#map-in");
  assert.notEqual(await picture(), alone);
  await browser.click("#map-out");
  const chosen = await browser.evaluate(`(() => {
    const canvas = document.getElementById("map-canvas");
    const area = canvas.getBoundingClientRect();
    for (let y = 20; y < area.height; y += 25) for (let x = 20; x < area.width; x += 25) {
      for (const type of ["pointerdown", "pointerup"]) canvas.dispatchEvent(new PointerEvent(type, { clientX: area.left + x, clientY: area.top + y, pointerId: 1 }));
      const found = /images=first,(\\d),/.exec(location.hash);
      if (found) return found[1];
    }
  })()`);
  assert.match(chosen ?? "none", /^[0-5]$/);
});

test("in the map of latent vectors images lie by their components", async () => {
  const { components, images } = await api("map?factor=style&images=256");
  const distance = (one, other) => Math.hypot(...one.map((value, place) => value - other[place]));
  const nearest = images.filter(({ component, z }) => components.every((mean) => distance(components[component], z) <= distance(mean, z) + 1e-9));
  assert.ok(nearest.length > 0.8 * images.length, `${nearest.length} of ${images.length}`); // components have widths too
  assert.deepEqual(images.map(({ index }) => index), Array.from({ length: 256 }, (_, place) => Math.floor((place * 3000) / 256)));
});

test("outliers are the images of the lowest density", async () => {
  const order = async (name) => (await api(`images?order=${name}&count=128`)).images.map(({ typicality }) => typicality);
  const [outliers, typical] = [await order("outliers"), await order("typical")];
  assert.deepEqual(outliers, [...outliers].sort((a, b) => a - b));
  assert.ok(outliers.at(-1) < typical.at(-1));
  await open("#view=data&seed=1&images=,,typical,");
  await browser.until(LISTED);
  await select("data-order", "outliers");
  const { images } = await api("images?order=outliers&count=1");
  await browser.until(`document.querySelector('.data-cell').ariaLabel === 'Image ${images[0].index}'`);
});

test("images are searched by an upload, by chosen factors and by the edited picture", async () => {
  await upload("portrait.png", portraits.png(3));
  await browser.click("#similar summary");
  await browser.until("document.querySelectorAll('#similar-images img').length === 8");
  const found = () => browser.evaluate("[...document.querySelectorAll('#similar-images img')].map((image) => image.alt).join()");
  const all = await found();
  await browser.click("#code [data-factor=glasses] .switch");
  await browser.evaluate("document.getElementById('similar-edited').value = 'edited'; document.getElementById('similar-edited').dispatchEvent(new Event('change'))");
  await browser.until(`[...document.querySelectorAll('#similar-images img')].map((image) => image.alt).join() !== ${JSON.stringify(all)}`);
  const edited = await found();
  for (const factor of ["style", "first"]) await browser.click(`#similar-factors input[value=${factor}]`);
  await browser.until(`[...document.querySelectorAll('#similar-images img')].map((image) => image.alt).join() !== ${JSON.stringify(edited)}`);
  const wanted = portraits.labels[3] === 1 ? "glasses without" : "glasses with";
  await pause(500);
  const right = (await found()).match(new RegExp(`${wanted}(?=,|$)`, "g"))?.length ?? 0;
  assert.ok(right >= 7, await found());
});

test("while images are encoded a search says so, and it finds them when they are", async () => {
  await open("#seed=3");
  await browser.until("document.getElementById('picture').naturalWidth > 0");
  await browser.evaluate(`(() => {
    window.realFetch = window.fetch;
    window.fetch = async (address, options) => {
      const answer = await window.realFetch(address, options);
      if (address !== "api/v1/model") return answer;
      const summary = await answer.json();
      return Response.json({ ...summary, nearest: { ...summary.nearest, ready: false, encoded: 1600 } });
    };
    dispatchEvent(new Event("facet-changed"));
  })()`);
  await browser.until("document.getElementById('nearest-text').textContent === 'The images are being encoded: 1,600 of 3,000.'");
  await browser.click("#nearest summary");
  await pause(300);
  assert.equal(await browser.evaluate("document.querySelectorAll('#nearest-images img').length"), 0);
  await browser.evaluate("window.fetch = window.realFetch; dispatchEvent(new Event('facet-changed'))");
  await browser.until("document.querySelectorAll('#nearest-images img').length === 8 && document.getElementById('nearest-text').textContent === ''");
});

test("without --write nothing can be written", async () => {
  const other = await serve(run);
  const files = () => readdirSync(run).map((name) => `${name} ${statSync(join(run, name)).mtimeMs}`);
  const before = files();
  await browser.open(`${other.address}/#view=data&seed=1`);
  await browser.until(LISTED);
  assert.equal((await post("names", { factor: "style", name: "hair" })).error.status, 403);
  assert.equal((await post("labels", { property: "mood", value: "good", rows: [1] })).error.status, 403);
  assert.equal(await browser.evaluate("document.getElementById('labelling').hidden && document.getElementById('rename').hidden"), true);
  assert.deepEqual(files(), before);
  browser.complaints.splice(0); // the two refusals
  await browser.leave();
  await stop(other);
});

test("the console shows no error and no warning", () => {
  assert.deepEqual(browser.complaints.filter((line) => !line.includes("400 (Bad Request)")), []);
});
