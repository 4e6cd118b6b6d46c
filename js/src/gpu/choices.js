// Decisions of `device: 'auto'`, which this device remembers by adapter and model.

/**
 * @typedef {{ device: 'cpu' | 'webgpu', why: string }} Choice
 * @typedef {Record<string, Choice>} Choices
 */

const PREFIX = 'rushlight-device ';

/** Decisions of this page. @type {Map<string, Choice>} */
const choices = new Map();

/** Returns the storage of a page, which may be disabled. */
function storage() {
  try {
    return typeof document === 'undefined' ? undefined : localStorage;
  } catch {
    return undefined;
  }
}

/** Returns the decision for a model on an adapter. @param {string} key @returns {Choice | undefined} */
export function getChoice(key) {
  try {
    return choices.get(key) ?? JSON.parse(storage()?.getItem(PREFIX + key) ?? 'null') ?? undefined;
  } catch {
    return undefined; // the entry is damaged
  }
}

/** @param {string} key @param {Choice} choice */
export function setChoice(key, choice) {
  choices.set(key, choice);
  try {
    storage()?.setItem(PREFIX + key, JSON.stringify(choice));
  } catch {
    // it is full
  }
}

/** Returns all decisions, for a worker, which has no storage. @returns {Choices} */
export function allChoices() {
  const stored = Object.keys(storage() ?? {}).filter((key) => key.startsWith(PREFIX));
  const keys = [...choices.keys(), ...stored.map((key) => key.slice(PREFIX.length))];
  return Object.fromEntries(
    keys.flatMap((key) => {
      const choice = getChoice(key);
      return choice ? [[key, choice]] : [];
    }),
  );
}
