// The worker of a page without a server: the page stays alive while this thread answers its requests.
//
// A message is a call with a number; the answer has the same number. The page can cancel a call, and gives files to this thread,
// which cannot load scripts of a page that is opened as a file.

import * as toksmith from "../toksmith.js";
import { PageSource } from "./source.js";

const files = globalThis.toksmithFiles;
const waiting = new Map(); // calls that are not answered, by number
const wanted = new Map(); // files, by name
let [source, text] = [undefined, undefined];

files.bytes = (name) =>
  new Promise((resolve, reject) => {
    wanted.set(name, { resolve, reject });
    postMessage({ wanted: name });
  });

function start({ texts, worker, module }) {
  files["worker.js"] = worker;
  toksmith.init(module);
  source = new PageSource(toksmith, { texts });
}

const CALLS = {
  add: async ({ name, file }) => ({ result: source.add(name, await toksmith.load(file)).name }),
  remove: ({ name }) => ({ result: source.remove(name).about }),
  async ask({ view, text, values }, signal) {
    const result = await source.ask(view, text, values, { signal });
    // A tokenizer that came is kept by the page.
    return { result, file: view === "opened" || view === "trained_tokenizer" ? source.get(result.name).tok.save() : undefined };
  },
};

async function answer(number) {
  const { call, values, control } = waiting.get(number) ?? {};
  if (call === undefined) return; // cancelled
  try {
    postMessage({ number, ...(await CALLS[call](values, control.signal)) });
  } catch ({ name, message }) {
    postMessage({ number, error: { name, message } });
  }
  waiting.delete(number);
}

addEventListener("message", ({ data: { number, call, values, cancelled, file, bytes, problem } }) => {
  if (file !== undefined) {
    const { resolve, reject } = wanted.get(file);
    if (bytes) resolve(bytes);
    else reject(new Error(problem));
  } else if (call === "start") {
    start(values);
  } else if (cancelled) {
    waiting.get(number)?.control.abort(new Error("the request was cancelled"));
    waiting.delete(number);
  } else {
    if (call === "ask") values.text = text = values.text === undefined ? text : values.text;
    waiting.set(number, { call, values, control: new AbortController() });
    setTimeout(() => answer(number)); // after messages that are here already, which can cancel it
  }
});
