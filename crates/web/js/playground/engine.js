// The engine of a page without a server: its answers, and the tokenizers of the build, of this tab, and of this browser.

import { facts, fileOf, forget, keep } from "./kept.js";
import { LIMITS } from "./limits.js";

const COMING = new Set(["opened", "trained_tokenizer"]); // the views that add a tokenizer
const MODULE = "toksmith.wasm";
const NEEDS_WEBASSEMBLY =
  "This browser runs no WebAssembly, which this page needs. Use another browser, or install toksmith and start `toksmith play`.";

/** A worker that has the module. */
async function startWorker() {
  const { "playground.js": code, "worker.js": training, page, bytes } = globalThis.toksmithFiles;
  const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
  const failure = new Promise((_, reject) => (worker.onerror = ({ message }) => reject(new Error(message))));
  const module = await Promise.race([bytes(MODULE), failure]);
  worker.postMessage({ call: "start", values: { texts: page.texts, worker: training, module } });
  return worker;
}

let early = startWorker(); // before the page's own script
early.catch(() => {}); // the first request gets the problem

export class PageEngine {
  #page = globalThis.toksmithFiles.page; // what the build wrote: `texts`, `version`, `patterns`, and facts of `tokenizers` with their `file`
  #rows = new Map(); // the facts of each tokenizer, and how to read its file
  #calls = new Map(); // that are not answered
  #loaded = new Map(); // the tokenizers that the worker has, or gets
  #last = 0;
  #starting;
  #worker;
  #sent; // the text that the worker has
  #tabs;

  /** `page` has `connection`, which gets the event `changed`, and the class `Refused`. */
  constructor(page) {
    Object.assign(this, page);
    for (const { file, ...about } of this.#page.tokenizers) this.#rows.set(about.name, { about, file: () => globalThis.toksmithFiles.bytes(file) });
    try {
      this.#tabs = new BroadcastChannel("toksmith-tokenizers");
      this.#tabs.onmessage = async () => {
        await this.#readKept();
        this.connection.dispatchEvent(new CustomEvent("changed", { detail: this.#facts() }));
      };
    } catch {
      this.#tabs = undefined; // tabs do not hear of each other
    }
  }

  /** What the page needs before its first request. */
  async about() {
    if (typeof WebAssembly !== "object") throw new Error(NEEDS_WEBASSEMBLY);
    await this.#readKept();
    return this.#facts();
  }

  #facts() {
    const { texts, version, patterns } = this.#page;
    const tokenizers = Array.from(this.#rows.values(), ({ about }) => about);
    return { version, tokenizers, failed: {}, limits: LIMITS, patterns, formats: ["native"], contexts: {}, languages: Object.keys(texts) };
  }

  /** Reads what the browser keeps, which another tab may have changed. */
  async #readKept() {
    const kept = new Map((await facts()).map((about) => [about.name, about]));
    for (const [name, row] of this.#rows) if (row.isKept && !kept.has(name)) this.#rows.delete(name);
    for (const [name, about] of kept) {
      const file = async () => (await fileOf(name)) ?? this.#refuse(`${name} was removed in another tab`);
      if (!this.#rows.has(name)) this.#rows.set(name, { about, file, isKept: true });
    }
  }

  #refuse(message, name = "UnknownName") {
    throw new this.Refused(message, name, name === "UnknownText" ? 409 : 400);
  }

  noteEdit() {} // texts are sent whole

  isKnown(text) {
    return text === this.#sent;
  }

  async ask(view, text, values, signal) {
    if (view === "closed") return this.#remove(values.name);
    await Promise.all([this.#start(), ...(values.tokenizers ?? []).map((name) => this.#load(name))]);
    signal.throwIfAborted();
    const asked = COMING.has(view) ? { ...values, name: this.#free(values.name) } : values;
    const isNew = text !== this.#sent;
    this.#sent = text;
    const { result, file } = await this.#call("ask", { view, values: asked, ...(isNew && { text }) }, signal);
    return file === undefined ? result : this.#came(result, file);
  }

  /** An export of a view, of which JSON needs no server. */
  async exportAnswer(view, format, text, values, signal) {
    if (format !== "json") this.#refuse(`${format} needs the local server: toksmith play`, "NeedsServer");
    const tokenizers = values.tokenizers ?? [];
    return JSON.stringify({ toksmith: this.#page.version, tokenizers, result: await this.ask(view, text, values, signal) }, null, 2);
  }

  /** A name that no tokenizer has. */
  #free(name) {
    const plain = (name ?? "tokenizer").replace(/\s/g, " ").slice(0, 90);
    let free = plain;
    for (let number = 2; this.#rows.has(free); number++) free = `${plain} (${number})`;
    return free;
  }

  /** Takes a tokenizer that the worker has; the browser keeps it if there is room. */
  async #came({ name, about: { tokenizers } }, file) {
    const about = { ...tokenizers.find((tok) => tok.name === name), added: true };
    this.#loaded.set(name, Promise.resolve());
    this.#rows.set(name, { about, file: async () => file });
    let said = `${name} is kept in this browser.`;
    try {
      await keep(about, file);
      this.#rows.get(name).isKept = true;
      this.#tabs?.postMessage(name);
    } catch (problem) {
      said = `${name} is there until this page is closed: the browser does not keep it (${problem?.message ?? "its storage is full"}).`;
    }
    return { name, about: this.#facts(), said };
  }

  async #remove(name) {
    this.#rows.delete(name);
    if (this.#loaded.delete(name)) await this.#call("remove", { name });
    await forget(name).catch(() => {}); // it was not kept
    this.#tabs?.postMessage(name);
    return { about: this.#facts() };
  }

  /** Gives a tokenizer to the worker, once. */
  #load(name) {
    if (!this.#rows.has(name)) return undefined; // the worker refuses it
    if (!this.#loaded.has(name)) {
      const loading = Promise.all([this.#rows.get(name).file(), this.#start()]).then(([file]) => this.#call("add", { name, file }));
      loading.catch(() => this.#loaded.delete(name));
      this.#loaded.set(name, loading);
    }
    return this.#loaded.get(name);
  }

  /** The worker, started if there is none. */
  #start() {
    this.#starting ??= this.#begin().catch((problem) => {
      this.#starting = undefined;
      throw problem;
    });
    return this.#starting;
  }

  async #begin() {
    const starting = early ?? startWorker();
    early = undefined;
    this.#worker = await starting;
    this.#worker.onmessage = ({ data }) => this.#hear(data);
    this.#worker.onerror = (event) => this.#stop(event.message);
  }

  /** Ends the worker after an error that it did not expect; the next request starts another. */
  #stop(message) {
    this.#worker.terminate();
    this.#starting = this.#sent = undefined;
    this.#loaded.clear();
    for (const { reject } of this.#calls.values()) reject(new this.Refused(`The engine stopped, and starts again with your next change (${message}).`, "", 500));
    this.#calls.clear();
  }

  #call(call, values, signal) {
    const number = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#calls.set(number, { resolve, reject });
      this.#worker.postMessage({ number, call, values });
      signal?.addEventListener("abort", () => {
        if (this.#calls.delete(number)) this.#worker.postMessage({ number, cancelled: true });
        reject(signal.reason);
      });
    });
  }

  async #hear({ number, wanted, error, ...answer }) {
    if (wanted !== undefined) {
      const worker = this.#worker;
      const found = await globalThis.toksmithFiles.bytes(wanted).then((bytes) => ({ bytes }), ({ message }) => ({ problem: message }));
      worker.postMessage({ file: wanted, ...found });
      return;
    }
    const { resolve, reject } = this.#calls.get(number) ?? {};
    this.#calls.delete(number);
    if (error === undefined) resolve?.(answer);
    else if (/^the engine stopped|^this tokenizer stopped/.test(error.message)) this.#stop(error.message);
    else reject?.(new this.Refused(error.message, error.name, error.name === "UnknownText" ? 409 : 400));
  }
}
