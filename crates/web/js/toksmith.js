// Exact tokenizers in browsers, node and workers: the Python package's engine as a WebAssembly module.
//
// The types and the documentation of each name are in toksmith.d.ts.

const SPECIAL = ["raise", "allow", "text"];
const DECODER = () => new TextDecoder("utf-8", { ignoreBOM: true });
const NODE = globalThis.process?.versions?.node !== undefined;

// The small module has no regex engine, which only patterns without a scanner need.
const [SMALL, FULL] = ["toksmith.wasm", "toksmith-full.wasm"];
const compiled = new Map();
// In a page that is opened as a file, scripts hold the files; see classic.js.
const inlined = globalThis.toksmithFiles;

/** An error of the engine; `name` is that of the exception in Python. */
export class ToksmithError extends Error {
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}

/** Compiles a module, once; `source` replaces the file next to this one. */
export function init(source, file = SMALL) {
  if (source !== undefined || !compiled.has(file)) {
    const bytes = source === undefined && inlined ? inlined.bytes(file) : read(source ?? new URL(file, import.meta.url));
    const module = bytes.then((found) => WebAssembly.compile(found));
    module.catch(() => compiled.delete(file));
    compiled.set(file, module);
  }
  return compiled.get(file);
}

/** The result of `use` with the small module, or with the full one if a pattern needs it. */
async function withModule(use) {
  try {
    return await use(await init());
  } catch (error) {
    if (error.name !== "NoRegexEngine") throw error;
    return use(await init(undefined, FULL));
  }
}

/** Loads a tokenizer from a URL, a path (in node), bytes, a Blob or a Response. */
export async function load(source, options = {}) {
  const file = await read(source);
  const draft = await readerOf(file, options);
  return withModule((module) => {
    const build = (data, settings = {}) => new Tokenizer(new Engine(module), data, settings);
    if (draft === undefined) return build(file, options);
    const fromDraft = (data) => build(finishDraft(module, data));
    try {
      return fromDraft(draft(file, fromDraft));
    } catch (problem) {
      throw problem.name === "FormatError" && !(problem instanceof ToksmithError) ? new ToksmithError(problem.name, problem.message) : problem;
    }
  });
}

/** The reader of a file that the engine does not read; its code is fetched when it is needed. */
async function readerOf(file, { pattern, specialTokens }) {
  const first = DECODER().decode(file.subarray(0, 64)).trimStart();
  if (pattern !== undefined || first.startsWith("toksmith ")) return undefined;
  let reader;
  if (first.startsWith("{")) reader = (await import("./formats/tokenizer_json.js")).readTokenizerJson;
  else if (file[0] === 0x0a) reader = (await import("./formats/sentencepiece.js")).readSentencePiece;
  else if (!/^[\w+/]+=* \d/.test(first)) {
    const found = file.length ? `begins with ${JSON.stringify(first.slice(0, 20))}` : "is empty";
    throw new ToksmithError("FormatError", `the file ${found}; expected a .toksmith, .tiktoken, tokenizer.json or SentencePiece file`);
  }
  if (reader && specialTokens !== undefined) throw new ToksmithError("InvalidOption", "specialTokens is only for .tiktoken files; other files have them");
  return reader;
}

/** The tokenizer of a model as a value: fields of the native format by name, tokens, and merges by ids. */
export async function loadModel(model) {
  const { draftOf } = await import("./formats/draft.js");
  return load(finishDraft(await init(), draftOf(model)));
}

/** The names of the patterns. */
export async function patterns() {
  const engine = new Engine(await init());
  return JSON.parse(engine.text(engine.instance.patterns()));
}

/** The native file of a draft. */
function finishDraft(module, draft) {
  const engine = new Engine(module);
  return engine.answer(engine.instance.finish_draft(engine.write(draft)));
}

/** Trains a tokenizer on texts, in a worker. */
export async function train(texts, { onProgress, signal, ...options }) {
  const training = readArguments(texts, options);
  return load(await withModule((module) => trainInWorker({ module, ...training }, onProgress, signal)));
}

async function trainInWorker(training, onProgress, signal) {
  signal?.throwIfAborted();
  const worker = await start();
  try {
    return await new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      worker.onmessage = ({ data: { progress, file, error } }) => {
        if (progress !== undefined) onProgress?.(progress);
        else if (file !== undefined) resolve(file);
        else reject(error.name === "TypeError" ? new TypeError(error.message) : new ToksmithError(error.name, error.message));
      };
      worker.onerror = (event) => reject(new Error(`the worker of the training stopped: ${event.message}`));
      worker.postMessage(training);
      if (signal?.aborted) reject(signal.reason);
    });
  } finally {
    worker.terminate();
  }
}

/** The same on this thread, which it blocks; `onProgress` can return false to end it with the merges so far. */
export async function trainHere(texts, { onProgress, ...options }) {
  const training = readArguments(texts, options);
  return load(await withModule((module) => trainFile({ module, ...training }, onProgress)));
}

/** The same arguments as lists, which are read once. */
function readArguments(texts, { specialTokens = [], ...options }) {
  return { texts: typeof texts === "string" ? [texts] : [...texts], options: { ...options, specialTokens: [...specialTokens] } };
}

/** The file of a trained tokenizer. */
export function trainFile({ module, texts, options }, onProgress) {
  const { vocabSize, pattern = "o200k", specialTokens, minCount = 1, maxTokenBytes = null } = options;
  const [blob, ends] = joinTexts(texts);
  const asked = { ends, vocab_size: vocabSize, pattern, special_tokens: specialTokens, min_count: minCount, max_token_bytes: maxTokenBytes };
  const total = vocabSize - 256 - specialTokens.length;
  let done = 0;
  const engine = new Engine(module, (rows) => {
    done += rows.length / 4;
    return onProgress?.({ done, total, merges: rows }) ?? true;
  });
  return engine.answer(engine.instance.train(...engine.pass(blob, asked)));
}

export class Tokenizer {
  #engine;
  #file;

  /** Use `load`. */
  constructor(engine, file, { pattern, specialTokens = {} }) {
    const options = { pattern, special_tokens: Object.entries(specialTokens) };
    const facts = JSON.parse(engine.text(engine.instance.load(...engine.pass(file, options))));
    this.#engine = engine;
    this.#file = pattern === undefined ? file : undefined;
    this.vocabSize = facts.vocabSize;
    this.specialTokens = Object.fromEntries(facts.added.filter((token) => token[2]));
  }

  encode(text, { special, errors } = {}) {
    const { instance } = this.#engine;
    return this.#engine.numbers(instance.encode(this.#engine.write(checkText(text, errors)), choice(special)));
  }

  count(text, { special, errors } = {}) {
    const { instance } = this.#engine;
    return this.#engine.numbers(instance.count(this.#engine.write(checkText(text, errors)), choice(special)))[0];
  }

  encodeWithOffsets(text, { special, errors, unit = "utf16" } = {}) {
    if (unit !== "utf16" && unit !== "byte") throw new ToksmithError("InvalidOption", `unit=${String(unit)} is not possible; expected utf16, byte`);
    const { instance } = this.#engine;
    const flags = choice(special) + (unit === "byte" ? 4 : 0);
    const all = this.#engine.numbers(instance.encode_with_offsets(this.#engine.write(checkText(text, errors)), flags));
    const size = all.length / 3;
    return { ids: all.subarray(0, size), starts: all.subarray(size, 2 * size), ends: all.subarray(2 * size) };
  }

  encodeAround(data, start, end, { special } = {}) {
    const { instance } = this.#engine;
    const all = this.#engine.numbers(instance.encode_around(this.#engine.write(data), choice(special), start, end));
    const size = all.length / 2 + 1;
    return { start: all[0], end: all[1], ids: all.subarray(2, size), ends: all.subarray(size) };
  }

  decode(ids) {
    return DECODER().decode(this.decodeBytes(ids));
  }

  decodeBytes(ids) {
    return this.#engine.answer(this.#engine.instance.decode(this.#engine.writeIds(ids)));
  }

  decoder() {
    return new StreamDecoder(this.#engine);
  }

  token(id) {
    return this.#engine.answer(this.#engine.instance.token(id));
  }

  tokenId(token) {
    return this.#engine.numbers(this.#engine.instance.token_id(this.#engine.write(token)))[0];
  }

  heal(text, { special } = {}) {
    const { instance } = this.#engine;
    const all = this.#engine.numbers(instance.heal(this.#engine.write(text), choice(special)));
    const size = 2 + all[0];
    return { ids: all.subarray(2, size), rest: new TextEncoder().encode(text).subarray(all[1]), continuations: all.subarray(size) };
  }

  normalize(text) {
    return this.#engine.text(this.#engine.instance.normalize(this.#engine.write(text)));
  }

  split(text) {
    return this.#engine.numbers(this.#engine.instance.split(this.#engine.write(text)));
  }

  allMerges() {
    return this.#engine.numbers(this.#engine.instance.all_merges());
  }

  merges(piece) {
    const bytes = typeof piece === "string" ? new TextEncoder().encode(piece) : piece;
    const found = JSON.parse(this.#engine.text(this.#engine.instance.merges(this.#engine.write(bytes))));
    const symbols = ({ ids, starts }) => ids.map((id, at) => ({ id, token: bytes.subarray(starts[at], starts[at + 1]) }));
    const steps = found.steps.map(({ candidates, chosen, ...step }) => {
      const pairs = candidates.map(([place, rank, id]) => ({ place, rank, id }));
      return { symbols: symbols(step), candidates: pairs, chosen: pairs.find(({ place }) => place === chosen) };
    });
    return { whole: found.whole, steps, symbols: symbols(found) };
  }

  save() {
    return (this.#file ??= this.#engine.answer(this.#engine.instance.save()));
  }
}

/** Decodes a stream of ids; made by `Tokenizer.decoder`. */
export class StreamDecoder {
  #engine;
  #stream;

  constructor(engine) {
    this.#engine = engine;
    this.#stream = engine.streams++;
  }

  feed(ids) {
    const list = typeof ids === "number" ? [ids] : ids;
    return this.#engine.text(this.#engine.instance.feed(this.#stream, this.#engine.writeIds(list)));
  }

  finish() {
    return this.#engine.text(this.#engine.instance.finish(this.#stream));
  }
}

/** An instance of the module, with one tokenizer. */
class Engine {
  streams = 0;

  constructor(module, report = () => true) {
    const imports = {
      report: (at, count) => Number(report(new Float64Array(this.memory, at, count).slice()) !== false),
      fail: (at, size) => {
        throw new Error(DECODER().decode(new Uint8Array(this.memory, at, size)));
      },
    };
    this.exports = new WebAssembly.Instance(module, { toksmith: imports }).exports;
    const calls = Object.entries(this.exports).filter(([, work]) => typeof work === "function");
    this.instance = Object.fromEntries(calls.map(([name, work]) => [name, (...values) => this.call(work, values)]));
  }

  /** The memory now; a call can replace it. */
  get memory() {
    return this.exports.memory.buffer;
  }

  /** The result of a function. After a failure that it did not expect, the engine refuses every call. */
  call(work, values) {
    if (this.problem !== undefined) {
      throw new Error(`this tokenizer stopped earlier; load it again (${this.problem.message})`, { cause: this.problem });
    }
    try {
      return work(...values);
    } catch (problem) {
      this.problem = problem;
      throw new Error(`the engine stopped, and this tokenizer with it; load it again (${problem.message})`, { cause: problem });
    }
  }

  /** The address of a buffer for the arguments of the next call. */
  room(bytes) {
    const at = bytes < 2 ** 32 ? this.instance.input(bytes) : 0;
    if (at !== 0) return at;
    throw new ToksmithError("TextTooLong", `${bytes.toLocaleString("en")} bytes do not fit into the memory of a module; pass shorter parts`);
  }

  /** Writes ids as the argument; returns their length in bytes. */
  writeIds(ids) {
    for (const id of ids instanceof Uint32Array ? [] : ids) {
      if (!(Number.isInteger(id) && id >= 0 && id < 2 ** 32)) {
        throw new TypeError(`ids: expected whole numbers from 0, not ${String(id)}`);
      }
    }
    const bytes = ids.length * 4;
    const at = this.room(bytes);
    new Uint32Array(this.memory, at, ids.length).set(ids);
    return bytes;
  }

  /** Writes a text or bytes as the argument; returns its length in bytes. */
  write(text) {
    if (text instanceof Uint8Array) {
      const at = this.room(text.length);
      new Uint8Array(this.memory, at, text.length).set(text);
      return text.length;
    }
    if (typeof text !== "string") throw new TypeError(`text: expected a string, not ${typeof text}`);
    const encoder = new TextEncoder();
    const at = this.room(text.length);
    const { read, written } = encoder.encodeInto(text, new Uint8Array(this.memory, at, text.length));
    if (read === text.length) return written;
    const rest = encoder.encode(text.slice(read));
    const start = this.room(written + rest.length) + written;
    new Uint8Array(this.memory, start, rest.length).set(rest);
    return written + rest.length;
  }

  /** Writes bytes and the JSON of options; returns both lengths. */
  pass(bytes, options) {
    const json = new TextEncoder().encode(JSON.stringify(options));
    const at = this.room(bytes.length + json.length);
    const room = new Uint8Array(this.memory, at, bytes.length + json.length);
    room.set(bytes);
    room.set(json, bytes.length);
    return [bytes.length, json.length];
  }

  /** A copy of the answer's bytes; throws if the call failed. */
  answer(isAnswer) {
    const answer = new Uint8Array(this.memory, this.instance.answer_at(), this.instance.answer_size());
    if (isAnswer) return answer.slice();
    const [name, ...message] = DECODER().decode(answer).split("\n");
    throw new ToksmithError(name, message.join("\n"));
  }

  numbers(isAnswer) {
    return new Uint32Array(this.answer(isAnswer).buffer);
  }

  text(isAnswer) {
    return DECODER().decode(this.answer(isAnswer));
  }
}

function choice(special = "raise") {
  const place = SPECIAL.indexOf(special);
  if (place < 0) throw new ToksmithError("InvalidOption", `special=${String(special)} is not possible; expected ${SPECIAL.join(", ")}`);
  return place;
}

/** The text, in which `strict` allows no lone surrogates; otherwise each becomes U+FFFD. */
function checkText(text, errors = "replace") {
  if (errors !== "replace" && errors !== "strict") {
    throw new ToksmithError("InvalidOption", `errors=${String(errors)} is not possible; expected replace, strict`);
  }
  const at = errors === "strict" && typeof text === "string" ? text.search(/\p{Surrogate}/u) : -1;
  if (at >= 0) throw new ToksmithError("UnicodeEncodeError", `text: UTF-8 has no form of the lone surrogate at place ${at}`);
  return text;
}

/** The texts as one array of UTF-8, and the end of each. */
function joinTexts(texts) {
  const isText = (text) => typeof text === "string" || text instanceof Uint8Array;
  if (!texts.every(isText)) throw new TypeError("texts: expected a string, or several strings or Uint8Arrays");
  const parts = texts.map((text) => (typeof text === "string" ? new TextEncoder().encode(text) : text));
  const blob = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let end = 0;
  const ends = parts.map((part) => (blob.set(part, end), (end += part.length)));
  return [blob, ends];
}

/** The bytes of a source. */
async function read(source) {
  if (source instanceof Uint8Array) return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (source instanceof Blob) return new Uint8Array(await source.arrayBuffer());
  let response = source;
  if (!(source instanceof Response)) {
    const base = globalThis.location?.href ?? (NODE ? `file://${process.cwd()}/` : undefined);
    const url = new URL(source, base);
    if (NODE && url.protocol === "file:") {
      const { readFile } = await import("node:fs/promises");
      return new Uint8Array(await readFile(url));
    }
    response = await fetch(url);
  }
  if (!response.ok) throw new Error(`${response.url}: the server answers ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** A worker that trains. */
async function start() {
  const text = inlined?.["worker.js"];
  const url = text ? URL.createObjectURL(new Blob([text], { type: "text/javascript" })) : new URL("worker.js", import.meta.url);
  if (!NODE) return new Worker(url, { type: text ? "classic" : "module" });
  const { Worker: Thread } = await import("node:worker_threads");
  const thread = new Thread(url);
  const worker = { postMessage: (message) => thread.postMessage(message), terminate: () => thread.terminate() };
  thread.on("message", (data) => worker.onmessage({ data }));
  thread.on("error", (problem) => worker.onerror(problem));
  return worker;
}
