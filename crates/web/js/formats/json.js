// JSON of files: repeated names and lone surrogates are errors, and each field is taken once.

import { refuse } from "./draft.js";

const KINDS = { string: "a text", boolean: "true or false", number: "a whole number", array: "a list", object: "an object" };
const kindOf = (value) => (Array.isArray(value) ? "array" : value === null ? "null" : typeof value);
const shown = (value) => JSON.stringify(value)?.slice(0, 40);
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/.source;
const NAME_OR_STRING = new RegExp(`${STRING}(\\s*:)?`, "g");
const STRING_OR_FRACTION = new RegExp(`${STRING}|-?\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?`, "g");

/** The value of a JSON file. In a file of scores, numbers that are not whole are `{digits}`, so that the reader rounds. */
export function parse(data) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    refuse("", "the file is not UTF-8");
  }
  let value;
  try {
    value = JSON.parse(text);
  } catch ({ message }) {
    refuse("", `the file is not JSON: ${message}`);
  }
  let names = 0;
  for (const [, isName] of text.matchAll(NAME_OR_STRING)) names += Number(isName !== undefined);
  if (names !== countNames(value)) refuse("", "a name occurs twice in one JSON object");
  if (Array.isArray(value?.model?.vocab)) {
    value = JSON.parse(text.replace(STRING_OR_FRACTION, (part) => (/^-?\d{1,15}$|^"/.test(part) ? part : `{"digits":"${part}"}`)));
  }
  return value;
}

function countNames(value) {
  if (value === null || typeof value !== "object") {
    const [lone] = (typeof value === "string" && value.match(/\p{Surrogate}/u)) || [];
    if (lone) refuse("", `a text contains the lone surrogate U+${lone.charCodeAt().toString(16).toUpperCase()}`);
    return 0;
  }
  const values = Object.values(value);
  let count = Array.isArray(value) ? 0 : values.length;
  for (const each of values) count += countNames(each);
  return count;
}

/** The object at a place of a file; `finish` refuses fields that were not taken. */
export class Part {
  constructor(value, place) {
    this.place = place;
    if (kindOf(value) !== "object") this.fail(`must be an object, not ${shown(value)}`);
    this.left = { ...value };
  }

  fail(problem, field = "") {
    return refuse([this.place, field].filter(Boolean).join("."), problem);
  }

  /** Removes and returns a field; if it is missing or null, the default, without which it is an error. */
  take(name, kind, usual) {
    const value = Object.hasOwn(this.left, name) ? this.left[name] : undefined;
    delete this.left[name];
    if (value === undefined || (value === null && usual !== undefined)) {
      return usual === undefined ? this.fail("is missing", name) : usual;
    }
    if (kindOf(value) !== kind || (kind === "number" && !Number.isInteger(value))) this.fail(`must be ${KINDS[kind]}, not ${shown(value)}`, name);
    return value;
  }

  text(name, usual) {
    return this.take(name, "string", usual);
  }

  flag(name, usual) {
    return this.take(name, "boolean", usual);
  }

  number(name, usual) {
    const value = this.take(name, "number", usual);
    if (value > Number.MAX_SAFE_INTEGER) this.fail("is too large for a page; expected a number below 2^53", name);
    return value < 0 ? this.fail(`must not be negative, not ${value}`, name) : value;
  }

  char(name) {
    const value = this.text(name);
    return [...value].length === 1 ? value : this.fail(`must be one character, not ${shown(value)}`, name);
  }

  /** The value for one of several texts. */
  choice(name, choices, usual) {
    const value = this.text(name, usual);
    if (!Object.hasOwn(choices, value)) this.fail(`must be one of ${Object.keys(choices).join(", ")}, not ${shown(value)}`, name);
    return choices[value];
  }

  part(name) {
    return new Part(this.take(name, "object"), [this.place, name].filter(Boolean).join("."));
  }

  parts(name) {
    const place = [this.place, name].filter(Boolean).join(".");
    return this.take(name, "array").map((item, at) => new Part(item, `${place}[${at}]`));
  }

  finish() {
    for (const name in this.left) this.fail("is an unknown field, so its meaning is unknown", name);
  }
}
