// What people add to a run: names of factors and components, and labels of images, written with the page's own controls. Both are
// kept in the run and used by commands, and the labels are a table that facet import reads.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { SETTLED } from "./browser.mjs";
import { facet, visit } from "./served.mjs";

const { folder, run, browser, server } = await visit("people", { serving: ["--write"] });

async function open(state = "#view=data&seed=1") {
  await browser.open(`${server.address}/${state}`);
  await browser.until("document.getElementById('model-facts').textContent.includes('factor')");
}

const LISTED = "document.querySelectorAll('.data-cell:not([hidden])').length > 8 && document.querySelector('.data-cell').ariaLabel !== 'Loading'";
const api = (path, options) => browser.evaluate(`fetch("api/v1/${path}", ${JSON.stringify(options ?? {})}).then((answer) => answer.json())`);
const post = (path, body) => api(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
const write = (id, text) => browser.evaluate(`(() => {
  const field = document.getElementById("${id}");
  field.value = ${JSON.stringify(text)};
  field.dispatchEvent(new Event("change"));
})()`);
const names = () => JSON.parse(readFileSync(join(run, "names.json"), "utf8")).factors;
const said = (text) => browser.until(`document.getElementById('announcement').textContent.includes(${JSON.stringify(text)})`);

test("a click on a factor's heading names it and its component, and what was chosen stays chosen", async () => {
  await open("#seed=3&first=3");
  await browser.until(SETTLED);
  const picture = await browser.source();
  const rename = async (text, target) => {
    await browser.click("#factors .panel:nth-child(3) h3 button");
    await browser.until("document.getElementById('name-dialog').open");
    if (target) await write("name-target", target);
    await write("name-text", text);
    await browser.click("#name-save");
    await browser.until("!document.getElementById('name-dialog').open");
  };
  await rename("sky");
  await browser.until(`document.querySelector("#factors [data-factor=sky]") !== null && ${SETTLED}`);
  await rename("backdrop");
  await browser.until(`document.querySelector("#factors [data-factor=backdrop]") !== null && ${SETTLED}`);
  assert.match(await browser.evaluate("location.hash"), /backdrop=3$/);
  await rename("blue", "3");
  await browser.until(`/backdrop=blue$/.test(location.hash) && ${SETTLED}`);
  assert.equal(await browser.source(), picture);
  assert.match(await browser.evaluate("document.getElementById('picture').alt"), /backdrop blue/);
  assert.deepEqual(names(), { first: { name: "backdrop", components: { 3: "blue" } } });
  await browser.click("#factors [data-factor=backdrop] h3 button");
  await write("name-text", "glasses");
  await browser.click("#name-save");
  await browser.until("document.getElementById('name-fault').textContent !== ''"); // another factor has this name
  await browser.click("#name-own");
  await browser.until(`document.querySelector("#factors [data-factor=first]") !== null && ${SETTLED}`);
  assert.match(await browser.evaluate("location.hash"), /first=blue$/);
  browser.complaints.splice(0); // the refusal
});

test("labels suggest a name for a component", async () => {
  await open("#view=data&seed=1&images=style,1,typical,");
  await browser.until(LISTED);
  assert.equal(await browser.text("rename"), "Rename the component");
  await browser.click("#rename");
  await browser.until("!document.getElementById('name-suggestion').hidden || document.getElementById('name-text').value === 'short'");
  await write("name-text", "x");
  await write("name-target", "");
  await browser.until("!document.getElementById('name-suggestion').hidden");
  assert.match(await browser.text("name-suggestion"), /^Use “hair_style”: explains this factor$/);
  await browser.click("#name-suggestion");
  assert.equal(await browser.evaluate("document.getElementById('name-text').value"), "hair_style");
  await browser.click("#name-close");
});

test("a name is used by the page, by commands and by addresses, and old names still work", async () => {
  await open();
  await post("names", { factor: "first", component: 3, name: "" });
  await post("names", { factor: "first", name: "background" });
  await post("names", { factor: "background", component: 3, name: "blue" });
  const saved = JSON.parse(readFileSync(join(run, "names.json"), "utf8"));
  assert.deepEqual(saved, { factors: { first: { name: "background", components: { 3: "blue" } } } });
  await browser.open(`${server.address}/#seed=3&first=3`);
  await browser.until(`${SETTLED} && document.querySelector("[data-factor=background]") !== null`);
  assert.match(await browser.evaluate("document.getElementById('picture').alt"), /background blue/);
  assert.match(await browser.text("command"), /--fix background=blue/);
  facet("sample", run, "--count", "1", "--fix", "background=blue", "--out", join(folder, "named.png"));
  facet("sample", run, "--count", "1", "--fix", "first=3", "--out", join(folder, "old.png"));
  assert.deepEqual(readFileSync(join(folder, "named.png")), readFileSync(join(folder, "old.png")));
  assert.match(facet("info", run), /background/);
  const report = join(folder, "report.html");
  facet("report", run, "--out", report);
  assert.match(readFileSync(report, "utf8").replaceAll(/<svg.*?<\/svg>|data:[^"]*/gs, ""), /background/);
  for (const name of ["glasses", "a=b", "7", ""]) {
    const answer = await post("names", { factor: "background", ...(name === "" ? { component: 0, name: "blue" } : { name }) });
    assert.equal(answer.error?.status, 400, name);
  }
  await post("names", { factor: "background", name: "" });
  assert.deepEqual(Object.keys(JSON.parse(readFileSync(join(run, "names.json"), "utf8")).factors), ["first"]);
});

test("marked images, a whole component and one image are labelled, corrected and taken back", async () => {
  await open("#view=data&seed=1&images=,,index,");
  await browser.until(LISTED);
  await write("label-property", "mood");
  await write("label-value", "good");
  await browser.click("#mark");
  await browser.click(".data-cell[aria-label='Image 0']");
  await browser.click(".data-cell[aria-label='Image 2']");
  assert.equal(await browser.evaluate("document.querySelectorAll('.data-cell[aria-pressed=true]').length"), 2);
  assert.equal(await browser.text("label-marked"), "Label 2 marked images");
  await browser.click("#label-marked");
  await said("2 images labelled mood: good");
  const mood = async (index) => (await api(`image?index=${index}`)).image.labels.mood;
  assert.deepEqual([await mood(0), await mood(1), await mood(2)], ["good", undefined, "good"]);
  // one image, corrected in its dialog
  await browser.until(LISTED);
  await browser.click(".data-cell[aria-label='Image 2']");
  await browser.until("document.getElementById('image-dialog').open && document.getElementById('image-labels').textContent.includes('mood: good')");
  await write("one-property", "mood");
  await write("one-value", "bad");
  await browser.click("#label-one button");
  await browser.until("document.getElementById('image-labels').textContent.includes('mood: bad')");
  await write("one-value", "");
  await browser.click("#label-one button");
  await browser.until("!document.getElementById('image-labels').textContent.includes('mood')");
  await browser.click("#image-close");
  // a wrong label of the data is corrected too
  const { image } = await api("image?index=5");
  const wrong = image.labels.glasses === "with" ? "without" : "with";
  await post("labels", { property: "glasses", value: wrong, rows: [5] });
  assert.equal((await api("image?index=5")).image.labels.glasses, wrong);
  await post("labels", { property: "glasses", value: "", rows: [5] });
  assert.equal((await api("image?index=5")).image.labels.glasses, image.labels.glasses);
  // a whole component
  await open("#view=data&seed=1&images=style,0,typical,");
  await browser.until(LISTED);
  await write("label-property", "mood");
  await write("label-value", "plain");
  const { total } = await api("images?factor=style&component=0");
  await browser.click("#label-all");
  await said(`${total.toLocaleString("en")} images labelled mood: plain`);
  assert.ok(existsSync(join(run, "labels.json")));
});

test("Shift marks all images from the last one on", async () => {
  await open("#view=data&seed=1&images=,,index,");
  await browser.until(LISTED);
  await browser.click("#mark");
  await browser.click(".data-cell[aria-label='Image 3']");
  await browser.evaluate("document.querySelector(\".data-cell[aria-label='Image 9']\").dispatchEvent(new MouseEvent('click', { shiftKey: true, bubbles: true }))");
  assert.equal(await browser.text("label-marked"), "Label 7 marked images");
  await browser.click("#mark");
  assert.equal(await browser.evaluate("document.getElementById('label-marked').hidden"), true);
});

test("what to label next are images without the property whose component is least certain", async () => {
  await open("#view=data&seed=1&images=style,,index,");
  await browser.until(LISTED);
  await write("label-property", "mood");
  await browser.click("#label-next");
  await browser.until("location.hash.includes('borderline') && document.getElementById('data-unlabelled').value === 'mood'");
  const next = await api("images?order=borderline&factor=style&unlabelled=mood");
  assert.ok(next.total > 0 && next.images.every((image) => !("mood" in image.labels)));
  const sure = next.images.map((image) => image.code.style.probability);
  assert.deepEqual(sure, [...sure].sort((a, b) => a - b));
  await browser.until(`document.querySelector('.data-cell').ariaLabel === 'Image ${next.images[0].index}'`);
  await browser.until(`document.getElementById('data-count').textContent === '${next.total.toLocaleString("en")} images'`);
});

test("the table has these labels on top of those of the data, and facet import reads it", async () => {
  await open();
  const table = await browser.evaluate("fetch('api/v1/labels.csv').then((answer) => answer.text())");
  const lines = table.trimEnd().split("\n");
  assert.match(lines[0], /^file,.*,mood$/);
  assert.match(lines[1], /^000000\.png,.*,(good|plain)$/);
  const pictures = join(folder, "pictures");
  mkdirSync(pictures);
  for (let index = 0; index < 20; ++index) {
    const { image } = await api(`image?index=${index}`);
    writeFileSync(join(pictures, `${String(index).padStart(6, "0")}.png`), Buffer.from(image.png, "base64"));
  }
  const csv = join(folder, "labels.csv");
  writeFileSync(csv, lines.slice(0, 21).join("\n") + "\n");
  const printed = facet("import", "images", pictures, "--labels", csv, "--size", "16", "--out", join(folder, "again.safetensors"));
  assert.match(printed, /20 images of 16x16/);
  assert.match(printed, /property 'mood': .*(good|plain) \d+/);
});

test("the console shows no error and no warning", () => {
  assert.deepEqual(browser.complaints.filter((line) => !line.includes("400 (Bad Request)")), []);
});
