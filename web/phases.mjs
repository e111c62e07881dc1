// The phases of a training: their names, all records on one axis of steps, and how far a run is. Everything here is pure.

const PHASES = { pretrain: "1 networks", initialise: "2 mixtures", joint: "3 joint" };

/** The name of a phase on the page. */
export function phaseName(phase) {
  return PHASES[phase] ?? String(phase);
}

/** Puts the records of all phases on one axis of steps; skips unreadable lines. @returns {{records: object[], phases: object[]}} */
export function onOneAxis(records) {
  const phases = [];
  const placed = records.filter((record) => Number.isFinite(record.step)).map((record) => {
    let phase = phases.at(-1);
    if (phase?.phase !== record.phase) {
      const first = phase?.last ?? 0;
      phase = { phase: record.phase, name: phaseName(record.phase), first, last: first };
      phases.push(phase);
    }
    const at = phase.first + record.step;
    phase.last = Math.max(phase.last, at);
    return { ...record, at };
  });
  return { records: placed, phases };
}

/** The share of all steps that is done. */
export function progress({ state, phase, step, phase_steps: steps = {} }) {
  if (state === "finished") return 1;
  const names = Object.keys(PHASES);
  const all = names.reduce((sum, name) => sum + (steps[name] ?? 0), 0);
  const before = names.slice(0, Math.max(0, names.indexOf(phase))).reduce((sum, name) => sum + (steps[name] ?? 0), 0);
  return all > 0 && phase ? Math.min(1, (before + step) / all) : 0;
}

/** The state of the training in words. */
export function sentence({ state, phase, step, phase_steps: steps }) {
  const of = steps?.[phase] > step ? ` of ${steps[phase]}` : "";
  const where = phase ? `phase ${phaseName(phase)}, step ${step}${of}` : "";
  return {
    waiting: "Waiting for the first metrics",
    running: `Training: ${where}`,
    finished: where ? `Finished after ${where}` : "Finished",
    stopped: `Stopped at ${where}; nothing has changed for five minutes`,
  }[state] ?? state;
}
