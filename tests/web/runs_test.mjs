// A folder of runs in the browser: figures, curves, the same seed and the same image by every model, for runs that are
// finished, still training, or damaged.
import assert from "node:assert/strict";
import { cpSync, readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { pause } from "./browser.mjs";
import { Portraits } from "./portraits.mjs";
import { WIDTHS, drawPortraits, facet, serve, settings, startBrowser, temporaryFolder, train } from "./served.mjs";

const folder = temporaryFolder("runs");
const runs = join(folder, "runs");
train(join(runs, "full"));
train(join(runs, "short"), settings("train.pretrain.steps=60", "train.initialise.steps=20", "train.joint.steps=40", "train.log_every=20"));
for (const name of ["training", "no config", "cut model"]) cpSync(join(runs, "full"), join(runs, name), { recursive: true });
rmSync(join(runs, "training", "eval.json"));
utimesSync(join(runs, "training", "metrics.jsonl"), new Date(), new Date());
writeFileSync(join(runs, "no config", "config.json"), "{");
truncateSync(join(runs, "cut model", "model.safetensors"), 5000);
const portraits = new Portraits(drawPortraits(folder, 40), "glasses");
const portrait = join(folder, "portrait.png");
writeFileSync(portrait, portraits.png(1));
const browser = await startBrowser();
const server = await serve(runs);

const DRAWN = "document.querySelectorAll('#compared article').length > 0 && document.querySelectorAll('#compared [aria-busy=true]').length === 0";

async function open(state = "#runs=full/short/training&seed=3") {
  await browser.open(`${server.address}/${state}`);
  await browser.until(DRAWN);
}

const row = (name) => browser.evaluate(`document.querySelector('tr[data-run="${name}"]').innerText.replace(/\\s+/g, " ")`);

test("runs are listed with state, steps, bound, accuracy and living components", async () => {
  await open();
  assert.equal(await browser.text("runs-count"), "5 runs");
  const { elbo } = JSON.parse(readFileSync(join(runs, "full", "eval.json"), "utf8"));
  assert.match(await row("full"), new RegExp(`finished joint 800, 1,500 in all ${elbo.toFixed(2)} nats \\(test\\) glasses [0-9.]+ %, style [0-9.]+ % glasses 2 of 2, style 4 of 4, first 6 of 6`));
  assert.match(await row("short"), /finished joint 40, 120 in all/);
  assert.match(await row("training"), /running joint 800/);
  assert.match(await row("no config"), /damaged .*config\.json/);
});

test("runs are sorted by bound, the highest first", async () => {
  await open();
  await browser.click("#by-bound");
  const names = await browser.evaluate("[...document.querySelectorAll('#rows tr')].map((row) => row.dataset.run)");
  assert.ok(names.indexOf("full") < names.indexOf("short"), names.join());
  assert.equal(names.at(-1), "no config");
});

test("curves of the chosen runs lie over each other, with one cursor", async () => {
  await open();
  await browser.until("document.querySelectorAll('#charts figure:first-child .line').length === 3");
  const legend = await browser.evaluate("document.querySelector('#charts .legend').innerText");
  for (const name of ["full", "short", "training"]) assert.match(legend, new RegExp(name));
  const chart = await browser.evaluate(`(() => {
    const node = document.querySelector("#charts svg");
    node.scrollIntoView({ block: "center", behavior: "instant" });
    const area = node.getBoundingClientRect();
    return { x: area.left + area.width / 2, y: area.top + area.height / 2 };
  })()`);
  await browser.send("Input.dispatchMouseEvent", { type: "mouseMoved", ...chart });
  await browser.until("document.querySelectorAll('#charts .cursor[visibility=visible]').length === 4");
  assert.match(await browser.evaluate("document.querySelector('#charts .readout').innerText"), /step \d+\s+full .*short .*training /s);
});

test("each model shows the same seed, as its own command does", async () => {
  await open();
  const pictures = await browser.evaluate("[...document.querySelectorAll('#compared .picture')].map((image) => image.src)");
  assert.equal(pictures.length, 3);
  assert.equal(pictures[0], pictures[2]); // a copy of the same model
  assert.notEqual(pictures[0], pictures[1]);
  const file = join(folder, "sample.png");
  facet("sample", join(runs, "short"), "--bare", "--count", "1", "--seed", "3", "--temperature", "0.7", "--out", file);
  assert.equal(pictures[1], "data:image/png;base64," + readFileSync(file).toString("base64"));
  const old = pictures[1];
  await browser.click("#redraw");
  await browser.until(`${DRAWN} && document.querySelectorAll('#compared .picture')[1].src !== ${JSON.stringify(old)}`);
  assert.doesNotMatch(await browser.evaluate("location.hash"), /seed=3$/);
});

test("an image is shown beside its reconstruction by each model", async () => {
  await open("#runs=full/short&seed=3");
  await browser.chooseFile("#file", portrait);
  await browser.until("document.querySelectorAll('#compared .picture').length === 6");
  const sources = await browser.evaluate("[...document.querySelectorAll('#compared .picture')].map((image) => image.src)");
  assert.equal(sources[1], sources[4]); // the image
  assert.notEqual(sources[2], sources[5]); // its reconstructions
  await browser.click("#no-image");
  await browser.until(`${DRAWN} && document.querySelectorAll('#compared .picture').length === 2`);
});

test("a damaged model is said to be so, and the others are shown", async () => {
  await open("#runs=full/cut%20model&seed=3");
  assert.match(await browser.evaluate("document.querySelector('[data-run=\"cut model\"] .error-text').innerText"), /model\.safetensors/);
  assert.equal(await browser.evaluate("document.querySelectorAll('#compared .picture').length"), 1);
  await browser.until("document.querySelector('tr[data-run=\"cut model\"] .status').textContent === 'damaged'");
  assert.ok(browser.complaints.splice(0).every((line) => line.includes("500 (Internal Server Error)")));
});

test("runs are chosen with boxes, and the way back is the browser's", async () => {
  await open("#runs=full&seed=3");
  await browser.click("tr[data-run=short] input");
  await browser.until(`${DRAWN} && document.querySelectorAll('#compared .picture').length === 2`);
  assert.equal(new URLSearchParams(await browser.evaluate("location.hash.slice(1)")).get("runs"), "full/short");
  await browser.evaluate("history.back()");
  await browser.until(`${DRAWN} && document.querySelectorAll('#compared .picture').length === 1`);
});

test("a run's name leads to its explorer, and back", async () => {
  await open();
  await browser.click("tr[data-run=short] a");
  await browser.until("document.getElementById('picture')?.naturalWidth > 0");
  assert.equal(await browser.text("run"), "short");
  await browser.click("#all-runs");
  await browser.until("document.querySelectorAll('#rows tr').length === 5");
});

for (const width of WIDTHS) {
  test(`the page of runs fits into ${width} pixels`, async () => {
    await browser.resize(width, width === 844 ? 390 : 900, { phone: width === 390 });
    await open();
    assert.ok((await browser.evaluate("document.documentElement.scrollWidth")) <= width);
    await browser.resize(1280, 900);
  });
}

test("the page of runs in the dark theme", async () => {
  await browser.resize(1280, 900, { dark: true });
  await open();
  assert.ok((await browser.evaluate("Number(/\\d+/.exec(getComputedStyle(document.body).backgroundColor)[0])")) < 80); // and axe-core looks at it
});

test("a folder without runs, and options of one run, are refused in one line", async () => {
  const empty = temporaryFolder("empty");
  for (const [path, options, expected] of [[empty, [], /no run in it/], [runs, ["--write"], /--write with a folder of runs/]]) {
    const message = await serve(path, options).catch((error) => error.message.trim());
    assert.match(message, expected);
    assert.equal(message.split("\n").length, 1, message);
  }
});

test("the console shows no error and no warning", async () => {
  await pause(100);
  assert.deepEqual(browser.complaints, []);
});
