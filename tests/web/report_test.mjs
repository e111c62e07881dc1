// The report in a browser: its curves are the explorer's charts, with one cursor and one range of steps, and the page fits any width.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { WIDTHS, facet, finallyDo, startBrowser, temporaryFolder, train } from "./served.mjs";
import { serveFolder } from "./static_server.mjs";

const folder = temporaryFolder("report");
train(join(folder, "run"));
const file = join(folder, "report.html");
facet("report", join(folder, "run"), "--out", file);
const browser = await startBrowser();
const host = await serveFolder(dirname(file));
finallyDo(() => host.close());

async function open() {
  await browser.open(`${host.address}/report.html`);
  await browser.until("document.querySelectorAll('#curves .live path.line').length > 10");
}

test("all charts show names and values at the pointer's step, and a range is one for all", async () => {
  await open();
  const chart = await browser.evaluate(`(() => {
    const node = document.querySelector("#curves .live > svg:not(.printed)");
    node.scrollIntoView({ block: "center", behavior: "instant" });
    const area = node.getBoundingClientRect();
    return { left: area.left, width: area.width, y: area.top + area.height / 2 };
  })()`);
  const mouse = (type, share, buttons = 0) => browser.send("Input.dispatchMouseEvent",
    { type, x: chart.left + share * chart.width, y: chart.y, button: buttons ? "left" : "none", buttons, clickCount: buttons });
  await mouse("mouseMoved", 0.8);
  await browser.until("document.querySelectorAll('#curves .cursor[visibility=visible]').length >= 8");
  assert.match(await browser.evaluate("document.querySelector('#curves .readout').innerText"), /^step \d+\s+train -?\d/);
  const ticks = () => browser.evaluate("[...document.querySelectorAll('#curves .live > svg:not(.printed)')].at(-1).textContent");
  const before = await ticks();
  await mouse("mousePressed", 0.5, 1);
  await mouse("mouseMoved", 0.9, 1);
  await mouse("mouseReleased", 0.9, 1);
  assert.notEqual(await ticks(), before);
});

test("the report names one count of steps, and options stay whole", async () => {
  await open();
  const text = await browser.evaluate("document.querySelector('header').innerText");
  assert.match(text, /trained for 1,500 steps/);
  const broken = await browser.evaluate(`[...document.querySelectorAll(".word")].filter((word) => word.textContent.startsWith("--")
    && word.getClientRects().length > 1).map((word) => word.textContent)`);
  assert.deepEqual(broken, []);
});

test("what scrolls can be focused", async () => {
  await open();
  const lost = await browser.evaluate(`[...document.querySelectorAll("*")].filter((node) => node.scrollWidth > node.clientWidth + 1
    && ["auto", "scroll"].includes(getComputedStyle(node).overflowX) && node.tabIndex < 0).map((node) => node.outerHTML.slice(0, 80))`);
  assert.deepEqual(lost, []);
});

for (const width of WIDTHS) {
  test(`the report fits into ${width} pixels`, async () => {
    await browser.resize(width, 900, { phone: width === 390 });
    await open();
    assert.ok((await browser.evaluate("document.documentElement.scrollWidth")) <= width);
    await browser.resize(1280, 900);
  });
}

test("the report in the dark theme", async () => {
  await browser.resize(1280, 900, { dark: true });
  await open();
  assert.ok((await browser.evaluate("Number(/\\d+/.exec(getComputedStyle(document.body).backgroundColor)[0])")) < 80); // and axe-core looks at it
});

test("the console shows no error and no warning", () => {
  assert.deepEqual(browser.complaints.filter((line) => !line.includes("favicon")), []);
});
