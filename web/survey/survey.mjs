// The page of a survey: one picture at a time, one question at a time. An answer is sent at once, and the next question
// comes when the server has it on its disk. The rater's name is in the address (#rater=NAME), so that loading the page
// again goes on.

const byId = (id) => document.getElementById(id);
const sections = ["welcome", "asking", "finished"];

let survey = null; // what the server says: questions, items in this rater's order, answers
let at = 0; // the number of the question being asked, over all items
let shownAt = 0; // when it was shown
let busy = true; // between an answer and the next question

async function request(address, options) {
  let response;
  try {
    response = await fetch(address, options);
  } catch {
    throw new Error("the server does not answer");
  }
  const json = await response.json();
  if (!response.ok) throw new Error(json.error.message);
  return json;
}

function show(name) {
  for (const each of sections) byId(each).hidden = each !== name;
}

function problem(text) {
  byId("problem").textContent = text;
}

const total = () => survey.items.length * survey.questions.length;
const itemAt = (place) => survey.items[Math.floor(place / survey.questions.length)];
const questionAt = (place) => survey.questions[place % survey.questions.length];
const answerAt = (place) => survey.answers[itemAt(place)]?.[questionAt(place).name];
const pictureOf = (item) => `api/v1/picture?item=${encodeURIComponent(item)}`;

function answeredCount() {
  return Object.values(survey.answers).reduce((sum, answers) => sum + Object.keys(answers).length, 0);
}

/** The first question from `place` on without an answer; the number of all where there is none. */
function nextOpen(place) {
  while (place < total() && answerAt(place) !== undefined) ++place;
  return place;
}

function choiceButton(choice, number, given) {
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.answer = choice.answer;
  button.setAttribute("aria-pressed", String(given === choice.answer));
  if (number <= 9) {
    const key = document.createElement("kbd");
    key.textContent = number;
    key.setAttribute("aria-hidden", "true");
    button.append(key);
  }
  button.append(choice.label);
  button.addEventListener("click", () => answer(choice.answer));
  return button;
}

/** Loads a picture before its question is shown, so that the time to answer is that of looking. */
async function showPicture(item) {
  const picture = byId("picture");
  const address = pictureOf(item);
  if (picture.getAttribute("src") === address) return;
  picture.src = address;
  try {
    await picture.decode();
  } catch {
    throw new Error("the picture could not be loaded; load the page again");
  }
}

async function ask(place) {
  busy = true;
  at = place;
  if (at >= total()) return finish();
  const question = questionAt(at);
  show("asking");
  const number = Math.floor(at / survey.questions.length) + 1;
  byId("place").textContent = `Picture ${number} of ${survey.items.length}`;
  byId("who").textContent = survey.rater;
  byId("progress").max = total();
  byId("progress").value = answeredCount();
  byId("picture").alt = `Picture ${number}`;
  byId("choices").replaceChildren();
  byId("question").textContent = "";
  try {
    await showPicture(itemAt(at));
  } catch (error) {
    return problem(error.message);
  }
  byId("question").textContent = question.text;
  byId("choices").replaceChildren(...question.choices.map((choice, index) => choiceButton(choice, index + 1, answerAt(at))));
  byId("back").disabled = at === 0;
  shownAt = performance.now();
  busy = false;
  const following = survey.items[number];
  if (following) new Image().src = pictureOf(following);
}

function finish() {
  show("finished");
  byId("finished-text").textContent = `All ${survey.items.length} pictures are answered, ${survey.rater}. You can close this page.`;
  byId("finished-title").focus();
}

async function answer(value) {
  if (busy) return;
  busy = true;
  problem("");
  const milliseconds = Math.round(performance.now() - shownAt);
  for (const button of byId("choices").children) {
    button.disabled = true;
    button.setAttribute("aria-pressed", String(button.dataset.answer === value));
  }
  const [item, question] = [itemAt(at), questionAt(at).name];
  try {
    await request("api/v1/answer", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ rater: survey.rater, item, question, answer: value, milliseconds }),
    });
  } catch (error) {
    for (const button of byId("choices").children) {
      button.disabled = false;
      button.setAttribute("aria-pressed", "false");
    }
    busy = false;
    problem(`This answer is not saved: ${error.message}. Please answer again.`);
    return;
  }
  (survey.answers[item] ??= {})[question] = value;
  // After a correction the rater is led through what comes next anyway, up to the first open question.
  await ask(nextOpen(at + 1) === total() ? nextOpen(0) : nextOpen(at + 1));
}

function back() {
  if (busy || at === 0) return;
  problem("");
  ask(at - 1);
}

async function begin(rater) {
  problem("");
  try {
    survey = await request(`api/v1/survey?rater=${encodeURIComponent(rater)}`);
  } catch (error) {
    await welcome();
    return problem(error.message);
  }
  const wanted = `#rater=${encodeURIComponent(survey.rater)}`;
  if (location.hash !== wanted) history.replaceState(null, "", wanted);
  await ask(nextOpen(0));
}

async function welcome() {
  show("welcome");
  try {
    const { questions, count } = await request("api/v1/survey");
    const many = questions.length > 1;
    byId("length").textContent = `You will see ${count} pictures, one after the other. ${many ? "About each there are " + questions.length + " questions" : "About each there is one question"}:`;
    byId("question-list").replaceChildren(...questions.map(({ text }) => Object.assign(document.createElement("li"), { textContent: text })));
  } catch (error) {
    problem(error.message);
  }
}

function start() {
  const rater = new URLSearchParams(location.hash.slice(1)).get("rater");
  if (rater) begin(rater);
  else welcome();
}

byId("start").addEventListener("submit", (event) => {
  event.preventDefault();
  begin(byId("rater").value);
});
byId("back").addEventListener("click", back);
addEventListener("hashchange", start);
addEventListener("keydown", (event) => {
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || byId("asking").hidden) return;
  if (event.key === "Backspace") return back();
  const button = /^[1-9]$/.test(event.key) ? byId("choices").children[Number(event.key) - 1] : undefined;
  if (button) answer(button.dataset.answer);
});
start();
