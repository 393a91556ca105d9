// The views of a page: an answer for each checked request, as the local server gives it.

import { isWhole, textOf, tokenText } from "./drawing.js";
import { lattice } from "./lattice.js";
import { LIMITS } from "./limits.js";
import { keyOf, refuse, spelt, symbolValues, treeOf } from "./model.js";
import { colours, lowerBound } from "./rows.js";

const MOST_ROWS = 200;
const MOST_DECODED = 20_000;
const MOST_LISTED = 600;
const MOST_FOUND = 200;
const MOST_PROPOSED = 12;
const MOST_TOKENS = 400; // of each treatment of special tokens
const MOST_PROMPT = 24; // tokens before the end of a prompt, and after it
const AFTER_PROMPT = 8;
const MOST_CONTINUATIONS = 60;
const NEAR = 20_000; // bytes to search for a piece on each side
const PROPOSED_FROM = 2000; // characters
const SAMPLE = "the goose lays a golden egg every day"; // in place of an empty text

const WORDS = /[ \t\n\r\f\v]*[^ \t\n\r\f\v]+|[ \t\n\r\f\v]+$/g;

const charsOf = (text) => text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);

/** An answer for the page: bytes also as drawn text, and long lists as their beginning and their length. */
export function pageValues(value) {
  if (Array.isArray(value)) return value.map(pageValues);
  if (value === null || typeof value !== "object" || ArrayBuffer.isView(value)) return ArrayBuffer.isView(value) ? [...value] : value;
  const values = {};
  for (const [name, each] of Object.entries(value)) {
    const isLong = Array.isArray(each) && each.length > MOST_LISTED && typeof each[0] === "object" && !Array.isArray(each[0]);
    if (isLong) values[`${name}_total`] = each.length;
    values[name] = pageValues(isLong ? each.slice(0, MOST_LISTED) : each);
  }
  if (typeof value.hex === "string") values.shown = tokenText(Uint8Array.from(value.hex.match(/../g) ?? [], (pair) => parseInt(pair, 16)));
  return values;
}

/** The byte at which each piece ends; an added token that is found is one piece. */
function pieceEnds({ tok, model }, text, special) {
  const { added_tokens: added, normalizers } = model.header;
  const wanted = added.filter((token) => (token.special ? special !== "text" : !token.normalized)).map(({ content }) => content);
  wanted.sort((left, right) => right.length - left.length);
  const parts = wanted.length ? text.split(new RegExp(`(${wanted.map((content) => content.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&")).join("|")})`, "u")) : [text];
  const ends = [];
  let start = 0;
  parts.forEach((part, number) => {
    if (part === "") return;
    const size = new TextEncoder().encode(part).length;
    if (number % 2 || normalizers.length) ends.push(start + size);
    else for (const end of tok.split(part)) ends.push(start + end);
    start += size;
  });
  return ends;
}

/** The tokens of a text with their kinds and ranks, and the ends of its pieces. */
function describe(own, name, text, special) {
  const { tok, model } = own;
  const { ids, ends } = tok.encodeWithOffsets(text, { special, unit: "byte" });
  const tokens = Array.from(ids, (id, at) => {
    const token = tok.token(id);
    return { id, ...spelt(token), start: at ? ends[at - 1] : 0, end: ends[at], kind: model.kindOf(id, token), rank: model.ranks.get(id) ?? null };
  });
  const size = new TextEncoder().encode(text).length;
  return { tokenizer: name, bytes: size, chars: charsOf(text), tokens, piece_ends: pieceEnds(own, text, special) };
}

/** The bytes at which every tokenizer cuts, and the stretches between them that hold another cut. */
function compare(cuts, size) {
  const [first] = cuts;
  if (cuts.length === 1) return { shared: [...first.ends], differences: [] };
  const [shared, differences] = [[], []];
  let [start, before, after] = [0, cuts.map(() => 0), cuts.map(() => 0)]; // tokens up to `start`, and up to an end
  for (const end of first.ends) {
    if (end > size) break;
    let isShared = shared.at(-1) !== end;
    cuts.forEach(({ ends }, which) => {
      while (ends[after[which]] <= end) after[which]++;
      isShared &&= ends[after[which] - 1] === end;
    });
    if (!isShared) continue;
    const places = cuts.map((_, which) => [before[which], after[which]]);
    if (places.some(([from, to]) => to - from > 1)) differences.push({ start, end, places });
    shared.push(end);
    [start, before] = [end, [...after]];
  }
  return { shared, differences };
}

function tokens(request) {
  if (request.names.length === 1) return describe(request.own, request.name, request.text, request.special);
  const { shared, differences } = compare(request.cuts, request.data.length);
  const tokenizers = request.names.map((name) => {
    const { tok, model } = request.source.get(name);
    const { ids, ends } = request.cut(name);
    const rows = Array.from(ids, (id, at) => ({ id, ...spelt(tok.token(id)), special: model.special.has(id), end: ends[at] }));
    return [name, { count: ids.length, tokens: rows }];
  });
  const first = differences.length ? differences[0].start : null;
  const sizes = { bytes: request.data.length, chars: charsOf(request.text) };
  return { ...sizes, tokenizers: Object.fromEntries(tokenizers), shared, differences, first_difference: first };
}

function difference(request) {
  const { laid, cuts } = request;
  const { differences } = compare(cuts, laid.data.length);
  const total = differences.length;
  if (!total) return { total };
  const after = request.number("after", -1, { least: -1 });
  const starts = differences.map(({ start }) => start);
  const at = request.values.back ? lowerBound(starts, after) - 1 : lowerBound(starts, after, true);
  const number = (at + total) % total;
  const { start, end, places } = differences[number];
  const stretch = ({ ids, ends, look }, [first, last]) => {
    const shown = colours(ends, first, last).slice(0, 50);
    return shown.map((colour, place) => [first + place, ids[first + place], look(ids[first + place])[0], colour]);
  };
  return { total, number, start, end, row: laid.rowOf(start), tokens: cuts.map((cut, which) => stretch(cut, places[which])) };
}

/** The ends of pieces to choose from: in a unigram model those of words, because a whole text is one piece. */
function choiceEnds(own, text, special) {
  let end = 0;
  const words = () => (text.match(WORDS) ?? []).map((word) => (end += new TextEncoder().encode(word).length));
  return own.model.header.kind === "unigram" ? words() : pieceEnds(own, text, special);
}

/** The bytes of such a piece, a word without the white space before it. */
const choiceOf = ({ model }, bytes) => (model.header.kind === "unigram" ? new TextEncoder().encode(textOf(bytes).replace(/^[ \t\n\r\f\v]+/, "")) : bytes);

function piece(request) {
  const { data } = request;
  const byte = request.number("byte", 0, { most: data.length });
  let start = byte <= NEAR ? 0 : data.lastIndexOf(10, byte - NEAR / 2 - 1) + 1;
  if (byte - start > 2 * NEAR) {
    start = byte - NEAR;
    while (start < byte && (data[start] & 0xc0) === 0x80) start++;
  }
  let last = Math.min(byte + NEAR, data.length);
  while (last < data.length && (data[last] & 0xc0) === 0x80) last--;
  const near = data.subarray(start, last);
  let begin = 0;
  for (const end of choiceEnds(request.own, textOf(near), request.special)) {
    const found = choiceOf(request.own, near.subarray(begin, end));
    if (start + begin <= byte && byte < start + end) return { piece: textOf(found), start: start + begin, end: start + end };
    begin = end;
  }
  return { piece: "", start: byte, end: byte };
}

function propose(request) {
  const { own, text } = request;
  const near = [...text].slice(0, PROPOSED_FROM).join("");
  const used = near.trim() ? near : SAMPLE;
  const cut = describe(own, request.name, used, "text");
  const data = new TextEncoder().encode(used);
  const pieces = new Map();
  const isUnigram = own.model.header.kind === "unigram";
  let [start, last] = [0, 0];
  for (const end of choiceEnds(own, used, "text")) {
    const first = last;
    while (last < cut.tokens.length && cut.tokens[last].end <= end) last++;
    const found = choiceOf(own, data.subarray(start, end));
    if (found.length && found.length < (isUnigram ? 40 : 100)) pieces.set(keyOf(found), { bytes: found, count: isUnigram ? 2 : last - first });
    start = end;
  }
  const all = [...pieces.values()];
  const long = all.filter(({ bytes }) => bytes.length > 3).sort((one, two) => (one.count === 1) - (two.count === 1) || two.bytes.length - one.bytes.length);
  const texts = (long.length ? long : all).slice(0, 2 * MOST_PROPOSED).filter(({ bytes }) => isWhole(bytes)).slice(0, MOST_PROPOSED);
  const ids = [...new Set(cut.tokens.filter(({ kind }) => kind !== "special").map(({ id }) => id))].map((id) => ({ id, token: own.tok.token(id) }));
  const views = ids.sort((one, two) => two.token.length - one.token.length).slice(0, MOST_PROPOSED);
  return {
    pieces: texts.map(({ bytes }) => ({ piece: textOf(bytes), shown: tokenText(bytes) })),
    tokens: views.map(({ id, token }) => ({ id, shown: tokenText(token), text: isWhole(token) ? textOf(token) : null })),
  };
}

function merges(request) {
  const { model, tok } = request.own;
  if (model.header.kind === "unigram") return lattice(request.own, request.name, request.string("piece"));
  const bytes = new TextEncoder().encode(request.string("piece"));
  const { whole, steps, symbols: merged } = tok.merges(bytes);
  const cut = model.header.normalizers.length ? Number(bytes.length > 0) : tok.split(textOf(bytes)).length;
  return {
    tokenizer: request.name,
    piece: spelt(bytes),
    whole_id: whole,
    steps: steps.map(({ symbols, candidates, chosen }) => ({ symbols: symbols.map(symbolValues), candidates, chosen })),
    merged: merged.map(symbolValues),
    ids: whole === null ? model.finalIds(merged) : [whole],
    cut,
  };
}

function history(request) {
  const { model, tok } = request.own;
  const id = request.number("id");
  const token = tok.token(id);
  if (!model.training || model.counts.length !== model.merges.length || model.header.merge_rule !== "pair") {
    refuse("InvalidOption", "tok: expected a tokenizer that train() made with kind='bpe'; this one has no record of its merges");
  }
  let [born, remaining, before, uses] = [null, null, model.training.symbols, []];
  model.merges.forEach(([left, right, made], place) => {
    const [count, after] = model.counts[place];
    if (id === left || id === right || id === made) {
      const replaced = before - after;
      if (made === id) remaining = replaced;
      else if (remaining !== null) remaining -= replaced * (Number(left === id) + Number(right === id));
      const event = { number: place + 1, left, right, id: made, ...spelt(tok.token(made)), count, replaced, left_over: remaining };
      if (made === id) born = event;
      else uses.push(event);
    }
    before = after;
  });
  const leftOver = (uses.at(-1) ?? born)?.left_over ?? null;
  return { tokenizer: request.name, id, ...spelt(token), born, uses, merges: model.merges.length, left_over: leftOver };
}

/** The order of tokens that fit a query, by what it is; undefined for the others. */
const QUERIES = {
  text: (query) => inOrder(new TextEncoder().encode(query)),
  bytes: (query) => {
    const digits = query.replace(/0x|\s|,/g, "");
    const words = digits.match(/[0-9a-fA-F]{2}|\?\?/g) ?? [];
    if (!words.length || words.join("") !== digits) refuse("InvalidOption", "query: expected hex digits in pairs, such as 'e2 98 ??', where ?? is any byte");
    return inOrder(words.map((word) => (word === "??" ? undefined : parseInt(word, 16))));
  },
  id: (query) => {
    const match = /^\s*(\d{1,12})\s*(?:[-–]\s*(\d{1,12})\s*)?$/.exec(query);
    if (match === null) refuse("InvalidOption", "query: expected an id such as 318, or two with a hyphen, such as 300-320");
    const [first, last] = [Number(match[1]), Number(match[2] ?? match[1])];
    return (id) => (first <= id && id <= last ? 0 : undefined);
  },
};

const inOrder = (wanted) => (_, token) => {
  for (let at = 0; at + wanted.length <= token.length; at++) {
    let same = 0;
    while (same < wanted.length && (wanted[same] === undefined || token[at + same] === wanted[same])) same++;
    if (same === wanted.length) return same === token.length ? 0 : at === 0 ? 1 : 2;
  }
  return undefined;
};

function search(request) {
  const { model } = request.own;
  const [query, by] = [request.string("query"), request.string("by", "text")];
  if (!Object.hasOwn(QUERIES, by)) refuse("InvalidOption", `by: expected one of ${Object.keys(QUERIES).join(", ")}, not ${by}`);
  const order = QUERIES[by](query);
  const tokens = new Map(model.byId);
  for (const { id, content } of model.header.added_tokens) tokens.set(id, new TextEncoder().encode(content));
  const ranked = [];
  for (const [id, token] of tokens) {
    const place = order(id, token);
    if (place !== undefined) ranked.push([place, id, token]);
  }
  ranked.sort(([place, id], [otherPlace, other]) => place - otherPlace || id - other);
  const found = ranked.slice(0, MOST_FOUND).map(([, id, token]) => ({ id, ...spelt(token), kind: model.kindOf(id, token) }));
  return { tokenizer: request.name, query, by, total: ranked.length, found };
}

function lengths(request) {
  const tokenizers = request.names.map((name) => {
    const counts = new Map();
    for (const { length } of request.source.get(name).model.tokens) counts.set(length, (counts.get(length) ?? 0) + 1);
    return [name, [...counts].sort(([left], [right]) => left - right)];
  });
  return { tokenizers: Object.fromEntries(tokenizers) };
}

function specials(request) {
  const { tok, model } = request.own;
  const { text, data } = request;
  const views = (special) => {
    const ids = tok.encode(text, { special });
    const shown = Array.from(ids.subarray(0, MOST_TOKENS), (id) => ({ id, ...spelt(tok.token(id)), special: model.special.has(id) }));
    return { count: ids.length, tokens: shown };
  };
  let refusal = null;
  try {
    tok.count(text, { special: "raise" });
  } catch (error) {
    if (error.name !== "SpecialTokenInText") throw error;
    refusal = error.message;
  }
  const { ids, starts, ends } = tok.encodeWithOffsets(text, { special: "allow", unit: "byte" });
  const matches = [];
  ids.forEach((id, at) => {
    const content = model.special.get(id);
    if (content === undefined || !textOf(data.subarray(starts[at], ends[at])).includes(content)) return;
    matches.push({ content, id, start: starts[at], end: ends[at], as_text: tok.encode(content, { special: "text" }) });
  });
  return { tokenizer: request.name, matches, plain: views("text"), allowed: views("allow"), refusal };
}

function prompt(request) {
  const { text, special } = request;
  const { tok, model } = request.own;
  const points = [...text];
  const end = request.number("end", points.length, { most: points.length });
  const beginning = points.slice(0, end).join("");
  const ids = tok.encode(beginning, { special });
  const followed = end < points.length ? tok.encode(text, { special }) : ids;
  const differing = ids.findIndex((id, at) => id !== followed[at]);
  const agree = differing < 0 ? ids.length : differing;
  const healing = tok.heal(beginning, { special });
  const near = Math.max(0, agree - MOST_PROMPT);
  const views = (some) => Array.from(some, (id) => ({ id, ...spelt(tok.token(id)), special: model.special.has(id) }));
  const continuations = healing.rest.length ? healing.continuations : [];
  return {
    tokenizer: request.name,
    bytes: new TextEncoder().encode(beginning).length,
    ids: ids.length,
    agree,
    is_beginning: agree === ids.length,
    ends_in_space: /[ \t]$/.test(beginning),
    prompt: views(ids.slice(near).slice(-MOST_PROMPT)),
    followed: views(followed.slice(near, ids.length + AFTER_PROMPT)),
    healed: { ids: healing.ids.length, tokens: views(healing.ids.slice(-MOST_PROMPT)), rest: spelt(healing.rest) },
    continuations: continuations.length,
    first_continuations: Array.from(continuations.slice(0, MOST_CONTINUATIONS), (id) => ({ id, ...spelt(tok.token(id)) })),
  };
}

function decode(request) {
  const bytes = request.own.tok.decodeBytes(request.values.ids ?? []);
  const text = !bytes.length || isWhole(bytes) ? textOf(bytes) : null;
  return { text, shown: tokenText(bytes.subarray(0, MOST_DECODED)), bytes: bytes.length };
}

async function openTokenizer(request) {
  const files = Object.entries(request.values.files ?? {});
  if (files.length !== 1) refuse("InvalidOption", "files: expected one file here; folders of files need the local server");
  const data = Uint8Array.from(atob(files[0][1]), (char) => char.charCodeAt(0));
  const { pattern } = request.values;
  return request.source.add(request.string("name", "tokenizer"), await request.source.toksmith.load(data, pattern == null ? {} : { pattern }));
}

/** The views by name. */
export const VIEWS = {
  opened: openTokenizer,
  tokens,
  difference,
  piece,
  merges,
  history,
  search,
  lengths,
  specials,
  decode,
  prompt,
  proposed: propose,
  tree: (request) => treeOf(request.own, request.name, request.number("id")),
  measured: (request) => {
    request.source.widths.take(request.values.widths ?? {});
    return { wanted: request.source.widths.wanted };
  },
  counts: (request) => ({
    bytes: request.data.length,
    chars: request.facts.chars,
    totals: request.names.map((name) => request.source.get(name).tok.count(request.text, { special: request.special })),
  }),
  rows: (request) => {
    const { laid, data, facts } = request;
    const first = request.number("first", 0);
    const window = laid.window(first, Math.min(request.number("last", 0), first + MOST_ROWS));
    return { ...window, ...facts, bytes: data.length, wanted: request.source.widths.wanted };
  },
  differences: (request) => {
    const { shared, differences } = compare(request.cuts, request.data.length);
    return { total: differences.length, shared: shared.length };
  },
  ids: (request) => {
    const { ids, ends, look } = request.cut(request.name);
    const first = Math.min(request.number("first", 0), ids.length);
    const last = Math.max(first, Math.min(request.number("last", 0), first + LIMITS.ids, ids.length));
    const shown = colours(ends, first, last).map((colour, place) => [ids[first + place], look(ids[first + place])[0], colour]);
    return { total: ids.length, first, tokens: shown };
  },
  all_ids: (request) => ({ ids: request.own.tok.encode(request.text, { special: request.special }) }),
  place: (request) => {
    const { laid, which } = request;
    const count = laid.cuts[which].ends.length;
    const token = request.number("token", 0, { most: Math.max(0, count - 1) });
    const span = count ? laid.span(which, token) : [0, 0];
    return { row: laid.rowOf(span[0]), token, span };
  },
};
