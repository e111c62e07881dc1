// Many pictures at once: thumbnails of components, paths between two pictures, sheets of draws, and edits of a photograph by a model
// with a refiner.
import assert from "node:assert/strict";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SETTLED } from "./browser.mjs";
import { Portraits } from "./portraits.mjs";
import { downloaded, drawPortraits, facet, serve, stop, visit } from "./served.mjs";

const { folder, run, browser, server } = await visit("pictures");

async function open(state = "") {
  await browser.open(`${server.address}/${state}`);
  await browser.until(SETTLED);
}

/** The addresses of what the thumbnails of a factor show, by component; each of a mean picture is a place in the same sheet. */
function thumbnails(factor) {
  return browser.evaluate(`[...document.querySelectorAll("#factors [data-factor=${factor}] .thumbnail")].map(({ style }) => style.backgroundImage.slice(5, -2))`);
}

test("thumbnails show the present picture with each component, or what it changes", async () => {
  await open("#seed=3&style=short");
  await browser.until("[...document.querySelectorAll('#factors .thumbnail')].every(({ style }) => style.backgroundImage.includes('blob:'))");
  assert.equal(new Set(await thumbnails("style")).size, 1); // the means are one sheet
  await open("#seed=3&style=short&thumbs=live");
  await browser.until("document.querySelectorAll('#factors [data-live=live]').length === 12");
  const live = await thumbnails("style");
  assert.equal(new Set(live).size, 4);
  assert.equal(live.indexOf(await browser.source()), 1); // the picture is that of the chosen one: bald, short, ...
  await browser.evaluate("document.getElementById('thumbnails').value = 'difference'; document.getElementById('thumbnails').dispatchEvent(new Event('change'))");
  await browser.until("document.querySelectorAll('#factors [data-live=difference]').length === 12");
  const brightest = await Promise.all((await thumbnails("style")).map((address) => browser.evaluate(`(async () => {
    const image = new Image();
    image.src = ${JSON.stringify(address)};
    await image.decode();
    const context = new OffscreenCanvas(16, 16).getContext("2d");
    context.drawImage(image, 0, 0);
    return Math.max(...context.getImageData(0, 0, 16, 16).data.filter((_, place) => place % 4 < 3));
  })()`)));
  assert.deepEqual(brightest.map((most) => most > 0), [true, false, true, true]); // the chosen component changes nothing
  await browser.evaluate("document.getElementById('thumbnails').value = 'mean'; document.getElementById('thumbnails').dispatchEvent(new Event('change'))");
  await browser.until("document.querySelectorAll('#factors [data-live]').length === 0");
  assert.equal(new Set(await thumbnails("style")).size, 1);
});

test("a bar under each component is its share of the largest", async () => {
  await open("#seed=3");
  const bars = await browser.evaluate(`(async () => {
    const { model } = await (await fetch("api/v1/model")).json();
    return model.factors.flatMap((factor) => {
      const largest = Math.max(...factor.components.map(({ weight }) => weight));
      return [...document.querySelectorAll("#factors [data-factor=" + factor.name + "] :is(.option, .side)")].map((node) => {
        const name = node.querySelector(".option-name, .side-name").textContent;
        const { weight } = factor.components.find((component) => component.name === name);
        const bar = node.querySelector(".bar.share rect").getBoundingClientRect();
        const whole = node.querySelector(".bar.share").getBoundingClientRect();
        return [name, 100 * weight / largest, 100 * bar.width / whole.width, whole.top - node.querySelector(".thumbnail").getBoundingClientRect().bottom];
      });
    });
  })()`);
  assert.equal(bars.length, 12);
  for (const [name, share, width, below] of bars) {
    assert.ok(Math.abs(share - width) < 0.1, `${name}: ${width} % for ${share} %`); // the browser's numbers are float32
    assert.ok(below > 0, name);
  }
});

test("a path leads from the pinned picture to the present one, also as an animated file", async () => {
  await open("#seed=3&pin=seed%3D5%26t%3D0.7");
  await browser.click("#path summary");
  await browser.until("document.querySelectorAll('#path-images img').length === 9");
  const ends = await browser.evaluate("['#path-images img:first-child', '#path-images img:last-child', '#pinned-picture', '#picture'].map((name) => document.querySelector(name).src)");
  assert.deepEqual(ends.slice(0, 2), ends.slice(2));
  const { bytes } = await downloaded(browser, "#path-file");
  assert.equal(bytes.indexOf("acTL") > 0 && bytes.readUInt32BE(bytes.indexOf("acTL") + 4), 16); // there and back
  await browser.evaluate("document.getElementById('path-factor').value = 'glasses'; document.getElementById('path-factor').dispatchEvent(new Event('change'))");
  await browser.until(`document.querySelector('#path-images img:last-child').src !== ${JSON.stringify(ends[1])}`);
  assert.equal(await browser.evaluate("document.querySelector('#path-images img').src"), ends[0]);
});

test("24 draws differ in their seed only, and a click takes one", async () => {
  await open("#seed=3&glasses=with");
  await browser.click("#sheet summary");
  await browser.until("document.querySelectorAll('#sheet-images img').length === 24");
  const chosen = await browser.evaluate("document.querySelector('#sheet-images button:nth-child(7) img').src");
  await browser.changes(() => browser.click("#sheet-images button:nth-child(7)"));
  assert.equal(await browser.source(), chosen);
  assert.match(await browser.evaluate("location.hash"), /seed=7&t=0.7&glasses=with/);
});

/** How far the pixels of two pictures on the page go together, from -1 to 1. */
function correlation(one, other) {
  return browser.evaluate(`(async () => {
    const pixels = [${JSON.stringify(one)}, ${JSON.stringify(other)}].map((id) => {
      const image = document.getElementById(id);
      const context = new OffscreenCanvas(16, 16).getContext("2d");
      context.drawImage(image, 0, 0);
      return [...context.getImageData(0, 0, 16, 16).data].filter((_, place) => place % 4 < 3);
    });
    const [x, y] = pixels.map((values) => {
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      return values.map((value) => value - mean);
    });
    const along = (a, b) => a.reduce((sum, value, place) => sum + value * b[place], 0);
    return along(x, y) / Math.sqrt(along(x, x) * along(y, y));
  })()`);
}

test("an edit by a model with a refiner starts from the photograph, so that a person stays the person", async () => {
  const refined = join(folder, "refined");
  cpSync(run, refined, { recursive: true });
  facet("refine", refined, "--steps", "4", "--batch-size", "8", "--set", "warmup_steps=1"); // so new that it leaves things as they are
  const other = await serve(refined, ["--refined"]);
  const portraits = new Portraits(drawPortraits(folder, 40), "glasses");
  const file = join(folder, "portrait.png");
  writeFileSync(file, portraits.png(portraits.labels.indexOf(0)));
  await browser.open(`${other.address}/#seed=1`);
  await browser.until(SETTLED);
  await browser.chooseFile("#file", file);
  await browser.until("document.getElementById('edited').naturalWidth > 0");
  await browser.changes(() => browser.click("#code [data-factor=glasses] .switch"), "edited");
  assert.match(await browser.text("edited-command"), /--refined/);
  const [kept, reconstructed] = [await correlation("input", "edited"), await correlation("input", "reconstruction")];
  const edited = await browser.source("edited");
  // Its address has no photograph: the same edit from noise alone.
  const address = await browser.evaluate("location.href");
  const photograph = await browser.source("input");
  await browser.open(address);
  await browser.until("document.getElementById('edited').naturalWidth > 0");
  assert.notEqual(await browser.source("edited"), edited);
  await browser.evaluate(`(async () => { const input = document.getElementById("input"); input.src = ${JSON.stringify(photograph)}; await input.decode(); })()`);
  const lost = await correlation("input", "edited");
  // Half of the start is noise, of twice the photograph's stddev; the correlation with noise alone has a stddev of 0.036.
  assert.ok(kept > 0.2 && reconstructed > 0.2, `${kept} and ${reconstructed}`);
  assert.ok(Math.abs(lost) < 0.12, `${lost}`);
  await browser.leave();
  await stop(other);
});

test("the console shows no error and no warning", () => {
  assert.deepEqual(browser.complaints, []);
});
