// The formats of strings in JSON schemas, as regular expressions. Each one allows some of the strings of its format.

const DAY =
  '(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))';
const DATE = `[0-9]{4}-${DAY}`;
const HOURS = '(?:[01][0-9]|2[0-3]):[0-5][0-9]';
const TIME = `${HOURS}:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+\\-]${HOURS})`;
const BYTE = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
const LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9\\-]{0,30}[a-zA-Z0-9])?';
const HOST = `(?:${LABEL}\\.){1,4}[a-zA-Z]{2,12}`;
const PATH = "[a-zA-Z0-9\\-._~!$&'()*+,;=:@/]";

/** @type {Record<string, string>} */
export const FORMATS = {
  date: DATE,
  time: TIME,
  'date-time': `${DATE}T${TIME}`,
  email: `[a-zA-Z0-9_+\\-]{1,24}(?:\\.[a-zA-Z0-9_+\\-]{1,16}){0,2}@${HOST}`,
  hostname: HOST,
  ipv4: `(?:${BYTE}\\.){3}${BYTE}`,
  uri: `https?://${HOST}(?::[1-9][0-9]{1,3})?(?:/${PATH}{0,200})?(?:\\?${PATH}{0,100})?(?:#${PATH}{0,50})?`,
  uuid: '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
};
