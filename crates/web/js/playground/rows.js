// A text in rows of a given width, with the tokens of several tokenizers; only the rows of a window are made.

import { characterSize, clusters, plain, textOf, tokenText } from "./drawing.js";

const UNIT = 10; // units of width in a cell
const BREAK_WITHIN = 24; // characters before the end of a row among which a row can break at a space
const WIDEST = 250; // units
const CIRCLE = 12; // units: the circle under a mark that begins a token
const MOST_ASKED = 1000;
const MARGIN = BREAK_WITHIN + 8; // rows: the end of a row depends on fewer rows than this after it
const NEAR = 20_000; // bytes after an edit to search for a row that starts as before
const LINE = 2000; // bytes of a line that decide its direction
const LOOK_BACK = 32; // tokens that the colour of a token depends on
const [STARTS, ALONE, AGREES] = [1, 2, 4];
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;
const WIDE = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const MARK = /^\p{M}/u;

export const hasRightToLeft = (text) => RIGHT_TO_LEFT.test(text);

/** The number of values up to `value` in ascending numbers, without or with equal ones. */
export function lowerBound(numbers, value, isRight = false) {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < value || (isRight && numbers[middle] === value)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The width of each character, as the page measured it, or an estimate until then. */
export class Widths {
  version = 0;
  #units = new Uint8Array(0x110000); // and 1, so that 0 is none yet
  #marks = new Uint8Array(0x110000);
  #missing = new Set();
  #seen = new Set();

  of(point) {
    return (this.#units[point] || this.#estimate(point)) - 1;
  }

  /** Whether a character is a mark. */
  isMark(point) {
    return this.#marks[point] === 1;
  }

  #estimate(point) {
    const char = String.fromCodePoint(point);
    const drawing = tokenText(new TextEncoder().encode(`a${char}`)).slice(1);
    const units = UNIT * Array.from(drawing, (each) => (MARK.test(each) ? 0 : WIDE.test(each) ? 2 : 1)).reduce((sum, cells) => sum + cells, 0);
    if (char > "~" && drawing === char && !this.#seen.has(char)) this.#missing.add(char);
    this.#marks[point] = Number(MARK.test(char));
    return (this.#units[point] = Math.min(units, WIDEST) + 1);
  }

  /** Characters to measure. */
  get wanted() {
    return [...this.#missing].sort((left, right) => left.codePointAt(0) - right.codePointAt(0)).slice(0, MOST_ASKED).join("");
  }

  take(measured) {
    for (const [char, units] of Object.entries(measured)) {
      this.of(char.codePointAt(0));
      this.#units[char.codePointAt(0)] = Math.min(units, WIDEST) + 1;
      this.#missing.delete(char);
      this.#seen.add(char);
    }
    this.version += 1;
  }
}

/** The byte at which each row starts, and the end of the text; `base` is the first byte of the text in that of the cuts. */
export function rowStarts(text, { cells, widths, cuts }, base = 0) {
  // By character: its code, its first byte, and its width.
  const [points, places, units] = [new Uint32Array(text.length), new Uint32Array(text.length + 1), new Uint16Array(text.length)];
  let size = 0;
  places[0] = base;
  for (let at = 0; at < text.length; size++) {
    const code = text.codePointAt(at);
    const point = code >= 0xd800 && code < 0xe000 ? 0xfffd : code;
    at += code < 0x10000 ? 1 : 2;
    points[size] = point;
    places[size + 1] = places[size] + (point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4);
    units[size] = widths.of(point);
  }
  for (const { ends } of cuts) widen({ units, places, points, size }, widths, ends);
  const reach = new Uint32Array(size + 1);
  for (let at = 0; at < size; at++) reach[at + 1] = reach[at] + units[at];
  const [room, starts] = [cells * UNIT, []];
  for (let at = 0; at < size; ) {
    let lineEnd = points.indexOf(10, at) + 1;
    if (lineEnd === 0 || lineEnd > size) lineEnd = size;
    while (at < lineEnd) {
      starts.push(places[at]);
      if (reach[lineEnd] - reach[at] <= room) break;
      const full = Math.max(at + 1, lowerBound(reach, reach[at] + room, true) - 1);
      const least = Math.max(at + 1, full - BREAK_WITHIN);
      let space = full;
      while (space >= least && points[space] !== 32) space--;
      at = space >= least ? space : full;
    }
    at = lineEnd;
  }
  starts.push(places[size]);
  return starts;
}

/** The starts of an edited text, by those of the old one; `at` and `until` are the bytes between which text or tokens differ. */
export function updateStarts(old, data, frame, at, until) {
  const by = data.length - old.at(-1);
  const row = lowerBound(old, at, true) - 1 - MARGIN;
  const begin = Math.max(at ? data.lastIndexOf(10, at - 1) + 1 : 0, row > 0 ? old[row] : 0);
  const lineEnd = data.indexOf(10, until) + 1 || data.length;
  let end = Math.min(lineEnd, until + NEAR);
  while (end < lineEnd && (data[end] & 0xc0) === 0x80) end++;
  const lay = (to) => rowStarts(textOf(data.subarray(begin, to)), frame, begin);
  const joinStarts = (near, from) => old.slice(0, lowerBound(old, begin)).concat(near, old.slice(lowerBound(old, from - by)).map((start) => start + by));
  if (end < lineEnd) { // a long line: once a row starts at an old start, all later rows do
    const near = lay(end).slice(0, -MARGIN);
    const same = near.findIndex((start) => start >= until && old[lowerBound(old, start - by)] === start - by);
    if (same >= 0) return joinStarts(near.slice(0, same), near[same]);
  }
  return joinStarts(lay(lineEnd).slice(0, -1), lineEnd);
}

/** Widens characters for the numbers of shared bytes and the circles under marks. */
function widen({ units, places, points, size }, widths, ends) {
  let char = 0;
  for (let token = lowerBound(ends, places[0]); token < ends.length && ends[token] < places[size]; token++) {
    while (places[char + 1] <= ends[token]) char++;
    if (places[char] !== ends[token]) units[char] = Math.max(units[char], UNIT * (places[char + 1] - places[char]));
    else if (widths.isMark(points[char])) units[char] = Math.max(units[char], CIRCLE);
  }
}

const startOf = (ends, token) => (token ? ends[token - 1] : 0);

/** The colours of tokens, 0 to 4, by the byte at which each begins; neighbours differ. */
export function colours(ends, first, last) {
  const from = Math.max(0, first - LOOK_BACK);
  const result = [];
  let [before, run] = [-1, 0];
  for (let token = from; token < last; token++) {
    const mixed = Math.imul(startOf(ends, token), 0x9e3779b1) >>> 0;
    const own = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca77) >>> 30;
    run = own === before ? run + 1 : 0;
    before = own;
    if (token >= first) result.push(run % 2 === 0 ? own : 4);
  }
  return result;
}

/** The tokens of a text, laid out in rows. */
export class Rows {
  constructor(data, starts, cuts, marks) {
    Object.assign(this, { data, starts, cuts, marks });
  }

  get size() {
    return this.starts.length - 1;
  }

  rowOf(byte) {
    return Math.max(0, Math.min(lowerBound(this.starts, byte, true) - 1, this.size - 1));
  }

  span(which, token) {
    const { ends } = this.cuts[which];
    return [startOf(ends, token), ends[token]];
  }

  /** The rows `first` to `last`, as far as these exist. */
  window(first, last) {
    first = Math.max(0, Math.min(first, this.size));
    last = Math.max(first, Math.min(last, this.size));
    const starts = this.starts.slice(first, last + 1);
    const rows = starts.slice(1).map((end, place) => [starts[place], end]);
    return {
      rows: this.size,
      first,
      starts,
      right: rows.map(([start, end]) => Number(this.#runsLeft(start, end))),
      lines: rows.map(([start, end]) => this.#line(start, end)),
      cuts: this.cuts.map((_, which) => this.#cutWindow(which, starts, rows)),
    };
  }

  #line(start, end) {
    const text = textOf(this.data.subarray(start, end));
    return hasRightToLeft(text) ? plain(text).replaceAll("\n", "") : null;
  }

  #runsLeft(start, end) {
    const newline = start ? this.data.lastIndexOf(10, start - 1) : -1;
    let line = Math.max(newline + 1, start - LINE);
    while (line < end && !characterSize(this.data, line)) line++;
    const letter = /\p{L}/u.exec(textOf(this.data.subarray(line, Math.min(end, line + LINE))));
    return letter !== null && hasRightToLeft(letter[0]);
  }

  #cutWindow(which, starts, rows) {
    const { ids, ends, look } = this.cuts[which];
    const [first, last] = starts.length > 1 ? this.#tokensIn(which, starts[0], starts.at(-1)) : [0, 0];
    const flags = [];
    for (let token = first; token < last; token++) flags.push(this.#flags(which, startOf(ends, token), ends[token]));
    const drawn = rows.map(([start, end]) => this.#row(which, start, end, first, flags));
    const colour = colours(ends, first, last);
    const tokens = Array.from(ids.slice(first, last), (id, place) => {
      const [text, special] = look(id);
      return [id, text, startOf(ends, first + place), ends[first + place], Number(special), colour[place]];
    });
    return { total: ids.length, first, tokens, rows: drawn };
  }

  /** Whether not all tokenizers cut at the start of a token, and whether all have the token. */
  #flags(which, begin, end) {
    let [alone, agrees] = [false, this.cuts.length > 1];
    this.cuts.forEach(({ ends }, other) => {
      if (other === which) return;
      if (ends.length) alone ||= ends[Math.min(lowerBound(ends, begin), ends.length - 1)] !== begin;
      const at = lowerBound(ends, end);
      agrees &&= ends[at] === end && startOf(ends, at) === begin;
    });
    return (alone && begin > 0 ? ALONE : 0) + (agrees ? AGREES : 0);
  }

  /** The tokens with bytes in a range; a token without bytes belongs to the range that starts at it. */
  #tokensIn(which, start, end) {
    const { ends } = this.cuts[which];
    let first = lowerBound(ends, start, true);
    while (first && (first > 1 ? ends[first - 2] : 0) === start) first--;
    const last = end ? 1 + lowerBound(ends, end) : 0;
    return [first, Math.max(first, Math.min(last, ends.length))];
  }

  /** Runs of a token `[place, text, flags]`, and shared characters `[character, [[place, bytes, flags], …]]`. */
  #row(which, start, end, base, flagged) {
    const [first, last] = this.#tokensIn(which, start, end);
    const { ends } = this.cuts[which];
    const [flags, stretches] = [[], []];
    for (let token = first; token < last; token++) {
      const begin = startOf(ends, token);
      flags.push(flagged[token - base] + (begin >= start ? STARTS : 0));
      stretches.push(this.data.subarray(Math.max(begin, start), Math.max(begin, start, Math.min(ends[token], end))));
    }
    const run = (place, what) => {
      const own = flags[place];
      flags[place] &= AGREES; // the other flags belong to the first run only
      return [first + place, what, own];
    };
    const drawn = ({ text, kind }) => (this.marks || kind !== "mark" ? text : text.replace(/[·→↵]/g, " "));
    return clusters(stretches).flat().map((each) =>
      each.parts ? run(each.place, each.parts.map(drawn).join("").replaceAll("\n", "")) : [each.part.text, each.shares.map(([place, count]) => run(place, count))],
    );
  }
}
