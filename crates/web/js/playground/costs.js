// The views of what a text costs: contexts, languages, and keystrokes.

import { refuse, spelt } from "./model.js";
import { lowerBound } from "./rows.js";

// Context lengths without a model, from 8k to 1M, and those of models, which have these numbers of tokens, and this token and its id.
const SIZES = [...[8, 16, 32, 64, 128, 256, 512].map((kibi) => [`${kibi}k`, kibi * 1024]), ["1M", 2 ** 20]];
const MODELS = [
  [50256, " the", 262, [["GPT-2", 1024], ["GPT-3", 2048]]],
  [100256, " the", 279, [["GPT-4 32k", 32768]]],
  [31997, "▁the", 278, [["Llama 1", 2048], ["Llama 2", 4096]]],
];
const MOST_PLACES = 200;
const MOST_TYPED = 100; // characters
const MOST_ENCODED = 25_000_000; // characters that all keystrokes of a tokenizer together can encode
const AROUND = 6; // unchanged tokens that are drawn on each side of an edit
const MOST_DRAWN = 400; // changed tokens that are drawn

const isInside = (byte) => (byte & 0xc0) === 0x80;
const bytesOf = (text) => new TextEncoder().encode(text).length;

/** The number of characters that begin before a place. */
function charsTo(data, end) {
  let chars = 0;
  for (let at = 0; at < end; at++) if (!isInside(data[at])) chars++;
  return chars;
}

function budget(request) {
  const { data, names } = request;
  const own = request.number("context", 0, { most: 2 ** 40 });
  const chars = charsTo(data, data.length);
  const rows = names.flatMap((tokenizer) => {
    const { tok, model } = request.source.get(tokenizer);
    const { ends } = request.cut(tokenizer);
    const known = MODELS.find(([entries, token, id]) => model.tokens.length === entries && tok.tokenId(token) === id);
    return [...(known?.[3] ?? []), ...SIZES, ...(own ? [["yours", own]] : [])].map(([name, context]) => {
      let end = ends.length > context ? ends[context - 1] : data.length;
      while (end < data.length && isInside(data[end])) end--;
      const fitting = end === data.length ? chars : charsTo(data, end);
      const windows = Math.ceil(ends.length / context);
      return { tokenizer, model: name, context, tokens: ends.length, windows, fitting_bytes: end, fitting_chars: fitting };
    });
  });
  return { bytes: data.length, chars, rows };
}

/** The Gini coefficient; null without amounts. */
function gini(amounts) {
  const sum = amounts.reduce((total, each) => total + each, 0);
  const differences = amounts.reduce((total, one) => total + amounts.reduce((own, other) => own + Math.abs(one - other), 0), 0);
  return sum ? differences / (2 * amounts.length * sum) : null;
}

const EDGE = /^[\p{White_Space}\x1c-\x1f]|[\p{White_Space}\x1c-\x1f]$|^$/u;

function parity(request) {
  const { tok } = request.own;
  const lines = request.values.lines ?? [];
  const texts = lines.length ? new Map(lines.map(ownText)) : new Map(Object.entries(request.source.texts));
  const languages = Array.from(texts, ([name, text]) => {
    const plain = text.replace(/\n$/, "");
    const rows = plain.split("\n");
    return { name, lines: rows.length, bytes: bytesOf(plain), tokens: tok.count(plain, { special: "text" }), layout: rows.filter((row) => EDGE.test(row)).length };
  });
  const [{ name: reference, tokens: base }] = languages;
  for (const each of languages) each.premium = base ? each.tokens / base : null;
  const worst = languages.reduce((most, each) => (each.tokens > most.tokens ? each : most)).name;
  const perByte = languages.filter(({ bytes }) => bytes).map(({ tokens, bytes }) => tokens / bytes);
  return { reference, languages, gini: gini(languages.map(({ tokens }) => tokens)), gini_per_byte: gini(perByte), warnings: [...doubts(languages)], worst };
}

function ownText(line, place) {
  const [name, ...rest] = line.split(":");
  if (!rest.length || !name.trim()) refuse("InvalidOption", `line ${place + 1}: expected a language, a colon and a text in that language, not '${line.slice(0, 40)}'`);
  return [name.trim(), rest.join(":").trim()];
}

function* doubts(languages) {
  const num = (value) => value.toLocaleString("en");
  if (new Set(languages.map(({ lines }) => lines)).size > 1) {
    const numbers = languages.map(({ name, lines }) => `${name} ${num(lines)}`).join(", ");
    yield `the numbers of lines differ, so the texts may not have the same meaning (${numbers})`;
  }
  for (const { name, lines, layout, tokens } of languages) {
    const found = `${num(layout)} of ${num(lines)} lines of ${name} are blank, or begin or end with white space`;
    if (layout) yield `${found}; strip them, otherwise this compares layout and not language`;
    if (!tokens) yield `${name} has no text`;
  }
}

/** A text with places in it, in characters, that rise. */
class Typing {
  constructor(request) {
    const typed = Array.from(request.string("typed", "e")).slice(0, MOST_TYPED).join("");
    if (!typed) refuse("InvalidOption", "typed: expected at least one character");
    Object.assign(this, { request, typed, text: request.text, size: charsTo(request.data, request.data.length) });
  }

  /** The unit and the byte of each place. */
  *at(places) {
    let [unit, byte, char] = [0, 0, 0];
    for (const place of places) {
      for (; char < place; char++) {
        const code = this.text.codePointAt(unit);
        unit += code > 0xffff ? 2 : 1;
        byte += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
      }
      yield { place, unit, byte };
    }
  }

  /** The ids before and after typing at a unit, and how many of them are the same in front and behind. */
  change(name, unit) {
    const { special, source } = this.request;
    const old = this.request.cut(name).ids;
    const ids = source.get(name).tok.encode(this.text.slice(0, unit) + this.typed + this.text.slice(unit), { special });
    const most = Math.min(old.length, ids.length);
    let [before, after] = [0, 0];
    while (before < most && old[before] === ids[before]) before++;
    while (after < most - before && old[old.length - 1 - after] === ids[ids.length - 1 - after]) after++;
    return { old, ids, before, after, removed: old.length - before - after, new: ids.length - before - after };
  }
}

function stability(request) {
  const typing = new Typing(request);
  const { size, typed } = typing;
  const most = Math.max(1, Math.min(MOST_PLACES, Math.floor(MOST_ENCODED / (size || 1))));
  const spread = (place) => (most === 1 ? Math.floor(size / 2) : Math.floor((size * place) / (most - 1)));
  const places = size < most ? Array.from({ length: size + 1 }, (_, place) => place) : Array.from({ length: most }, (_, place) => spread(place));
  const rows = request.names.map((tokenizer) => {
    const { ids, ends } = request.cut(tokenizer);
    const keystrokes = Array.from(typing.at(places), ({ place, unit, byte }) => {
      const { before, removed, new: came } = typing.change(tokenizer, unit);
      return { place, before, removed, new: came, lost: Math.max(0, lowerBound(ends, byte, true) - before) };
    });
    const mean = (of) => keystrokes.reduce((sum, each) => sum + of(each), 0) / keystrokes.length;
    const worst = keystrokes.reduce((found, each) => (each.new > found.new ? each : found));
    return { tokenizer, tokens: ids.length, new: mean((each) => each.new), lost: mean((each) => each.lost), losing: mean((each) => Number(each.lost > 0)), worst, keystrokes };
  });
  return { typed, size, places: places.length, rows };
}

function edit(request) {
  const typing = new Typing(request);
  const at = request.number("at", 0, { most: typing.size });
  const [{ unit }] = typing.at([at]);
  const rows = request.names.map((tokenizer) => {
    const { tok, model } = request.source.get(tokenizer);
    const { old, ids, before, after, removed, new: came } = typing.change(tokenizer, unit);
    const views = (all, amount) => {
      const first = Math.max(0, before - AROUND);
      const last = before + Math.min(amount, MOST_DRAWN) + (amount <= MOST_DRAWN ? AROUND : 0);
      return Array.from(all.subarray(first, last), (id, place) => {
        const kept = first + place < before || first + place >= before + amount;
        return { id, ...spelt(tok.token(id)), special: model.special.has(id), kept };
      });
    };
    const total = before + came + after;
    const share = (part) => (total ? part / total : 1);
    return { tokenizer, before, removed, new: came, after, reused: share(before), kept: share(before + after), old: views(old, removed), edited: views(ids, came) };
  });
  return { start: at, end: at, text: typing.typed, rows };
}

/** The views by name. */
export const COSTS = { budget, parity, stability, edit };
