// A survey as raters see it: three of them answer in a headless Chromium, one on a phone, one who comes back after the
// server was killed, one who corrects an answer. What they answer is known, so the scores are, and a reference that was
// written from the definitions (tests/scripts/survey_reference.py) says the same.
//   node --test survey_test.mjs, with the program in FACET_PROGRAM
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { facet, serveWith, startBrowser, stop, temporaryFolder } from "./served.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const place = temporaryFolder("survey");
const folder = join(place, "survey");
const CANNOT_TELL = "cannot tell";

const config = {
  data: { portraits: { count: 300, size: 16 } },
  model: {
    likelihood: { kind: "gaussian", minimum_stddev: 0.05 },
    network: { preset: "custom", channels: [8, 8], strides: [2, 2] },
    factors: [
      { name: "glasses", property: "glasses", components: 2, dimensions: 2 },
      { name: "style", property: "hair_style", components: 4, dimensions: 2 },
    ],
  },
  train: { batch_size: 16, pretrain: { steps: 5 }, initialise: { steps: 2 }, joint: { steps: 5 } },
};

writeFileSync(join(place, "config.json"), JSON.stringify(config));
facet("train", join(place, "config.json"), "--out", join(place, "run"));
facet("survey", join(place, "run"), "--out", folder, "--samples", "2", "--controls", "1", "--ask", "glasses=Does it wear glasses?");
const survey = JSON.parse(readFileSync(join(folder, "survey.json")));
const key = new Map(JSON.parse(readFileSync(join(folder, "key.json"))).items.map((item) => [item.item, item]));
const browser = await startBrowser();
const serve = () => serveWith(["survey", folder, "--serve", "--port", "0"]);
let server = await serve();

const READY = "document.querySelectorAll('#choices button:enabled').length > 0 && !document.getElementById('asking').hidden";
const FINISHED = "!document.getElementById('finished').hidden";
const lines = () => readFileSync(join(folder, "answers.csv"), "utf8").trimEnd().split("\n").slice(1).map((line) => line.split(","));

/** What the page asks at the moment. */
function asked() {
  return browser.evaluate(`({
    item: new URLSearchParams(new URL(document.getElementById("picture").src).search).get("item"),
    question: document.getElementById("question").textContent,
    answers: [...document.querySelectorAll("#choices button")].map((button) => button.dataset.answer),
    place: document.getElementById("place").textContent,
  })`);
}

async function begin(rater) {
  await browser.open(`${server.address}/`);
  await browser.until("document.querySelectorAll('#question-list li').length === 2");
  await browser.evaluate(`document.getElementById("rater").value = ${JSON.stringify(rater)}`);
  await browser.click("#start button");
  await browser.until(READY);
}

/** Answers what is asked with the key of the choice; waits for the next question. */
async function answer(value, { click = false } = {}) {
  const now = await asked();
  const number = now.answers.indexOf(value) + 1;
  assert.ok(number > 0, `${value} in ${now.answers}`);
  if (click) await browser.click(`#choices button:nth-child(${number})`);
  else await browser.press(String(number));
  const before = JSON.stringify([now.item, now.question]);
  const next = "JSON.stringify([new URLSearchParams(new URL(document.getElementById('picture').src).search).get('item'), document.getElementById('question').textContent])";
  await browser.until(`${FINISHED} || (${READY} && ${next} !== ${JSON.stringify(before)})`);
  return now;
}

const name = (text) => survey.questions.find((question) => question.text === text).name;

/** Answers to the end as `decide(item, question name)` says; returns what was seen. */
async function play(decide, { click = false, most = Infinity } = {}) {
  const seen = [];
  while (seen.length < most && !(await browser.evaluate(FINISHED))) {
    const { item, question } = await asked();
    seen.push(await answer(decide(item, name(question)), { click }));
  }
  return seen;
}

const right = (item, question) => key.get(item).values[question];
/** Right about glasses, wrong about half of the styles, undecided about photographs. */
function second(item, question) {
  if (question === "glasses") return right(item, question);
  if (key.get(item).kind === "photograph") return CANNOT_TELL;
  const values = survey.questions[1].choices.map((choice) => choice.answer);
  const original = key.get(item).repeats || item;
  return parseInt(original.slice(-1), 16) % 2 ? right(item, question) : values[(values.indexOf(right(item, question)) + 1) % 4];
}
/** Always the first choice, but sees repeated items otherwise than before. */
const third = (item, question) => survey.questions.find((each) => each.name === question).choices[key.get(item).repeats ? 1 : 0].answer;

test("the questions come from the names of properties and values", async () => {
  await begin("try");
  const first = await asked();
  assert.equal(first.question, "Does it wear glasses?");
  assert.deepEqual(first.answers, ["with", "without", CANNOT_TELL]);
  assert.match(first.place, new RegExp(`Picture 1 of ${survey.items.length}`));
  assert.ok(survey.questions[1].text.startsWith("Hair style"));
  assert.equal(survey.questions[1].choices.length, 5);
  assert.deepEqual(browser.complaints, []);
});

test("nothing that is served says what an item is", async () => {
  for (const path of ["key.json", "../key.json", "survey/key.json", "api/v1/key", "pictures/", "answers.csv"]) {
    assert.equal((await fetch(`${server.address}/${path}`)).status, 404, path);
  }
  const text = await (await fetch(`${server.address}/api/v1/survey?rater=spy`)).text();
  assert.ok(!text.includes("photograph") && !text.includes("repeats") && !text.includes("sample"));
  assert.equal((await fetch(`${server.address}/api/v1/picture?item=..%2Fkey`)).status, 404);
});

test("one rater answers everything, with keys", async () => {
  await begin("Ann");
  const seen = await play(right);
  assert.equal(seen.length, survey.items.length * 2);
  assert.equal(new Set(seen.map(({ item }) => item)).size, survey.items.length);
  const written = lines().filter(([rater]) => rater === "Ann");
  assert.equal(written.length, seen.length);
  written.forEach(([, order, item, question, given, milliseconds], index) => {
    assert.equal(Number(order), Math.floor(index / 2) + 1);
    assert.equal(item, seen[index].item);
    assert.equal(given, right(item, question));
    assert.ok(Number(milliseconds) >= 0 && Number(milliseconds) < 60000);
  });
});

test("a second rater sees another order; nothing acknowledged is lost when the server is killed", async () => {
  await begin("Bo");
  const early = await play(second, { most: 13 });
  await stop(server, "SIGKILL");
  assert.equal(lines().filter(([rater]) => rater === "Bo").length, 13);
  // Without a server the page says so, keeps the question and goes on when there is one again.
  const open = await asked();
  await browser.press("1");
  await browser.until("document.getElementById('problem').textContent.includes('not saved')");
  assert.equal((await asked()).item, open.item);
  browser.complaints.length = 0; // of the failed request
  server = await serve();
  await browser.open(`${server.address}/#rater=Bo`);
  await browser.until(READY);
  assert.equal((await asked()).item, open.item);
  const late = await play(second, { click: true });
  assert.equal(early.length + late.length, survey.items.length * 2);
  const order = (rater) => [...new Set(lines().filter(([who]) => who === rater).map(([, , item]) => item))];
  assert.notDeepEqual(order("Ann"), order("Bo"));
  assert.deepEqual([...order("Ann")].sort(), [...order("Bo")].sort());
});

test("a third rater on a phone corrects an answer", async () => {
  await browser.resize(390, 844, { phone: true });
  await begin("Cy");
  assert.ok(await browser.evaluate("document.documentElement.scrollWidth <= innerWidth"));
  const heights = await browser.evaluate("[...document.querySelectorAll('#choices button')].map((button) => button.getBoundingClientRect().height)");
  assert.ok(heights.every((height) => height >= 44), `${heights}`);
  const first = await answer(CANNOT_TELL, { click: true });
  await browser.click("#back");
  await browser.until(`${READY} && document.querySelector("#choices [aria-pressed=true]")?.dataset.answer === "${CANNOT_TELL}"`);
  assert.equal((await asked()).question, first.question);
  await play(third, { click: true });
  await browser.resize(1280, 800);
  const about = lines().filter(([rater, , item, question]) => rater === "Cy" && item === first.item && question === "glasses");
  assert.deepEqual(about.map((line) => line[4]), [CANNOT_TELL, third(first.item, "glasses")]);
});

test("the page can be used without a pointer and by a screen reader", async () => {
  await begin("keys");
  const faults = await browser.evaluate(`(() => {
    const visible = (node) => node.checkVisibility();
    const faults = [];
    if (document.documentElement.lang !== "en") faults.push("no language");
    if ([...document.querySelectorAll("h1")].filter(visible).length !== 1) faults.push("not one h1");
    for (const node of [...document.querySelectorAll("button, input")].filter(visible)) {
      const label = node.textContent.trim() || document.querySelector("label[for=" + node.id + "]")?.textContent;
      if (!label) faults.push("a control without a name");
    }
    for (const image of document.querySelectorAll("img")) if (!image.alt) faults.push("a picture without a name");
    const group = document.getElementById("choices");
    if (group.getAttribute("aria-labelledby") !== "question" || group.getAttribute("role") !== "group") faults.push("choices without a name");
    if (document.getElementById("question").getAttribute("aria-live") !== "polite") faults.push("questions come in silence");
    if (document.getElementById("problem").getAttribute("role") !== "alert") faults.push("faults come in silence");
    return faults;
  })()`);
  assert.deepEqual(faults, []);
  // By the tab key to the first choice, and enter.
  await browser.evaluate("document.querySelector('#choices button').focus()");
  const { item } = await asked();
  await browser.press("Enter");
  await browser.until(`${READY} && document.getElementById("question").textContent.startsWith("Hair style")`);
  assert.equal(lines().at(-1)[2], item);
  assert.deepEqual(browser.complaints, []);
});

test("colours of text have enough contrast, in light and in dark", async () => {
  for (const dark of [false, true]) {
    await browser.resize(1280, 800, { dark });
    await begin("eyes");
    const low = await browser.evaluate(`(() => {
      const parse = (text) => text.match(/[\\d.]+/g).map(Number);
      const light = (colour) => colour.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const behind = (node) => { for (; node; node = node.parentElement) { const colour = parse(getComputedStyle(node).backgroundColor); if (colour.length < 4 || colour[3] > 0) return colour; } };
      return [...document.querySelectorAll("h1, p, span, button, kbd, li, label")].filter((node) => node.checkVisibility() && node.textContent.trim() && !node.disabled)
        .map((node) => { const [a, b] = [light(parse(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x); return [node.tagName + " " + node.textContent.trim(), (a + 0.05) / (b + 0.05)]; })
        .filter(([, ratio]) => ratio < 4.5);
    })()`);
    assert.deepEqual(low, [], dark ? "dark" : "light");
  }
  await browser.resize(1280, 800);
});

test("the scores are those of the answers, and equal the reference", () => {
  // Only the three: what the other tests answered is taken out first.
  const all = readFileSync(join(folder, "answers.csv"), "utf8").split("\n");
  writeFileSync(join(folder, "answers.csv"), all.filter((line) => !/^(keys|eyes|try),/.test(line)).join("\n"));
  const printed = facet("survey", folder, "--score", "--json");
  const score = JSON.parse(printed);
  assert.deepEqual(score.raters.map(({ rater }) => rater), ["Ann", "Bo", "Cy"]);
  const items = [...key.values()].filter(({ repeats }) => !repeats);
  for (const [kind, group] of [["sample", "samples"], ["photograph", "photographs"]]) {
    for (const question of ["glasses", "style"]) {
      const those = items.filter((item) => item.kind === kind);
      const count = those.flatMap(({ item }) => [right, second, third].map((decide) => decide(item, question) === right(item, question)));
      const found = score.questions.find((each) => each.name === question)[group];
      assert.equal(found.answers, count.length);
      assert.equal(found.right, count.filter(Boolean).length, `${group} ${question}`);
    }
  }
  // Two raters say the same of items that come twice, the third never does.
  const repeats = [...key.values()].filter((item) => item.repeats).length;
  for (const question of score.questions) {
    assert.equal(question.repeats.count, 3 * repeats);
    assert.equal(question.repeats.right, 2 * repeats);
  }
  assert.equal(score.questions[0].paper, 0.85);
  const file = join(place, "score.json");
  writeFileSync(file, printed);
  const reference = spawnSync("python3", [join(here, "../scripts/survey_reference.py"), folder, file], { encoding: "utf8" });
  assert.equal(reference.status, 0, reference.stdout + reference.stderr);
});
