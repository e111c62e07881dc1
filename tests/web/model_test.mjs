// Trains the model that the other browser tests use, once for all of them.
//   node --test model_test.mjs, with the program in FACET_PROGRAM and the run folder in FACET_WEB_MODEL
import assert from "node:assert/strict";
import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { begin, sharedModel } from "./served.mjs";

test("the model is trained", async () => {
  rmSync(sharedModel, { recursive: true, force: true });
  const training = begin(sharedModel, []);
  assert.equal(await new Promise((resolve) => training.on("exit", resolve)), 0);
  assert.ok(existsSync(join(sharedModel, "eval.json")));
});
