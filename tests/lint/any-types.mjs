// ESLint rules on the type `any` in JSDoc comments, which switches the checks of TypeScript off.
//
//   any      refuses it in a type. A tag may follow other text in its line
//   reason   a comment that disables a rule for a line or a file must have a reason, after " -- "
//
// The one form for a type that has to be `any` is therefore this line before the comment:
//   // eslint-disable-next-line types/any -- REASON

/** A tag with the brace of its type. */
const TYPE = /@\w+\s*\{/g;
/** The word in a type, and not a property of that name. */
const ANY = /(?<![\w$.'"])any(?![\w$'"]|\??:)/;
const DIRECTIVE = /^\s*eslint-(?:disable|enable)/;
const REASON = / -- \s*\S+ \S+/;

/** Returns the types in braces of a JSDoc comment. @param {string} text @returns {string[]} */
function typesIn(text) {
  return [...text.matchAll(TYPE)].map(({ index, 0: tag }) => {
    const start = index + tag.length;
    let end = start;
    for (let depth = 1; depth > 0 && end < text.length; end++)
      depth += text[end] === '{' ? 1 : text[end] === '}' ? -1 : 0;
    return text.slice(start, end);
  });
}

/**
 * @typedef {import('eslint').Rule.RuleContext} Context
 * @typedef {import('estree').Comment & { loc: import('estree').SourceLocation }} Comment
 */

/**
 * @param {Context} context @param {string} message @param {number} column of the report
 * @param {(comment: Comment) => boolean} finds
 */
const forComments = (context, message, column, finds) => ({
  Program() {
    for (const comment of /** @type {Comment[]} */ (context.sourceCode.getAllComments()))
      if (finds(comment)) context.report({ loc: { line: comment.loc.start.line, column }, message });
  },
});

const any = {
  meta: { type: 'problem', schema: [] },
  /** @param {Context} context */
  create: (context) =>
    forComments(
      context,
      'a type must not be any without a reason',
      0,
      ({ type, value }) => type === 'Block' && value.startsWith('*') && typesIn(value).some((text) => ANY.test(text)),
    ),
};

const reason = {
  meta: { type: 'problem', schema: [] },
  // A comment that disables all rules applies from its own place on, and must not disable this one.
  /** @param {Context} context */
  create: (context) =>
    forComments(
      context,
      'a disabled rule must have a reason, after " -- "',
      -1,
      ({ value }) => DIRECTIVE.test(value) && !REASON.test(value),
    ),
};

export default { rules: { any, reason } };
