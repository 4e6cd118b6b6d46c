// The chat template of a file, by @huggingface/jinja. A template is a program: it may use a number of steps, and values
// of a size, so that none runs without end.

import { RushlightError, badArgument, messageOf } from '../base/errors.js';

/** @typedef {import('./libraries.js').JinjaValue} Value @typedef {import('./libraries.js').JinjaNode} Node */

/** The most steps, which take a few seconds: a node is one, and reading a value has more steps the larger it is. */
const MOST_STEPS = 1 << 22;
/** The steps of a turn of a loop, whose variables the interpreter makes anew. */
const STEPS_OF_TURN = 64;
/** The most characters of a string, and a 16th as many elements of a list. */
const MOST_CHARACTERS = 1 << 22;
/** The most characters of a template. */
const MOST_TEMPLATE = 1 << 20;

/** Counts the steps of one rendering. */
class Budget {
  #left = MOST_STEPS;

  /** @param {number} steps */
  spend(steps) {
    this.#left -= steps;
    if (this.#left < 0) throw new RushlightError('interrupted', `the chat template must end after ${MOST_STEPS} steps`);
  }

  /** @param {number} size of a value @param {number} most */
  check(size, most) {
    if (size > most)
      throw new RushlightError('interrupted', `the chat template must make values of at most ${most}, got ${size}`);
  }

  /** @param {Value} value @param {boolean} walked whether each element is looked at */
  read({ value }, walked) {
    if (typeof value === 'string') {
      this.check(value.length, MOST_CHARACTERS);
      this.spend(1 + (value.length >> 6));
    } else {
      const size = Array.isArray(value) ? value.length : value instanceof Map ? value.size : 0;
      this.check(size, MOST_CHARACTERS / 16);
      this.spend(1 + (walked ? STEPS_OF_TURN * size : size >> 6));
    }
  }
}

/** @param {Budget} budget */
const rangeOf = (budget) => (/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ step) => {
  const [start, end, by] = to === undefined ? [0, from, 1] : [from, to, step ?? 1],
    size = Math.ceil((end - start) / by);
  if (!Number.isFinite(size)) throw new Error('range() needs numbers, and a step that is not 0');
  budget.check(size, MOST_CHARACTERS / 16);
  return Array.from({ length: Math.max(0, size) }, (_, i) => start + i * by);
};

/** Returns a class whose interpreters count. @param {import('./libraries.js').JinjaModule} library */
const counting = ({ Interpreter }) =>
  class extends Interpreter {
    #budget;
    /** Nodes whose values a loop walks through. @type {WeakSet<Node>} */ #walked = new WeakSet();

    /** @param {object} environment @param {Budget} budget */
    constructor(environment, budget) {
      super(environment);
      this.#budget = budget;
    }

    /** @override @param {Node} node @param {object} environment @returns {Value} */
    evaluate(node, environment) {
      const walked = node?.iterable && (node.iterable.lhs ?? node.iterable);
      if (walked) this.#walked.add(walked);
      const value = super.evaluate(node, environment);
      this.#budget.read(value, Boolean(node) && this.#walked.has(node));
      return value;
    }
  };

/** The chat template of a file. */
export class ChatTemplate {
  #library;
  #parsed;
  #interpreter;

  /** @param {import('./libraries.js').JinjaModule} library @param {string} text */
  constructor(library, text) {
    if (text.length > MOST_TEMPLATE)
      throw new RushlightError(
        'bad-file',
        `chat_template.jinja must have at most ${MOST_TEMPLATE} characters, got ${text.length}`,
      );
    this.text = text;
    this.#library = library;
    this.#interpreter = counting(library);
    try {
      this.#parsed = new library.Template(text).parsed;
    } catch (e) {
      throw new RushlightError('bad-file', `chat_template.jinja cannot be read: ${messageOf(e)}`, { cause: e });
    }
  }

  /** Returns the text that the template makes. @param {Record<string, unknown>} variables */
  render(variables) {
    const { Environment, Template } = this.#library,
      environment = new Environment(),
      budget = new Budget(),
      names = {
        ...{ false: false, true: true, none: null, False: false, True: true, None: null },
        range: rangeOf(budget),
        strftime_now: (/** @type {unknown} */ format) => new Template('{{ strftime_now(f) }}').render({ f: format }),
        raise_exception(/** @type {unknown} */ message) {
          throw badArgument(`generate: the chat template refuses the messages: ${message}`, { actual: message });
        },
        ...variables,
      };
    try {
      for (const [name, value] of Object.entries(names)) environment.set(name, value);
      return String(new this.#interpreter(environment, budget).run(this.#parsed).value);
    } catch (e) {
      if (e instanceof RushlightError) throw e;
      throw new RushlightError('bad-argument', `generate: the chat template failed: ${messageOf(e)}`, { cause: e });
    }
  }
}
