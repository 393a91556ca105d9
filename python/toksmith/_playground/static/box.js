// The text: the box with it, or with the beginning of a long one, and undo.

import { noteEdit } from './api.js';
import { $, h, num, save, say } from './dom.js';

const MOST_SHOWN = 200_000; // characters in the box: of a longer text, the box shows only the beginning
const SHOWN = 20_000;
const EDITS = 20_000; // characters; for a longer text, the edits are sent instead of the text

// The number of characters, which have one or two UTF-16 units each.
export function points(text, end = text.length) {
  let found = end;
  for (let at = 0; at < end; at += 1) if (isFirst(text, at) && at + 1 < end && isSecond(text, at + 1)) found -= 1;
  return found;
}

const isFirst = (text, at) => text.charCodeAt(at) >> 10 === 0x36;
const isSecond = (text, at) => text.charCodeAt(at) >> 10 === 0x37;

export class TextBox {
  // `page` has `noteTyping(text)`, `notice(words)` and `limit()`, the maximum bytes of a text.
  constructor(box, page) {
    this.box = box;
    this.page = page;
    this.held = ''; // the part of the text that is not in the box
    this.last = ['', ''];
    this.replaced = null; // the text that was replaced at once: `before`, and `now` in its place
    box.addEventListener('paste', (event) => this.onpaste(event));
    box.addEventListener('beforeinput', (event) => {
      if (event.data && this.tooLong(event.data)) event.preventDefault();
      else if (this.isAllSelected) this.takeAll();
    });
    box.addEventListener('keydown', (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.shiftKey || event.key.toLowerCase() !== 'z' || !this.isReplaced) return;
      event.preventDefault(); // the browser forgets what a script replaces
      this.undo();
    });
    for (const kind of ['copy', 'cut']) box.addEventListener(kind, (event) => this.oncopy(event));
    box.addEventListener('input', () => {
      if (box.value.length > MOST_SHOWN && this.tooLong(box.value)) [box.value] = this.last;
      this.takeChange();
    });
    $('clear').addEventListener('click', () => {
      this.replace('', 'cleared');
      box.focus();
    });
  }

  get text() {
    return this.held ? this.box.value + this.held : this.box.value;
  }

  put(text) {
    if (text.length > MOST_SHOWN) {
      const cut = isFirst(text, SHOWN - 1) ? SHOWN - 1 : SHOWN; // not between the halves of a character
      this.held = text.slice(cut);
      this.box.value = text.slice(0, cut);
    } else {
      this.held = '';
      this.box.value = text;
    }
    this.takeChange();
  }

  // Replaces the text; the user can undo it.
  replace(text, said) {
    const { text: before } = this;
    this.put(text);
    if (before && before !== text) this.offer(before, said);
  }

  offer(before, said) {
    this.replaced = { before, now: this.text };
    $('undone').replaceChildren(`The text was ${said}. `, h('button', { type: 'button', id: 'undo', onclick: () => this.undo() }, 'Undo'));
    $('undone').hidden = false;
    say(`the text was ${said}`);
  }

  undo() {
    this.replace(this.replaced.before, 'put back');
    this.box.focus();
  }

  get isReplaced() {
    return this.replaced !== null && this.text === this.replaced.now;
  }

  // Whether the user selected all that the box shows of a longer text, and so all of the text.
  get isAllSelected() {
    return this.held !== '' && this.box.selectionStart === 0 && this.box.selectionEnd === this.box.value.length;
  }

  // The next edit replaces the whole text, not only what the box shows.
  takeAll() {
    const before = this.text;
    this.held = '';
    setTimeout(() => this.offer(before, 'replaced'));
  }

  oncopy(event) {
    if (!this.isAllSelected) return;
    event.preventDefault();
    event.clipboardData.setData('text/plain', this.text);
    if (event.type === 'cut') this.replace('', 'cut');
  }

  insert(content) {
    this.box.setRangeText(content, this.box.selectionStart, this.box.selectionEnd, 'end');
    this.takeChange();
  }

  takeChange() {
    const { box, held } = this;
    if (!held && box.value.length > MOST_SHOWN) {
      this.put(box.value);
      return;
    }
    const { text } = this;
    this.note(text);
    $('undone').hidden = !this.isReplaced;
    $('held').hidden = !held;
    if (held) $('held').replaceChildren(`The box shows the beginning; the text has ${num(held.length)} more characters. `, h('button', { type: 'button', onclick: () => save('text.txt', 'text/plain', this.text) }, 'Save all'));
    this.page.noteTyping(text);
  }

  // Records the edit of a long text, so that the text is not sent again.
  note(text) {
    const [before, heldBefore] = this.last;
    const now = this.box.value;
    this.last = [now, this.held];
    if (text.length < EDITS || heldBefore !== this.held) return;
    const most = Math.min(before.length, now.length);
    let start = 0;
    while (start < most && before.charCodeAt(start) === now.charCodeAt(start)) start += 1;
    let behind = 0;
    while (behind < most - start && before.charCodeAt(before.length - 1 - behind) === now.charCodeAt(now.length - 1 - behind)) behind += 1;
    if (start && isFirst(before, start - 1)) start -= 1; // not between the halves of a character
    if (behind && isSecond(before, before.length - behind)) behind -= 1;
    noteEdit(before + heldBefore, text, [points(before, start), points(before, before.length - behind), now.slice(start, now.length - behind)]);
  }

  // A paste that is too long is refused before it changes anything.
  tooLong(added) {
    const { page } = this;
    if (added.length <= page.limit() / 3) return false;
    const bytes = new TextEncoder().encode(added).length + new TextEncoder().encode(this.text).length;
    if (bytes <= page.limit()) return false;
    page.notice(`The text would have ${num(bytes)} bytes; the limit is ${num(page.limit())}. The text and the clipboard are unchanged.`);
    return true;
  }

  onpaste(event) {
    const { box } = this;
    const added = event.clipboardData.getData('text/plain');
    if (this.tooLong(added)) {
      event.preventDefault();
    } else if (this.isAllSelected) {
      event.preventDefault();
      this.replace(added, 'replaced');
    } else if (added.length + box.value.length > MOST_SHOWN) {
      event.preventDefault(); // so that the box never lays out hidden text
      this.put(box.value.slice(0, box.selectionStart) + added + box.value.slice(box.selectionEnd) + this.held);
    }
  }
}
