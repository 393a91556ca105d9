// The page's requests, which its source answers: the local server, or in the page without one the engine (crates/web/js/playground).

import { Server } from './server.js';

export class Refused extends Error {
  constructor(message, kind, status) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

export class Gone extends Error {}
export class Cancelled extends Error {}

export const connection = new EventTarget(); // `gone`, `back` and `changed`; `busy` and `idle`

const running = new Set(); // the requests that the user waits for

// Cancels every request that the user waits for.
export function cancel() {
  for (const each of [...running]) each.abort(new Cancelled('You cancelled this.'));
}

// A request that its caller or `cancel` can abort.
async function waitFor(signal, quiet, work) {
  const control = new AbortController();
  const stop = () => control.abort(signal.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener('abort', stop);
  if (!quiet) {
    running.add(control);
    connection.dispatchEvent(new Event('busy'));
  }
  try {
    return await work(control.signal);
  } catch (problem) {
    throw control.signal.aborted ? control.signal.reason : problem;
  } finally {
    signal?.removeEventListener('abort', stop);
    if (running.delete(control) && !running.size) connection.dispatchEvent(new Event('idle'));
  }
}

const Engine = globalThis.toksmithPage?.PageEngine;
const source = new (Engine ?? Server)({ connection, Refused, Gone });

// Whether the local server is there, for what only Python can do.
export const hasServer = Engine === undefined;

// Requests a view; a text of null is none. `quiet`: the user does not wait for the answer.
export const ask = (view, text, values = {}, { signal = null, quiet = false } = {}) => waitFor(signal, quiet, (own) => source.ask(view, text, values, own));
export const exportAnswer = (view, format, text, values) => waitFor(null, false, (own) => source.exportAnswer(view, format, text, values, own));

// Records an edit of a long text, so that the text is not sent again: `text` is `before` with [start, end, new text], in characters.
export const noteEdit = (before, text, edit) => source.noteEdit(before, text, edit);

// Whether the source has this text.
export const isKnown = (text) => source.isKnown(text);
export const about = () => source.about();
