// Earlier texts, stored in this browser until the user deletes them.

import { $, count, h, num, say } from './dom.js';
import { forget, keep, readKept } from './kept.js';

const NAME = 'texts';
const MOST = 30;
const LONGEST = 100_000; // characters of one
const ROOM = 1_000_000; // characters of all
const STILL = 3000; // milliseconds without a change until a text is stored

const fits = (each) => typeof each?.text === 'string' && Number.isFinite(each.at);

export class Earlier {
  // `page` has `replace(text, said)` and `example`, which is not stored.
  constructor(page) {
    this.page = page;
    this.timer = null;
    this.list = h('ul', { className: 'earlier' });
    this.on = h('input', { type: 'checkbox', id: 'earlier-on', checked: readKept('remember', 'yes') === 'yes', onchange: () => keep('remember', this.on.checked ? 'yes' : 'no') });
    this.dialog = h('dialog', { id: 'earlier-texts', 'aria-labelledby': 'earlier-title' }, h('h2', { id: 'earlier-title' }, 'Earlier texts'), this.list,
      h('p', {}, h('label', {}, this.on, ' Remember texts')),
      h('p', { className: 'dim' }, `This browser keeps the last ${MOST} texts on this machine. A text of more than ${num(LONGEST)} characters is not kept.`),
      h('p', { className: 'group' }, h('button', { type: 'button', id: 'forget', onclick: () => this.forget() }, 'Forget all'), h('button', { type: 'button', onclick: () => this.dialog.close() }, 'Close')));
    document.body.append(this.dialog);
    $('earlier').addEventListener('click', () => {
      this.remember(this.text);
      this.draw();
      this.dialog.showModal();
    });
    addEventListener('pagehide', () => this.remember(this.text));
  }

  get texts() {
    const found = readKept(NAME, []);
    return Array.isArray(found) ? found.filter(fits) : [];
  }

  noteTyping(text) {
    clearTimeout(this.timer);
    this.text = text;
    this.timer = setTimeout(() => this.remember(text), STILL);
  }

  remember(text) {
    if (!this.on.checked || !text?.trim() || text === this.page.example || text.length > LONGEST) return;
    const { texts } = this;
    // A text that only grew, or lost its end, replaces its earlier version.
    const [last] = texts;
    const same = (each) => each.text === text || (each === last && (text.startsWith(each.text) || each.text.startsWith(text)));
    const rest = texts.filter((each) => !same(each));
    let room = ROOM - text.length;
    const found = [{ text, at: Date.now() }, ...rest.slice(0, MOST - 1).filter((each) => { room -= each.text.length; return room >= 0; })];
    if (!keep(NAME, found)) keep(NAME, found.slice(0, 5));
  }

  forget() {
    clearTimeout(this.timer);
    this.text = null; // the text in the box is stored when it changes again
    forget(NAME);
    this.draw();
    say('all earlier texts are forgotten');
  }

  draw() {
    const { texts } = this;
    const row = ({ text, at }) => h('li', {},
      h('button', { type: 'button', className: 'link', onclick: () => { this.dialog.close(); this.page.replace(text, 'replaced by an earlier one'); } }, h('bdi', {}, text.trim().split('\n')[0].slice(0, 80))),
      h('span', { className: 'dim' }, ` ${count([...text].length, 'character')}, ${new Date(at).toLocaleString()}`));
    this.list.replaceChildren(...texts.map(row));
    if (!texts.length) this.list.append(h('li', { className: 'dim' }, 'None yet.'));
    this.dialog.querySelector('#forget').disabled = !texts.length;
  }
}
