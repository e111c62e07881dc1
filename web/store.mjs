// The state of the page with its history. Every change is written to the address, so that a picture can be shared and
// the browser's back button is undo. Changes of one gesture, such as a slider that moves, are one step of the history.

import { toAddress } from "./state.mjs";

/** Milliseconds between two writes of the address during a gesture: browsers refuse too many. */
const ADDRESS_INTERVAL = 250;
/** Milliseconds after which the same slider begins another gesture. */
const GESTURE_PAUSE = 1500;

export class Store {
  #gesture = null;
  #changed = 0;
  #writing;

  /** @param {() => void} onChange */
  constructor(state, onChange) {
    this.state = state;
    this.onChange = onChange;
    this.step = history.state?.step ?? 0;
    this.last = Math.max(this.step, Number(kept("facet-last-step") ?? 0));
    if (history.state?.step === undefined) {
      this.last = this.step;
      history.replaceState({ step: this.step }, "");
    }
  }

  get canUndo() {
    return this.step > 0;
  }

  get canRedo() {
    return this.step < this.last;
  }

  /**
   * @param {string|boolean} gesture a name for intermediate changes that become one step, such as "temperature"; true
   * replaces the current step
   */
  set(state, gesture = false) {
    const now = performance.now();
    const continues = gesture === true || (gesture && gesture === this.#gesture && now - this.#changed < GESTURE_PAUSE);
    if (!continues) this.settle();
    this.state = state;
    this.#gesture = gesture;
    this.#changed = now;
    if (continues) this.#writing ??= setTimeout(() => this.settle(), ADDRESS_INTERVAL);
    else this.#push();
    this.onChange();
  }

  /** The same state in other words: no step of the history, and nothing to draw. */
  replace(state) {
    this.settle();
    this.state = state;
    history.replaceState({ step: this.step }, "", "#" + toAddress(state));
  }

  /** Writes intermediate changes that are not in the address yet. */
  settle() {
    if (this.#writing === undefined) return;
    this.#forget();
    const address = "#" + toAddress(this.state);
    if (address !== location.hash) history.replaceState({ step: this.step }, "", address);
  }

  undo() {
    this.settle();
    if (this.canUndo) history.back();
  }

  redo() {
    this.settle();
    if (this.canRedo) history.forward();
  }

  /** The browser has moved in its history, or the user has written another address. */
  arrived() {
    this.#forget();
    this.#gesture = null;
    if (history.state?.step === undefined) { // a new address: what could be redone is gone
      this.last = ++this.step;
      history.replaceState({ step: this.step }, "");
      keep("facet-last-step", this.last);
    }
    this.step = history.state.step;
  }

  #push() {
    const address = "#" + toAddress(this.state);
    if (address === location.hash) return;
    this.last = ++this.step;
    keep("facet-last-step", this.last);
    history.pushState({ step: this.step }, "", address);
  }

  #forget() {
    clearTimeout(this.#writing);
    this.#writing = undefined;
  }
}

function keep(key, value) {
  try {
    sessionStorage.setItem(key, String(value));
  } catch {
    // This browser stores nothing: after a reload there is no redo.
  }
}

function kept(key) {
  try {
    return sessionStorage.getItem(key);
  } catch {
    return null;
  }
}
