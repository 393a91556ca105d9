// The local server as the source of the page's data. A text is sent once and then named by the key in the answer; for an edited
// text, the edits are sent.

const MOST_EDITS = 200;

export class Server {
  // `page` has `connection`, which gets the events `gone` and `back`, and the classes `Refused` and `Gone`.
  constructor(page) {
    Object.assign(this, page);
    this.forget();
    this.watching = false;
  }

  forget() {
    this.sent = { text: null, key: null };
    this.edits = []; // of the text that was sent last: the new text, and the edit
  }

  async post(view, body, signal) {
    try {
      return await fetch(`/api/${view}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body), signal });
    } catch (problem) {
      if (signal.aborted) throw problem;
      this.fail();
      throw new this.Gone('The server does not answer.');
    }
  }

  async read(response) {
    if (response.ok) return response;
    const said = await response.json().catch(() => ({ error: response.statusText, kind: '' }));
    throw new this.Refused(said.error, said.kind, response.status);
  }

  // Records that `text` is `before` with `edit`: [start, end, new text], in characters.
  noteEdit(before, text, edit) {
    const last = this.edits.length ? this.edits[this.edits.length - 1].text : this.sent.text;
    if (last !== before || this.edits.length >= MOST_EDITS) this.edits = [];
    else this.edits.push({ text, edit });
  }

  noteKey(text, key) {
    const at = this.edits.findIndex((each) => each.text === text);
    this.edits = at < 0 ? [] : this.edits.slice(at + 1);
    this.sent = { text, key };
  }

  // Sends a request about a text (null: about none), by key if the server has the text.
  async aboutText(view, text, values, signal) {
    if (text === null) return this.post(view, values, signal);
    const { sent, edits } = this;
    const at = edits.findIndex((each) => each.text === text);
    const short = sent.text === text ? { key: sent.key } : at < 0 ? null : { base: sent.key, edits: edits.slice(0, at + 1).map((each) => each.edit) };
    if (short) {
      const response = await this.post(view, { ...values, ...short }, signal);
      if (response.status !== 409) return response;
      this.sent.text = null;
    }
    return this.post(view, { ...values, text }, signal);
  }

  async ask(view, text, values, signal) {
    const answer = await (await this.read(await this.aboutText(view, text, values, signal))).json();
    if (answer.key && text !== null && this.sent.text !== text) this.noteKey(text, answer.key);
    return answer.result;
  }

  async exportAnswer(view, format, text, values, signal) {
    return (await this.read(await this.aboutText(`${view}.${format}`, text, values, signal))).text();
  }

  isKnown(text) {
    return this.sent.text === text || this.edits.some((each) => each.text === text);
  }

  async about() {
    return (await this.read(await fetch('/api/about'))).json();
  }

  fail() {
    if (this.watching) return;
    this.watching = true;
    this.connection.dispatchEvent(new Event('gone'));
    const look = async () => {
      try {
        const found = await this.about();
        this.watching = false;
        this.forget();
        this.connection.dispatchEvent(new CustomEvent('back', { detail: found }));
      } catch {
        setTimeout(look, 1000);
      }
    };
    setTimeout(look, 500);
  }
}
