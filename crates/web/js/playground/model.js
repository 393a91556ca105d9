// The model of a tokenizer, from its native file: its tokens, and its merges one by one.

import { hexOf, isWhole, textOf } from "./drawing.js";

const BYTE_TOKEN = /^<0x[0-9A-F]{2}>$/;
const MOST_SYMBOLS = 512;
const DECODER = new TextDecoder("latin1"); // a key for bytes
export const keyOf = (bytes) => DECODER.decode(bytes);

/** Bytes for reading, and their exact hex. */
export const spelt = (token) => ({ text: textOf(token), hex: hexOf(token) });
export const symbolValues = ({ token, id }) => ({ ...spelt(token), id });

/** The error of a request; `name` is that of the exception in Python. */
export function refuse(name, message) {
  throw Object.assign(new Error(message), { name });
}

/** The fields of a native file. */
function sectionsOf(file) {
  let at = 0;
  const decoder = new TextDecoder();
  const bytes = () => {
    const end = file.indexOf(10, at);
    const line = file.subarray(at, end);
    at = end + 1;
    return line;
  };
  const line = () => decoder.decode(bytes());
  line();
  const found = { header: JSON.parse(line().slice(6)), tokens: [], ids: [], numbers: {} };
  for (let left = Number(line().slice(7)); left > 0; left--) {
    let id = 0;
    for (; file[at] !== 32; at++) id = id * 10 + file[at] - 48;
    at += 1;
    found.ids.push(id);
    found.tokens.push(unescapeToken(bytes()));
  }
  for (let head = line(); !head.startsWith("sha256 "); head = line()) {
    const [name, ...rest] = head.split(" ");
    if (name === "training" || name === "metadata") found[name] = JSON.parse(rest.join(" "));
    else found.numbers[name] = Array.from({ length: Number(rest[0]) }, () => line().split(" ").map(Number));
  }
  return found;
}

function unescapeToken(row) {
  if (!row.includes(0x5c)) return row;
  const token = [];
  for (let at = 0; at < row.length; at++) {
    const hex = row[at] === 0x5c ? String.fromCharCode(row[at + 2], row[at + 3]) : "";
    token.push(hex ? parseInt(hex, 16) : row[at]);
    at += hex ? 3 : 0;
  }
  return Uint8Array.from(token);
}

export class Model {
  constructor(tok) {
    const { header, tokens, ids, training, numbers } = sectionsOf(tok.save());
    Object.assign(this, { tok, header, tokens, ids, training, merges: numbers.merges, counts: numbers.counts ?? [] });
    this.scores = numbers.scores?.map(([score]) => score);
    this.special = new Map(header.added_tokens.filter((token) => token.special).map((token) => [token.id, token.content]));
    this.byId = new Map(ids.map((id, place) => [id, tokens[place]]));
    this.size = new Set([...ids, ...header.added_tokens.map(({ id }) => id)]).size;
  }

  /** The id of bytes that are a token. */
  id(bytes) {
    this.idOf ??= new Map(this.tokens.map((token, place) => [keyOf(token), this.ids[place]]));
    return this.idOf.get(keyOf(bytes)) ?? null;
  }

  /** Whether bytes are whole characters, and at which end they are not. */
  kindOf(id, token) {
    if (this.special.has(id)) return "special";
    if (isWhole(token) || !token.length) return "whole";
    if (token.length === 1) return "byte";
    const [starts, ends] = [token[0] >= 0x80 && token[0] < 0xc0, incompleteEnd(token)];
    return starts && ends ? "inside" : ends ? "ends inside" : "starts inside";
  }

  /** The rank of each token that a merge makes, by id. */
  get ranks() {
    if (this.rankOf !== undefined) return this.rankOf;
    const { kind, unit, merge_rule: rule } = this.header;
    this.rankOf = new Map();
    if (kind !== "bpe") return this.rankOf;
    if (rule === "pair") this.merges.forEach(([, , id], rank) => this.rankOf.has(id) || this.rankOf.set(id, rank));
    else {
      this.ids.forEach((id, place) => {
        if (this.tokens[place].length > (unit === "byte" ? 1 : 0)) this.rankOf.set(id, this.#rankAt(place));
      });
    }
    return this.rankOf;
  }

  #rankAt(place) {
    if (this.scores === undefined) return place;
    if (this.falling === undefined) {
      this.falling = new Map();
      [...this.scores].sort((left, right) => right - left).forEach((score, rank) => this.falling.has(score) || this.falling.set(score, rank));
    }
    return this.falling.get(this.scores[place]);
  }

  /** The ids of symbols; one without a token becomes byte tokens, or the unknown id, once for several in a row. */
  finalIds(symbols) {
    const { byte_fallback: fallback, unknown_id: unknown } = this.header;
    const byteToken = (byte) => this.id(new TextEncoder().encode(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`));
    return symbols.flatMap(({ token, id }, place) => {
      if (id !== null) return [id];
      if (fallback) return Array.from(token, byteToken);
      if (unknown === null) refuse("NotInVocabulary", `${keyOf(token)} is not in the vocabulary`);
      return place === 0 || symbols[place - 1].id !== null ? [unknown] : [];
    });
  }

  /** The merges that use a token as a part, in rank order. */
  findUses(id) {
    if (this.uses === undefined) {
      this.uses = new Map();
      const all = this.header.kind === "bpe" ? this.tok.allMerges() : [];
      for (let at = 0; at < all.length; at += 3) {
        const [left, right, made] = all.subarray(at, at + 3);
        const use = { left, right, id: made, token: this.byId.get(made) };
        for (const part of new Set([left, right])) this.uses.has(part) ? this.uses.get(part).push(use) : this.uses.set(part, [use]);
      }
    }
    return this.uses.get(id) ?? [];
  }
}

/** The number of bytes at the end that begin a character without completing it. */
function incompleteEnd(token) {
  for (let back = 1; back <= Math.min(3, token.length); back++) {
    const lead = token[token.length - back];
    if (lead >= 0xc0) return (lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4) > back ? back : 0;
    if (lead < 0x80) return 0;
  }
  return 0;
}

/** The merges that make a token, and the merges that use it, for the page. */
export function treeOf({ model, tok }, name, id) {
  const [token, own] = [tok.token(id), model.byId.get(id)];
  const facts = { tokenizer: name, id, ...spelt(own ?? token) };
  if (own === undefined || model.special.has(id)) {
    return { ...facts, ...spelt(token), nodes: [], roots: [], children: [], special: true, kind: "special", is_leaf: true, is_derivable: false, depth: 0 };
  }
  const isAlone = (model.header.byte_fallback && BYTE_TOKEN.test(keyOf(own))) || (model.header.unit === "byte" ? own : [...textOf(own)]).length > MOST_SYMBOLS;
  const { steps, symbols } = isAlone ? { steps: [], symbols: [{ token: own, id }] } : tok.merges(own);
  const nodes = (steps[0]?.symbols ?? symbols).map((symbol) => ({ ...symbolValues(symbol), rank: null, left: null, right: null }));
  const depths = nodes.map(() => 0);
  const roots = nodes.map((_, place) => place);
  steps.forEach(({ chosen: { place, rank } }, at) => {
    const [left, right] = roots.splice(place, 2, nodes.length);
    nodes.push({ ...symbolValues((steps[at + 1]?.symbols ?? symbols)[place]), rank, left, right });
    depths.push(1 + Math.max(depths[left], depths[right]));
  });
  const children = model.findUses(id).map(({ token: made, ...use }) => ({ ...use, ...spelt(made) }));
  return {
    ...facts, nodes, roots, children, special: false, kind: model.kindOf(id, own), is_leaf: !children.length,
    is_derivable: roots.length === 1 && nodes[roots[0]].id === id, depth: Math.max(0, ...roots.map((root) => depths[root])),
  };
}
