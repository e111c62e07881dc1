// Every part of the page in every state, with all details and dialogs open, at the widths of windows that it is made for, in the
// light and in the dark theme: nothing scrolls sideways, leaves its card or is squeezed, and axe-core finds nothing.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SETTLED, pause } from "./browser.mjs";
import { Portraits } from "./portraits.mjs";
import { WIDTHS, drawPortraits, expectAccessible, settings, visit } from "./served.mjs";

// Many components, so that there is a wall; few steps, because what the model has learned does not matter.
const training = settings("model.factors.2.components=256", "train.pretrain.steps=100", "train.initialise.steps=50", "train.joint.steps=20");
const { folder, browser, server } = await visit("layout", { training, serving: ["--write"] });
const portrait = join(folder, "portrait.png");
writeFileSync(portrait, new Portraits(drawPortraits(folder, 40), "glasses").png(3));

/** A file with a picture that no model of portraits has seen. */
const checks = join(folder, "checks.png");
writeFileSync(checks, Buffer.from(await browser.evaluate(`(() => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [16, 16];
  const context = canvas.getContext("2d");
  for (let place = 0; place < 256; ++place) {
    context.fillStyle = (place + (place >> 4)) % 2 ? "#f0f" : "#0f0";
    context.fillRect(place % 16, place >> 4, 1, 1);
  }
  return canvas.toDataURL().split(",")[1];
})()`), "base64"));

const pinned = encodeURIComponent("seed=5&t=0.7&glasses=with");
const openAll = (selector) => browser.evaluate(`document.querySelectorAll("${selector}").forEach((node) => (node.open = true))`);
const LISTED = "document.querySelectorAll('.data-cell:not([hidden])').length > 4 && document.querySelector('.data-cell').ariaLabel !== 'Loading'";

async function visitData(state) {
  await browser.open(`${server.address}/#view=data&seed=3${state}`);
  await browser.until(LISTED);
}

async function uploaded(file = portrait) {
  await browser.open(`${server.address}/#view=image&seed=3`);
  await browser.until("document.querySelectorAll('#code .panel').length === 3");
  await browser.chooseFile("#file", file);
  await browser.until("document.getElementById('edited').naturalWidth > 0 && document.getElementById('trust').textContent !== ''");
}

/** How to reach each state of the page. */
const states = {
  async explore() {
    await browser.open(`${server.address}/#seed=3`);
    await browser.until(SETTLED);
  },
  async "explore, everything open"() {
    await browser.open(`${server.address}/#seed=3&pin=${pinned}&grid=glasses,style&style=long~1:1`);
    await browser.until(SETTLED);
    await openAll("#explore details");
    await browser.until("document.querySelectorAll('#path-images img').length === 9 && document.querySelectorAll('#sheet-images img').length === 24");
    await browser.until("document.querySelectorAll('#nearest-images img').length === 8 && document.querySelectorAll('#grid .cell').length === 8");
    await browser.until("document.querySelectorAll('#factors .slider').length >= 12");
  },
  async "naming a factor"() {
    await states.explore();
    await browser.evaluate("document.querySelector('#factors h3 button').click()");
    await browser.until("document.getElementById('name-dialog').open");
  },
  async "no image yet"() {
    await browser.open(`${server.address}/#view=image&seed=3`);
    await browser.until("document.querySelectorAll('#code .panel').length === 3");
  },
  async "an image, everything open"() {
    await uploaded();
    await browser.evaluate("document.querySelector('#code [data-factor=glasses] .switch').click()");
    await openAll("#image details");
    await browser.until("document.querySelectorAll('#similar-images img').length === 8");
  },
  async "an image unlike the data"() {
    await uploaded(checks);
    await browser.until("!document.getElementById('unlike').hidden");
  },
  "all images": () => visitData("&images=,,index,"),
  async "a component, its map and labels"() {
    await visitData("&images=style,1,typical,");
    await openAll("#data details");
    await browser.until("document.getElementById('map').dataset.drawn === 'latents pca'");
  },
  async "many components"() {
    await visitData("&images=first,,typical,");
    await browser.until("document.querySelectorAll('.component-card').length > 3");
    await browser.evaluate("document.getElementById('data-fold').click()");
  },
  async "marked images"() {
    await visitData("&images=,,index,");
    await browser.evaluate(`(() => {
      document.getElementById("mark").click();
      [...document.querySelectorAll(".data-cell")].slice(0, 3).forEach((cell) => cell.click());
    })()`);
    await browser.until("document.querySelectorAll('.data-cell[aria-pressed=true]').length === 3");
  },
  async "one image"() {
    await visitData("&images=,,index,");
    await browser.evaluate("document.querySelector('.data-cell').click()");
    await browser.until("document.getElementById('image-dialog').open");
  },
  async "training"() {
    await browser.open(`${server.address}/#view=training&seed=3`);
    await browser.until("document.querySelectorAll('#samples img').length === 24 && document.querySelectorAll('#charts .line').length >= 10");
    await browser.evaluate(`(() => {
      const chart = document.querySelector("#charts .chart");
      const area = chart.getBoundingClientRect();
      chart.dispatchEvent(new PointerEvent("pointermove", { clientX: area.left + area.width / 2, clientY: area.top + 60, bubbles: true }));
    })()`);
  },
  async "a message and no server"() {
    await states.explore();
    await browser.evaluate(`(() => {
      window.fetch = () => Promise.reject(new Error("gone"));
      document.getElementById("redraw").click();
      const field = document.getElementById("seed");
      field.value = "x";
      field.dispatchEvent(new Event("change"));
    })()`);
    await browser.until("!document.getElementById('connection').hidden && document.getElementById('announcement').textContent !== ''");
  },
};

const CARDS = ".panel, .disclosure, .chart-figure, .side-panel, dialog, .command, .comparison, .component-card, .data-cell, .option, .drop, .warning, .top";

/** What leaves its card, sideways or, for what has a height of its own, downwards; what a part scrolls by itself is not counted. */
function outside() {
  return browser.evaluate(`[...document.querySelectorAll(${JSON.stringify(CARDS)})].filter((card) => card.checkVisibility()).flatMap((card) => {
    const area = card.getBoundingClientRect();
    if (area.width === 0) return [];
    const scrolls = (node) => {
      for (let parent = node.parentElement; parent !== card; parent = parent.parentElement) {
        if (getComputedStyle(parent).overflowX !== "visible") return true;
      }
      return false;
    };
    const downwards = card.matches(".component-card, .data-cell, .option");
    return [...card.querySelectorAll("*")].filter((node) => node.checkVisibility() && !(node instanceof SVGElement && node.tagName !== "svg")
      && !node.matches(".off-screen, .unseen, caption, .crop-handle, .crop-box, option, datalist, datalist *") && !scrolls(node)).filter((node) => {
      const box = node.getBoundingClientRect();
      return box.width > 1 && (box.right > area.right + 1 || box.left < area.left - 1 || (downwards && box.bottom > area.bottom + 1));
    }).map((node) => card.className + " " + (card.dataset.factor ?? card.id) + ": " + node.outerHTML.slice(0, 90));
  })`);
}

/** Texts that are so narrow that they have a few letters a line. */
function squeezed() {
  return browser.evaluate(`(() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const text = node.textContent.trim();
      const aside = ".off-screen, .unseen, caption, option, #share, #theme, code"; // for screen readers, or made to wrap
      if (text.length < 4 || !node.parentElement.checkVisibility() || node.parentElement.closest(aside)) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const lines = new Set([...range.getClientRects()].filter(({ width }) => width > 0).map(({ top }) => Math.round(top)));
      if (lines.size > 2 && text.length / lines.size < 8) found.push(node.parentElement.tagName + ": " + text);
    }
    return found;
  })()`);
}

for (const [name, reach] of Object.entries(states)) {
  test(`${name}: at every width nothing scrolls sideways, leaves its card or is squeezed`, async () => {
    for (const width of WIDTHS) {
      await browser.resize(width, width === 844 ? 390 : 900, { phone: width === 390 });
      if (width === 390 || width === 1024) await reach(); // the other windows are made from these: a phone is turned, a window widened
      await pause(150);
      assert.ok((await browser.evaluate("document.documentElement.scrollWidth")) <= width, `at ${width} pixels the page scrolls sideways`);
      assert.deepEqual(await outside(), [], `at ${width} pixels`);
      assert.deepEqual(await squeezed(), [], `at ${width} pixels`);
      if (width !== 390 && width !== 1280) continue;
      for (const dark of [false, true]) {
        await browser.resize(width, 900, { phone: width === 390, dark });
        await pause(250); // colours change over 0.18 seconds
        // Of the rules that it has, the theme changes one.
        await expectAccessible(browser, `${name} at ${width} pixels, ${dark ? "dark" : "light"}`, dark ? ["color-contrast"] : undefined);
      }
    }
    await browser.resize(1280, 900);
  });
}

test("the console shows no error and no warning", () => {
  assert.deepEqual(browser.complaints, []);
});
