// The data of the playground by the engine in the page: the answers that the local server gives to the same requests.
//
// `ask` answers a view by name; what only Python can do is refused by name, and `isHere` tells it before. Errors have the name
// and the message for the page.

import { pageValues, VIEWS } from "./answers.js";
import { COSTS } from "./costs.js";
import { tokenText } from "./drawing.js";
import { factsOf, updateCut, updateLayout } from "./edits.js";
import { LIMITS } from "./limits.js";
import { Model, refuse } from "./model.js";
import { Rows, rowStarts, Widths } from "./rows.js";
import { Trainer } from "./trainer.js";

const MOST_LOADED = 50;
const MOST_CELLS = 400;
const MOST_SPECIAL = 50;
const KEPT = 8; // texts whose tokens are kept

/** The tokenizers of a page, and the answers about them. */
export class PageSource {
  #toks = new Map();
  #texts = new Map();
  #widths = new Widths();
  #views;

  /** `texts` has the same text in several languages by name. */
  constructor(toksmith, { texts = {} } = {}) {
    Object.assign(this, { toksmith, texts });
    const trainer = new Trainer(this);
    this.#views = { ...VIEWS, ...COSTS, ...trainer.views };
  }

  /** Whether this source answers a view. */
  isHere(view) {
    return Object.hasOwn(this.#views, view);
  }

  /** Adds a tokenizer, with a number after the name if it is taken. */
  add(name, tok) {
    if (this.#toks.size >= MOST_LOADED) refuse("InvalidOption", `tokenizers: a page has at most ${MOST_LOADED}`);
    const plain = name.replace(/\s/g, " ").slice(0, 100) || "tokenizer";
    let free = plain;
    for (let number = 2; this.#toks.has(free); number++) free = `${plain} (${number})`;
    const model = new Model(tok);
    const looks = new Map();
    const look = (id) => {
      if (!looks.has(id)) looks.set(id, [tokenText(tok.token(id)), model.special.has(id)]);
      return looks.get(id);
    };
    this.#toks.set(free, { tok, model, look });
    return { name: free, about: this.about() };
  }

  /** Removes a tokenizer. */
  remove(name) {
    this.#toks.delete(name);
    return { about: this.about() };
  }

  /** The facts of its tokenizers. */
  about() {
    const tokenizers = Array.from(this.#toks, ([name, { tok, model }]) => ({
      name,
      kind: model.header.kind,
      entries: model.size,
      vocab_size: tok.vocabSize,
      special_tokens: Object.keys(tok.specialTokens).slice(0, MOST_SPECIAL),
    }));
    return { tokenizers };
  }

  /** The answer of a view; `text` is null for a view without a text. */
  async ask(view, text, values = {}, { signal } = {}) {
    if (!this.isHere(view)) refuse("NeedsServer", `${view} needs the local server: toksmith play`);
    if (text !== null && typeof text !== "string") refuse("InvalidOption", "text: expected a text");
    const request = new Request(this, text, values, signal);
    return pageValues(await this.#views[view](request));
  }

  get(name) {
    return this.#toks.get(name) ?? refuse("UnknownName", `no tokenizer '${name}'; expected one of ${[...this.#toks.keys()].join(", ")}`);
  }

  get widths() {
    return this.#widths;
  }

  /** What is kept of a text; `before` is the text of the request before, from which an edit may have made it. */
  keep(text) {
    let found = this.#texts.get(text);
    if (found === undefined) {
      found = { data: new TextEncoder().encode(text), cuts: new Map(), before: [...this.#texts.values()].at(-1) };
      delete found.before?.before;
    }
    if (found.data.length > LIMITS.bytes) refuse("InvalidOption", `text: expected at most ${LIMITS.bytes} bytes, not ${found.data.length}`);
    this.#texts.delete(text);
    this.#texts.set(text, found);
    if (this.#texts.size > KEPT) this.#texts.delete(this.#texts.keys().next().value);
    return found;
  }
}

/** The checked request of a view. */
class Request {
  constructor(source, text, values, signal) {
    Object.assign(this, { source, values, signal, asked: text ?? values.text });
  }

  get text() {
    return this.asked ?? refuse("InvalidOption", "text: expected a text");
  }

  get data() {
    return this.source.keep(this.text).data;
  }

  get facts() {
    return factsOf(this.source.keep(this.text));
  }

  get names() {
    const names = this.values.tokenizers ?? [];
    if (!(names.length >= 1 && names.length <= LIMITS.tokenizers)) refuse("InvalidOption", `tokenizers: expected 1 to ${LIMITS.tokenizers} names`);
    return names;
  }

  get which() {
    const at = this.names.indexOf(this.values.of ?? this.names[0]);
    return at >= 0 ? at : refuse("UnknownName", `no tokenizer '${this.values.of}'; expected one of ${this.names.join(", ")}`);
  }

  get name() {
    return this.names[this.which];
  }

  /** The tokenizer, its model and the look of its tokens. */
  get own() {
    return this.source.get(this.name);
  }

  get special() {
    return this.values.special ?? "text";
  }

  number(name, usual, { least = 0, most = 2 ** 53 } = {}) {
    const value = this.values[name] ?? usual;
    const isFine = Number.isInteger(value) && value >= least && value <= most;
    return isFine ? value : refuse("InvalidOption", `${name}: expected a whole number from ${least} to ${most}, not ${value}`);
  }

  string(name, usual) {
    const value = this.values[name] ?? usual;
    return typeof value === "string" ? value : refuse("InvalidOption", `${name}: expected a text`);
  }

  /** The tokens of the text by one tokenizer: ids, the byte at which each ends, and the look of an id. */
  cut(name) {
    const [kept, { special }] = [this.source.keep(this.text), this];
    const key = JSON.stringify([name, special]);
    const { tok, look } = this.source.get(name);
    if (kept.cuts.get(key)?.look !== look) {
      const cut = updateCut(tok, kept, key, look, special) ?? tok.encodeWithOffsets(this.text, { special, unit: "byte" });
      kept.cuts.set(key, { ...cut, look });
    }
    return kept.cuts.get(key);
  }

  get cuts() {
    return this.names.map((name) => this.cut(name));
  }

  /** The text in rows. */
  get laid() {
    const cells = this.number("cells", 80, { least: 1, most: MOST_CELLS });
    const [kept, cuts, { widths }] = [this.source.keep(this.text), this.cuts, this.source];
    const key = JSON.stringify([cells, widths.version, this.special, this.names]);
    const frame = { cells, widths, cuts };
    if (kept.laid?.key !== key) kept.laid = { key, starts: updateLayout(kept, key, frame) ?? rowStarts(this.text, frame) };
    return new Rows(kept.data, kept.laid.starts, cuts, this.values.marks !== false);
  }
}
