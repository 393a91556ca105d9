// The live trainer: one training at the largest size, of which every smaller tokenizer is the beginning.

import { hexOf } from "./drawing.js";
import { Model, refuse, treeOf } from "./model.js";
import { colours, lowerBound } from "./rows.js";

const MOST_SIZE = 65_536;
const LONGEST = 1000; // bytes of a token
const MEASURED = 200_000; // bytes to measure at each size, shared equally by the texts
const POINTS = 100; // of the curve
const NEWEST = 12; // merges in the list
const MOST_TEXTS = 40;
const MOST_BYTES = 10_000_000;
const MOST_SENTENCE = 1000; // characters
const KEPT = 4;
const WORD = / ?\p{L}[\p{L}\p{M}]*/gu;

const trainedName = (size) => `trained ${size.toLocaleString("en")}`;

export class Trainer {
  #source;
  #corpora = new Map();
  #trainings = new Map();
  #running;
  #last = 0;

  constructor(source) {
    this.#source = source;
    this.views = {
      corpus: (request) => this.#corpus(request),
      train: (request) => this.#train(request),
      trained: (request) => this.#trained(request),
      stop_training: () => this.#running?.abort(new Error("the training was stopped; change an option or press Train to begin again")) ?? {},
      trained_tokenizer: async (request) => source.add(request.string("name", "trained"), await this.#tokenizer(request)),
      trained_file: (request) => this.#file(request),
    };
  }

  /** Keeps texts for a training. */
  #corpus({ values }) {
    const texts = new Map(values.sentences ? Object.entries(this.#source.texts).map(([name, text]) => [name, new TextEncoder().encode(text)]) : []);
    for (const { name, text, data } of values.texts ?? []) {
      let free = name.slice(0, 100);
      for (let number = 2; texts.has(free); number++) free = `${name.slice(0, 100)} (${number})`;
      texts.set(free, text === undefined ? Uint8Array.from(atob(data), (char) => char.charCodeAt(0)) : new TextEncoder().encode(text));
    }
    const bytes = [...texts.values()].reduce((size, each) => size + each.length, 0);
    if (!(texts.size >= 1 && texts.size <= MOST_TEXTS && bytes)) refuse("InvalidOption", `texts: expected 1 to ${MOST_TEXTS} texts, with at least one byte`);
    if (bytes > MOST_BYTES) refuse("InvalidOption", `texts: expected at most ${MOST_BYTES} bytes in all texts, not ${bytes}`);
    const key = `corpus ${++this.#last}`;
    this.#corpora.set(key, { texts, bytes });
    if (this.#corpora.size > KEPT) this.#corpora.delete(this.#corpora.keys().next().value);
    const about = Array.from(texts, ([name, data]) => ({ name, bytes: data.length, whole: isUtf8(data) }));
    return { corpus: key, bytes, texts: about };
  }

  /** The training with the options of a request. */
  async #training({ values, signal }) {
    const { corpus, pattern = "o200k", ties = "lowest_ids", special_tokens: special = [] } = values;
    const found = this.#corpora.get(corpus) ?? refuse("UnknownText", "the page no longer has the texts; send them again");
    if (ties !== "lowest_ids") refuse("NeedsServer", `ties=${ties} needs the local server: toksmith play`);
    const key = JSON.stringify([corpus, pattern, special]);
    if (!this.#trainings.has(key)) {
      this.#running?.abort(new Error("another training replaced this one"));
      const stop = (this.#running = new AbortController());
      signal?.addEventListener("abort", () => stop.abort(signal.reason));
      const options = { vocabSize: MOST_SIZE, pattern, minCount: 2, maxTokenBytes: LONGEST, specialTokens: special };
      const tok = await this.#source.toksmith.train([...found.texts.values()], { ...options, signal: stop.signal });
      this.#trainings.set(key, trainingOf(tok, found, this.#source.toksmith));
      if (this.#trainings.size > KEPT) this.#trainings.delete(this.#trainings.keys().next().value);
    }
    return this.#trainings.get(key);
  }

  async #train(request) {
    const training = await this.#training(request);
    const { least, most, bytes, model } = training;
    const points = Array.from({ length: POINTS }, (_, place) => Math.round(least * (most / least) ** (place / (POINTS - 1))));
    const sizes = [...new Set([least, most, ...points])].sort((left, right) => left - right);
    const figures = (await measureTexts(training, least)).map((each) => each.per_word).filter(Boolean);
    const curve = sizes.map((size) => [size, training.left(size)]);
    return { least, most, bytes, stopped: model.training.stopped_because, curve, per_word: median(figures) };
  }

  async #trained(request) {
    const sentence = request.string("sentence", "");
    if ([...sentence].length > MOST_SENTENCE) refuse("InvalidOption", `sentence: expected at most ${MOST_SENTENCE} characters`);
    const training = await this.#training(request);
    const { least, most, bytes, model } = training;
    const size = request.number("size", undefined, { least, most });
    const [merges, entries, tok] = [size - least, size - model.special.size, await training.at(size)];
    const newest = [];
    for (let place = merges - 1; place >= Math.max(0, merges - NEWEST); place--) {
      const id = entries - merges + place;
      newest.push({ id, hex: hexOf(tok.token(id)), count: model.counts[place][0] });
    }
    const cut = tok.encodeWithOffsets(sentence, { special: "text", unit: "byte" });
    const colour = colours(cut.ends, 0, cut.ids.length);
    const drawn = Array.from(cut.ids, (id, place) => ({ id, hex: hexOf(tok.token(id)), colour: colour[place] }));
    const chosen = request.values.id ?? null;
    const tree = merges || chosen !== null ? treeOf(training, trainedName(size), chosen !== null && chosen < entries ? chosen : entries - 1) : null;
    if (tree !== null) {
      tree.children = tree.children.filter(({ id }) => id < entries);
      tree.is_leaf = !tree.children.length;
    }
    return { size, merges, tokens: training.left(size), bytes, languages: await measureTexts(training, size), sentence: drawn, newest, tree };
  }

  async #tokenizer(request) {
    const training = await this.#training(request);
    return training.at(request.number("size", undefined, { least: training.least, most: training.most }));
  }

  async #file(request) {
    const format = request.string("format");
    if (format !== "native") refuse("NeedsServer", `the format ${format} needs the local server: toksmith play`);
    const tok = await this.#tokenizer(request);
    let binary = "";
    for (const byte of tok.save()) binary += String.fromCharCode(byte);
    return { name: `trained-${tok.vocabSize}.toksmith`, data: btoa(binary) };
  }
}

/** A training: the largest tokenizer, and the smaller ones. */
function trainingOf(tok, { texts, bytes }, { loadModel }) {
  const model = new Model(tok);
  const [most, sizes] = [model.size, new Map()];
  const least = most - model.merges.length;
  const at = (size) => {
    const entries = size - model.special.size;
    const draft = () => ({
      fields: { ...model.header, added_tokens: model.header.added_tokens.map((token, place) => ({ ...token, id: entries + place })) },
      tokens: model.ids.slice(0, entries).map((id, place) => [id, model.tokens[place]]),
      merges: model.merges.slice(0, size - least),
    });
    if (!sizes.has(size)) sizes.set(size, size === most ? tok : loadModel(draft()));
    if (sizes.size > KEPT) sizes.delete(sizes.keys().next().value);
    return sizes.get(size);
  };
  const left = (size) => (size > least ? model.counts[size - least - 1][1] : model.training.symbols);
  return { tok, model, least, most, bytes, left, at, beginnings: beginnings(texts) };
}

/** The beginning of each text in whole characters, as a text. */
function beginnings(texts) {
  const share = Math.floor(MEASURED / texts.size);
  return Array.from(texts, ([name, data]) => {
    let end = Math.min(share, data.length);
    for (let back = 0; end < data.length && back < 3 && (data[end] & 0xc0) === 0x80; back++) end--;
    return [name, new TextDecoder("utf-8", { ignoreBOM: true }).decode(data.subarray(0, end)), end];
  });
}

/** The figures of each text at a size; `per_word` is the number of tokens that hold a byte of a word, by word. */
async function measureTexts(training, size) {
  const tok = await training.at(size);
  return training.beginnings.map(([name, text, bytes]) => {
    const { ids, ends } = tok.encodeWithOffsets(text, { special: "text", unit: "byte" });
    let [words, parts, at, byte] = [0, 0, 0, 0];
    const size8 = (part) => new TextEncoder().encode(part).length;
    for (const { 0: word, index } of text.matchAll(WORD)) {
      byte += size8(text.slice(at, index));
      const end = byte + size8(word);
      parts += lowerBound(ends, end) - lowerBound(ends, byte, true) + 1;
      words += 1;
      [at, byte] = [index + word.length, end];
    }
    return { name, bytes, tokens: ids.length, per_word: words ? parts / words : null };
  });
}

function median(values) {
  const sorted = values.sort((left, right) => left - right);
  const middle = sorted.length >> 1;
  return sorted.length ? (sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2) : 0;
}

function isUtf8(data) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(data) !== undefined;
  } catch {
    return false;
  }
}
