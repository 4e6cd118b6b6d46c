// A plugin of TypeDoc. A function gets a table of its options, and an example from the guide with a link to that page.
// The pages become accessible.

import { readFileSync, readdirSync } from 'node:fs';

import { Converter, PageEvent, ReflectionKind } from '../tests/node_modules/typedoc/dist/index.js';

/** @param {import('typedoc').Application} app */
export function load(app) {
  // The highlighter stops after half a second on a line. With a clock that stands still, no page depends on speed.
  Date.now = () => 0;
  // The types of another package, of which only a part is written down.
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const type of project.getReflectionsByKind(ReflectionKind.All))
      if (type.name === 'EsbuildParts') project.removeReflection(type);
  });
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    for (const call of project.getReflectionsByKind(ReflectionKind.CallSignature))
      document(/** @type {any} */ (call), (text) => app.logger.error(/** @type {any} */ (text)));
  });
  app.renderer.on(PageEvent.END, (page) => {
    page.contents = inOrder(
      (page.contents ?? '')
        .replace('<div class="col-content">', '<div class="col-content" role="main">')
        .replace('<div class="page-menu">', '<div class="page-menu" role="navigation" aria-label="Contents">')
        .replace(/<summary[^>]*>.*?<\/summary>/gs, (summary) => summary.replace(/<a\b[^>]*>.*?<\/a>/gs, ''))
        .replace('<nav id="tsd-sidebar-links"', '<nav aria-label="Other pages" id="tsd-sidebar-links"'),
    );
  });
}

const guide = new URL('guide/', import.meta.url);
/** Each example of the guide: its page, and its code. */
const examples = readdirSync(guide)
  .filter((file) => file.endsWith('.md'))
  .sort((a) => (a === 'run.md' ? -1 : 1)) // the page that shows the most usual call
  .flatMap((file) => {
    const text = readFileSync(new URL(file, guide), 'utf8');
    return [...text.matchAll(/^```(?:js|javascript)\S*(?: [^\n]*)?\n(.*?)^```/gms)].map(([, code = '']) => ({
      file,
      code,
    }));
  });

/**
 * Completes the comment of a signature. A function without an example in the guide is an error.
 * @param {any} signature
 * @param {(text: string) => void} fail
 */
function document(signature, fail) {
  if (signature.parent.parent.kind !== ReflectionKind.Module) return;
  addOptions(signature);
  const imported = new RegExp(`^import \\{.*\\b${signature.name}\\b.*\\} from 'rushlight`, 'm'),
    found = examples.find(({ code }) => imported.test(code));
  if (!found) return fail(`no page of the guide imports ${signature.name}: the reference shows an example of it`);
  const [page] = found.file.split('.');
  const text = `\n\nFrom the guide's page [${page}](../../guide/${page}.html):\n\n\`\`\`js\n${found.code}\`\`\`\n`;
  signature.comment.summary.push({ kind: 'text', text });
}

/** Appends the table of a signature's options to its comment. @param {any} signature */
function addOptions(signature) {
  const options = signature.parameters?.find((/** @type {any} */ p) => p.name === 'options');
  const fields = fieldsOf(options?.type);
  if (!fields.length || !signature.comment) return;
  const rows = fields.map((field) => [
    `\`${field.name}\``,
    `\`${String(field.type).replaceAll('|', '\\|')}\``,
    textOf(field),
  ]);
  const table = [['Option', 'Type', 'Meaning'], ['---', '---', '---'], ...rows].map(
    (cells) => `| ${cells.join(' | ')} |`,
  );
  signature.comment.summary.push({ kind: 'text', text: `\n\n${table.join('\n')}\n` });
}

/** The fields of an object type, also of an intersection or an alias. @param {any} type @returns {any[]} */
function fieldsOf(type) {
  if (type?.type === 'intersection') return type.types.flatMap(fieldsOf);
  const of = type?.type === 'reference' ? type.reflection : type?.type === 'reflection' ? type.declaration : undefined;
  return of?.children ?? fieldsOfAlias(of);
}
const fieldsOfAlias = (/** @type {any} */ alias) => (alias?.type ? fieldsOf(alias.type) : []);

/** The comment of a field in one line of a table. @param {any} field */
function textOf({ comment }) {
  const text = (comment?.summary ?? []).map((/** @type {any} */ part) => part.text).join('');
  return text.replace(/\s+/g, ' ').replaceAll('|', '\\|');
}

/** Lowers each heading to one level below the heading before it. @param {string} html */
function inOrder(html) {
  let last = 0,
    now = 0;
  return html.replace(/<(\/?)h([1-6])\b/g, (_, close, level) => {
    if (!close) last = now = Math.min(Number(level), last + 1);
    return `<${close}h${now}`;
  });
}
