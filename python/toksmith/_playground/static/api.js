// Requests to the server. A text is sent once and then named by the key in the answer; for an edited text, the edits are sent.

export class Refused extends Error {
  constructor(message, kind, status) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

export class Gone extends Error {}
export class Cancelled extends Error {}

const MOST_EDITS = 200;
const sent = { text: null, key: null };
let edits = []; // of the text that was sent last: the new text, and the edit
let watching = false;
export const connection = new EventTarget(); // `gone` and `back`; `busy` and `idle`

const running = new Set(); // the requests that the user waits for

// Cancels every request that the user waits for.
export function cancel() {
  for (const each of [...running]) each.abort(new Cancelled('You cancelled this.'));
}

// A request that its caller or `cancel` can abort.
async function waited(signal, quiet, work) {
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

async function post(view, body, signal) {
  let response;
  try {
    response = await fetch(`/api/${view}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body), signal });
  } catch (problem) {
    if (signal.aborted) throw problem;
    gone();
    throw new Gone('The server does not answer.');
  }
  return response;
}

async function read(response) {
  if (response.ok) return response;
  const said = await response.json().catch(() => ({ error: response.statusText, kind: '' }));
  throw new Refused(said.error, said.kind, response.status);
}

// Records that `text` is `before` with `edit`: [start, end, new text], in characters.
export function edited(before, text, edit) {
  const last = edits.length ? edits[edits.length - 1].text : sent.text;
  if (last !== before || edits.length >= MOST_EDITS) edits = [];
  else edits.push({ text, edit });
}

function known(text, key) {
  const at = edits.findIndex((each) => each.text === text);
  edits = at < 0 ? [] : edits.slice(at + 1);
  Object.assign(sent, { text, key });
}

// Sends a request about a text (null: about none), by key if the server has the text.
async function aboutText(view, text, values, signal) {
  if (text === null) return post(view, values, signal);
  const at = edits.findIndex((each) => each.text === text);
  const short = sent.text === text ? { key: sent.key } : at < 0 ? null : { base: sent.key, edits: edits.slice(0, at + 1).map((each) => each.edit) };
  if (short) {
    const response = await post(view, { ...values, ...short }, signal);
    if (response.status !== 409) return response;
    sent.text = null;
  }
  return post(view, { ...values, text }, signal);
}

// Requests a view. `quiet`: the user does not wait for the answer.
export function ask(view, text, values = {}, { signal = null, quiet = false } = {}) {
  return waited(signal, quiet, async (own) => {
    const answer = await (await read(await aboutText(view, text, values, own))).json();
    if (answer.key && text !== null && sent.text !== text) known(text, answer.key);
    return answer.result;
  });
}

// Whether the server has this text, or a text from which it was edited.
export const isKnown = (text) => sent.text === text || edits.some((each) => each.text === text);

export function exported(view, format, text, values) {
  return waited(null, false, async (own) => (await read(await aboutText(`${view}.${format}`, text, values, own))).text());
}

export async function about() {
  return (await read(await fetch('/api/about'))).json();
}

function gone() {
  if (watching) return;
  watching = true;
  connection.dispatchEvent(new Event('gone'));
  const look = async () => {
    try {
      const found = await about();
      watching = false;
      sent.text = null;
      edits = [];
      connection.dispatchEvent(new CustomEvent('back', { detail: found }));
    } catch {
      setTimeout(look, 1000);
    }
  };
  setTimeout(look, 500);
}
