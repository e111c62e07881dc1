// The explorer as a visitor sees it: a model is trained in seconds, served, and used in a headless Chromium. A
// classifier that was trained on real portraits only decides whether a picture shows glasses.
//   node --test explorer_test.mjs, with the program in FACET_PROGRAM
import assert from "node:assert/strict";
import { appendFileSync, cpSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SETTLED, pause } from "./browser.mjs";
import { Classifier, Portraits } from "./portraits.mjs";
import { downloaded, drawPortraits, facet, serve, stop, visit } from "./served.mjs";

const visited = await visit("explorer");
const { folder, run, browser } = visited;
let { server } = visited;
const SEEN = 900; // portraits that train the classifier; the others test it
const portraits = new Portraits(drawPortraits(folder, 1200), "glasses");
const classifier = new Classifier(portraits, SEEN);

async function open(state = "") {
  await browser.open(`${server.address}/${state}`);
  await browser.until(SETTLED);
}

/** Pixels of a picture on the page at the model's resolution, channel by channel. */
function pixels(id) {
  return browser.evaluate(`(() => {
    const image = document.getElementById("${id}");
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    const scale = canvas.width / 16;
    return Array.from({ length: 768 }, (_, place) => {
      const [channel, y, x] = [Math.floor(place / 256), Math.floor((place % 256) / 16), place % 16];
      return data[4 * (y * scale * canvas.width + x * scale) + channel];
    });
  })()`);
}

function attribute(selector, name) {
  return browser.evaluate(`document.querySelector(${JSON.stringify(selector)}).getAttribute("${name}")`);
}

/** Removes the focus, so that the page receives the space bar. */
function blur() {
  return browser.evaluate("document.activeElement.blur()");
}

const glasses = "#factors [data-factor=glasses] .switch";
const strip = "#factors [data-factor=style] .strip";
const action = (factor, number) => `#factors [data-factor=${factor}] .panel-actions button:nth-child(${number})`;
const [ANY, HOLD, REDRAW] = [1, 2, 3];

test("the classifier is right about portraits it was not trained on", () => {
  assert.ok(classifier.accuracy(portraits, SEEN) >= 0.95);
});

test("the page loads: a picture, a switch for two values, strips for more", async () => {
  await open();
  assert.equal(await browser.evaluate("document.querySelectorAll('#factors .panel').length"), 3);
  assert.equal(await attribute(glasses, "role"), "switch");
  assert.equal(await browser.evaluate("document.querySelectorAll('#factors [data-factor=first] [role=radio]').length"), 6);
  assert.equal(await browser.evaluate("document.getElementById('picture').naturalWidth"), 16); // the browser enlarges it
  assert.match(await attribute("#picture", "alt"), /glasses (with|without), style \w+, first \d/);
});

test("glasses are switched on and off, and the classifier agrees", async () => {
  let agreed = 0;
  for (let seed = 1; seed <= 8; ++seed) {
    await open(`#seed=${seed}&t=0.5&glasses=without`);
    agreed += Number(classifier.score(await pixels("picture")) < 0);
    await browser.changes(() => browser.click(glasses));
    assert.equal(await attribute(glasses, "aria-checked"), "true");
    agreed += Number(classifier.score(await pixels("picture")) > 0);
  }
  assert.ok(agreed >= 12, `the classifier agreed on ${agreed} of 16 pictures`); // the model was trained for seconds
});

test("the space bar redraws what is not held", async () => {
  await open("#seed=3");
  for (const factor of ["glasses", "style", "first"]) await browser.click(action(factor, HOLD));
  await blur();
  const held = await browser.source();
  const address = await browser.evaluate("location.hash");
  await browser.press(" ");
  await browser.until(`location.hash !== ${JSON.stringify(address)} && ${SETTLED}`);
  await pause(200);
  assert.equal(await browser.source(), held);
  await browser.click(action("first", HOLD));
  await blur();
  const style = await attribute("#picture", "alt");
  await browser.changes(() => browser.press(" "));
  assert.equal((await attribute("#picture", "alt")).split(", first")[0], style.split(", first")[0]);
});

test("one factor is redrawn, and any value or a chosen one drawn", async () => {
  await open("#seed=3&style=curly");
  await browser.changes(() => browser.click(action("style", REDRAW)));
  assert.match(await attribute("#picture", "alt"), /style curly/);
  assert.match(await browser.evaluate("location.hash"), /style=curly@\d+/);
  await browser.click(action("style", ANY));
  await browser.until("!location.hash.includes('curly')");
  assert.equal(await attribute(action("style", ANY), "aria-pressed"), "true");
});

test("arrow keys choose along a strip, sliders move within a component", async () => {
  await open("#seed=3&style=short");
  await browser.evaluate(`document.querySelector("${strip} [aria-checked=true]").focus()`);
  await browser.changes(() => browser.press("ArrowRight"));
  assert.match(await browser.evaluate("location.hash"), /style=long/);
  await browser.click("#factors [data-factor=style] summary");
  await browser.until("document.querySelectorAll('#factors [data-factor=style] input[type=range]').length === 4");
  await browser.evaluate("document.querySelector('#factors [data-factor=style] input[type=range]').focus()");
  await browser.changes(() => browser.press("End"));
  await browser.until("/style=long~\\d:4/.test(location.hash)");
});

test("all combinations of two factors, each a button", async () => {
  await open("#seed=3&glasses=without&style=bald");
  await browser.click("#combinations summary");
  await browser.until("document.querySelectorAll('#grid .cell').length === 8");
  assert.equal(await attribute("#grid [aria-pressed=true]", "aria-label"), "glasses without, style bald");
  await browser.changes(() => browser.click("#grid [aria-label='glasses with, style long']"));
  assert.equal(await attribute(glasses, "aria-checked"), "true");
  assert.match(await attribute("#picture", "alt"), /glasses with, style long/);
});

test("a pinned picture stays beside the current one, with a list of differences", async () => {
  await open("#seed=3&glasses=without");
  const before = await browser.source();
  await browser.click("#pin");
  await browser.until("!document.getElementById('pinned-figure').hidden");
  await browser.changes(() => browser.click(glasses));
  assert.equal(await browser.source("pinned-picture"), before);
  assert.equal(await browser.text("difference-list"), "glasses without → with");
  await browser.changes(() => browser.click("#swap"));
  assert.equal(await browser.source(), before);
});

test("charts have one cursor with names, smoothing, a logarithmic axis and a range of steps", async () => {
  await browser.open(`${server.address}/#view=training&seed=1`);
  await browser.until("document.querySelectorAll('#charts .line').length >= 10");
  const over = (type, share) => browser.evaluate(`(() => {
    const chart = document.querySelector("#charts .chart");
    const area = chart.getBoundingClientRect();
    const place = { clientX: area.left + ${share} * area.width, clientY: area.top + 60, bubbles: true };
    chart.dispatchEvent(new PointerEvent("${type}", place));
  })()`);
  await over("pointermove", 0.5);
  const readouts = await browser.evaluate("[...document.querySelectorAll('.readout')].map((node) => node.textContent).filter(Boolean)");
  assert.ok(readouts.length >= 5, "all charts show the step");
  assert.match(readouts[0], /^step \d+train /);
  const axes = await browser.evaluate("[...document.querySelectorAll('#charts .chart')].map((chart) => [...chart.querySelectorAll('.axis')].map((node) => node.textContent).join())");
  assert.equal(axes.length, 6);
  for (const titles of axes) assert.match(titles, /^step,(nats per image|components)$/);
  assert.ok(readouts.some((text) => /KL\[z\] .*KL\[r\] /.test(text)));
  await browser.evaluate("document.getElementById('smoothing').value = 0.8; document.getElementById('smoothing').dispatchEvent(new Event('input'))");
  assert.ok((await browser.evaluate("document.querySelectorAll('#charts .faint').length")) >= 5);
  await browser.click("#log-steps");
  const ticks = "[...document.querySelectorAll('#charts .chart')[0].querySelectorAll('.tick')].map((node) => node.textContent)";
  assert.ok((await browser.evaluate(ticks)).includes("1000"));
  await browser.click("#log-steps");
  await over("pointerdown", 0.5);
  await over("pointerup", 0.8);
  await browser.until("!document.getElementById('all-steps').hidden");
  const steps = "[...document.querySelector('#charts .chart').querySelectorAll('.tick[text-anchor=middle]')].map((node) => node.textContent)";
  assert.ok(!(await browser.evaluate(steps)).includes("0"), "the first steps are out of view");
  const cut = await browser.evaluate(`[...document.querySelectorAll("#charts .chart")].flatMap((chart) => {
    const area = chart.getBoundingClientRect();
    return [...chart.querySelectorAll("text")].filter((node) => {
      const box = node.getBoundingClientRect();
      return box.left < area.left - 1 || box.right > area.right + 1;
    }).map((node) => node.textContent);
  })`);
  assert.deepEqual(cut, []);
  await browser.click("#all-steps");
});

test("the downloaded PNG is the one that its command makes", async () => {
  await open("#seed=3&t=0.6&glasses=with&first=2@17~1:1.5");
  const { name, bytes } = await downloaded(browser, "#download");
  assert.match(name, /^glasses-with/);
  const [called, ...words] = (await browser.text("command")).split(" ");
  assert.equal(called, "facet");
  const file = join(folder, words.pop());
  facet(...words, file);
  assert.deepEqual(readFileSync(file), bytes);
});

test("an image is uploaded, read, edited and downloaded", async () => {
  const row = portraits.labels.findIndex((label, index) => index >= SEEN && label === 0);
  const file = join(folder, "portrait.png");
  writeFileSync(file, portraits.png(row));
  await open("#view=explore");
  await browser.click("#show-image");
  await browser.chooseFile("#file", file);
  await browser.until("document.getElementById('edited').naturalWidth > 0");
  assert.deepEqual(await pixels("input"), [...portraits.image(row)]);
  const note = await browser.evaluate("document.querySelector('#code [data-factor=glasses] .note').textContent");
  assert.match(note, /^without \(\d+(\.\d)? %\)$/);
  assert.ok(classifier.score(await pixels("edited")) < 0);
  await browser.changes(() => browser.click("#code [data-factor=glasses] .switch"), "edited");
  await browser.changes(() => browser.click("#keep-offset"), "edited");
  assert.ok(classifier.score(await pixels("edited")) > 0);
  assert.match(await browser.text("edited-command"), /facet edit .*--change glasses=with/);
  assert.equal((await downloaded(browser, "#edited-download")).bytes.readUInt32BE(16), 256); // its width: 16 pixels, 16 times each
  await browser.changes(() => browser.click("#code [data-factor=glasses] .panel-actions button"), "edited");
  assert.equal(await browser.source("edited"), await browser.source("reconstruction"));
});

test("an edited image comes back from its address, without the image", async () => {
  await browser.changes(() => browser.click("#code [data-factor=glasses] .switch"), "edited");
  const [shown, address] = [await browser.source("edited"), await browser.evaluate("location.hash")];
  await browser.open(`${server.address}/${address}`);
  await browser.until("document.getElementById('edited').naturalWidth > 0");
  assert.equal(await browser.source("edited"), shown);
  assert.equal(await browser.evaluate("document.getElementById('input-figure').hidden"), true);
  assert.match(await browser.text("restored"), /not the image/);
});

test("an image of any type that the browser reads can be dropped anywhere", async () => {
  await open("#seed=3");
  await browser.evaluate(`(async () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [40, 20];
    canvas.getContext("2d").fillRect(0, 0, 40, 20);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/webp"));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([blob], "black.webp", { type: blob.type }));
    window.dispatchEvent(new DragEvent("drop", { dataTransfer, cancelable: true }));
  })()`);
  await browser.until("document.getElementById('edited').naturalWidth > 0");
  assert.deepEqual([...new Set(await pixels("input"))], [0]);
  assert.notEqual(await browser.text("restored"), ""); // it was not square: the page says how it was converted
});

test("the share button copies the address of the picture", async () => {
  await browser.send("Browser.grantPermissions", { permissions: ["clipboardReadWrite", "clipboardSanitizedWrite"] });
  await open("#seed=3&glasses=with");
  await browser.click("#share");
  await browser.until("document.getElementById('announcement').textContent.includes('copied')");
  assert.equal(await browser.evaluate("navigator.clipboard.readText()"), await browser.evaluate("location.href"));
});

test("a file that is not an image is refused with a message", async () => {
  const file = join(folder, "words.txt");
  writeFileSync(file, "no image");
  await open("#seed=3");
  const complaints = browser.complaints.length;
  await browser.chooseFile("#file", file);
  await browser.until("document.getElementById('announcement').textContent.includes('not an image')");
  browser.complaints.splice(complaints); // the page's own warning about it
});

test("a picture comes back from its address; the back button undoes", async () => {
  await open("#seed=5&t=0.8");
  const first = await browser.source();
  await browser.changes(() => browser.click(glasses));
  await browser.changes(() => browser.click("#factors [data-factor=first] [role=radio]:nth-child(5)"));
  const [shown, address] = [await browser.source(), await browser.evaluate("location.href")];
  await browser.open(address);
  await browser.until(SETTLED);
  assert.equal(await browser.source(), shown);
  await open("#seed=5&t=0.8");
  await browser.changes(() => browser.click(glasses));
  await browser.changes(() => browser.evaluate("history.back()"));
  assert.equal(await browser.source(), first);
});

test("an address of another model still shows a picture, and the page lists what it ignored", async () => {
  await open("#seed=5&hat=on&glasses=broken");
  await browser.until("document.getElementById('announcement').textContent.includes(\"no factor 'hat'\")");
});

test("the training view draws curves, living components and samples", async () => {
  await open("#seed=1");
  await browser.click("#show-training");
  await browser.until("document.querySelectorAll('#samples img').length === 24");
  await browser.until("document.querySelectorAll('#charts .line').length >= 10");
  assert.match(await browser.text("training-state"), /Finished after phase 3 joint, step 800/);
  assert.equal(await browser.evaluate("document.querySelectorAll('#living-rows tr').length"), 3);
});

test("curves grow while a run is training", async () => {
  const running = join(folder, "running");
  cpSync(run, running, { recursive: true });
  rmSync(join(running, "eval.json"));
  const lines = readFileSync(join(running, "metrics.jsonl"), "utf8").trimEnd().split("\n");
  writeFileSync(join(running, "metrics.jsonl"), lines.slice(0, -1).join("\n") + "\n");
  const other = await serve(running);
  await browser.open(`${other.address}/#view=training`);
  await browser.until("document.getElementById('training-state').textContent.includes('step 750')");
  appendFileSync(join(running, "metrics.jsonl"), lines.at(-1) + "\n");
  await browser.until("document.getElementById('training-state').textContent.includes('step 800')");
  assert.match(await browser.text("status"), /running/);
  await browser.leave();
  await stop(other);
});

test("a newly saved model encodes the image again, and keeps its changes and the view", async () => {
  const saved = join(folder, "saved");
  const file = join(folder, "portrait.png");
  const model = join(saved, "model.safetensors");
  cpSync(run, saved, { recursive: true });
  rmSync(join(saved, "eval.json")); // the page asks more often while a run is training
  writeFileSync(file, portraits.png(portraits.labels.indexOf(0)));
  const other = await serve(saved);
  await browser.open(`${other.address}/#seed=3`);
  await browser.until(SETTLED);
  await browser.chooseFile("#file", file);
  await browser.until("document.getElementById('edited').naturalWidth > 0");
  await browser.changes(() => browser.click("#code [data-factor=glasses] .switch"), "edited");
  await browser.click("#show-explore");
  utimesSync(model, new Date(), new Date());
  await browser.until("performance.getEntriesByType('resource').filter(({ name }) => name.includes('/encode')).length === 2");
  await pause(300);
  const address = await browser.evaluate("location.hash");
  assert.match(address, /edit=glasses:/);
  assert.doesNotMatch(address, /view=image/);
  await browser.leave();
  await stop(other);
});

test("a page that was opened before the model exists shows the model when it is saved", async () => {
  const young = join(folder, "young");
  cpSync(run, young, { recursive: true, filter: (path) => path === run || path.endsWith("config.json") });
  const other = await serve(young);
  await browser.open(`${other.address}/#seed=3`);
  await browser.until("!document.getElementById('waiting').hidden");
  assert.equal(await browser.text("status"), "waiting");
  cpSync(join(run, "model.safetensors"), join(young, "model.safetensors"));
  await browser.until(`document.getElementById('waiting').hidden && ${SETTLED}`);
  await browser.leave();
  await stop(other);
});

test("on a phone nothing is cut off and everything can be touched", async () => {
  await browser.resize(390, 844, { phone: true });
  const ready = {
    explore: `${SETTLED} && document.querySelectorAll('#grid .cell').length === 8`,
    image: "document.querySelectorAll('#code .panel').length === 3",
    training: "document.querySelectorAll('#samples img').length === 24 && document.querySelectorAll('#charts .line').length >= 10",
  };
  for (const view of Object.keys(ready)) {
    await browser.open(`${server.address}/#view=${view}&seed=3&grid=glasses,style`);
    await browser.until(ready[view]);
    assert.ok((await browser.evaluate("document.documentElement.scrollWidth")) <= 390, `${view} is wider than a phone`);
    const small = await browser.evaluate(`[...document.querySelectorAll("button, select, summary, input[type=range]")]
      .filter((node) => node.checkVisibility() && node.getBoundingClientRect().height < 43.5)
      .map((node) => node.outerHTML.slice(0, 80))`);
    assert.deepEqual(small, []);
  }
  await browser.resize(1280, 900);
});

test("every control has a name for screen readers", async () => {
  await open("#seed=3&grid=glasses,style&first=2~1:1");
  await browser.until("document.querySelectorAll('#grid .cell').length === 8");
  await browser.until("document.querySelectorAll('#factors [data-factor=first] input[type=range]').length === 6");
  const { nodes } = await browser.send("Accessibility.getFullAXTree");
  const roles = ["button", "switch", "radio", "slider", "combobox", "radiogroup", "image"];
  const used = nodes.filter((node) => roles.includes(node.role?.value) && !node.ignored);
  assert.ok(used.length > 30);
  assert.deepEqual(used.filter((node) => !node.name?.value).map((node) => node.role.value), []);
});

for (const dark of [false, true]) {
  test(`text has enough contrast with its background, ${dark ? "dark" : "light"}`, async () => {
    await browser.resize(1280, 900, { dark });
    await open("#seed=3");
    const pairs = [
      ["text", "page"], ["text", "surface"], ["muted", "page"], ["muted", "surface"], ["muted", "raised"], ["text", "accent-soft"],
      ["accent", "surface"], ["accent", "accent-soft"], ["accent-text", "accent"], ["error", "error-soft"], ["good", "surface"],
    ];
    for (const [front, back] of pairs) {
      const ratio = await contrast(front, back);
      assert.ok(ratio >= 4.5, `${front} on ${back}: ${ratio.toFixed(2)}`); // level AA of WCAG 2
    }
    assert.ok((await contrast("control", "surface")) >= 3);
  });
}

/** The contrast of two of the page's colours, as WCAG 2 defines it. */
async function contrast(front, back) {
  const colours = await browser.evaluate(`["${front}", "${back}"].map((name) =>
    getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim())`);
  const [lighter, darker] = colours.map((colour) => {
    const parts = [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16) / 255);
    const [red, green, blue] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }).sort((a, b) => b - a);
  return (lighter + 0.05) / (darker + 0.05);
}

test("a slider shows the same samples over training time and moves the charts' cursor", async () => {
  await browser.open(`${server.address}/#view=training`);
  await browser.until("!document.getElementById('progress').hidden && document.getElementById('checkpoint-picture').naturalWidth > 0");
  assert.equal(await attribute("#checkpoint", "aria-valuetext"), "phase 3 joint, step 800");
  assert.deepEqual(await browser.evaluate("(({ naturalWidth, naturalHeight }) => [naturalWidth, naturalHeight])(document.getElementById('checkpoint-picture'))"), [64, 32]);
  const last = await browser.source("checkpoint-picture");
  await browser.evaluate("document.getElementById('checkpoint').focus()");
  await browser.press("Home");
  await browser.until("document.getElementById('checkpoint-text').textContent === 'phase 1 networks, step 500'");
  await browser.until(`document.getElementById("checkpoint-picture").src !== ${JSON.stringify(last)} && document.getElementById("checkpoint-picture").complete`);
  await browser.until("document.querySelectorAll('#charts .cursor[visibility=visible]').length >= 3");
  assert.match(await browser.evaluate("document.querySelector('#charts .readout').innerText"), /^step 500/);
});

test("the console shows no error and no warning", () => {
  assert.deepEqual(browser.complaints, []);
});

test("a server that is gone is shown, and what was requested is drawn when it is back", async () => {
  await open("#seed=3&glasses=without");
  const before = await browser.source();
  const port = new URL(server.address).port;
  await stop(server);
  await browser.click(glasses);
  await browser.until("document.getElementById('connection').textContent.includes('Reconnecting')");
  assert.equal(await attribute("#connection", "role"), "status");
  assert.equal(await browser.source(), before);
  server = await serve(run, [], port);
  await browser.until(`document.getElementById("picture").src !== ${JSON.stringify(before)} && ${SETTLED}`);
  assert.match(await attribute("#picture", "alt"), /glasses with,/);
  assert.match(await browser.text("command"), /glasses=with/);
  assert.equal(await browser.evaluate("document.getElementById('connection').hidden"), true);
});
