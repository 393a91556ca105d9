// The ids of one tokenizer, linked with its tokens; only the visible ones are in the page.

import { ask } from './api.js';
import { copy, h, num, save, say, speak } from './dom.js';
import { latest } from './latest.js';

const ROW = 28;
const LINES = 5;
const WIDE = 66; // pixels of one id

export class Ids {
  constructor(app) {
    this.app = app;
    this.first = 0;
    this.total = 0;
    this.window = null;
    this.content = h('div', { className: 'ids-content', role: 'listbox', 'aria-label': 'Ids', 'aria-orientation': 'horizontal' });
    this.scroller = h('div', { className: 'ids', onscroll: () => this.onscroll(), onkeydown: (event) => this.onkey(event), onclick: (event) => this.onclick(event) }, this.content);
    this.caption = h('h3', { className: 'ids-caption' }, 'Ids');
    this.load = latest((again, signal) => this.fetch(again, signal));
    const as = { list: (ids) => ids.join(' '), JSON: (ids) => JSON.stringify(ids), numpy: (ids) => `np.array([${ids.join(', ')}], dtype=np.uint32)`, C: (ids) => `const uint32_t ids[${ids.length}] = {${ids.join(', ')}};` };
    const buttons = Object.entries(as).map(([name, make]) => h('button', { type: 'button', onclick: () => this.copy(name, make) }, name));
    this.given = h('input', { type: 'text', className: 'wide', id: 'given-ids', placeholder: '15496 11 995', spellcheck: false });
    this.decoded = h('p', { className: 'decoded' });
    this.element = h('section', { 'aria-label': 'Ids' }, h('div', { className: 'label-row' }, this.caption, h('span', { className: 'group', role: 'group', 'aria-label': 'Copy all ids as' }, h('span', { className: 'dim' }, 'copy as '), buttons)),
      this.scroller,
      h('form', { className: 'label-row', onsubmit: (event) => this.decode(event) }, h('label', { htmlFor: 'given-ids' }, 'Ids to text'), this.given, h('button', { type: 'submit' }, 'Decode')), this.decoded);
    // The pointer at an id points out its token.
    this.scroller.addEventListener('pointerover', (event) => {
      const at = event.target.closest?.('.id');
      this.app.pointAt(at ? { which: this.app.state.which, place: Number(at.dataset.i) } : null);
    });
    this.scroller.addEventListener('pointerleave', () => this.app.pointAt(null));
    new ResizeObserver(() => this.load()).observe(this.scroller);
  }

  get across() {
    return Math.max(1, Math.floor((this.scroller.clientWidth - 20) / WIDE));
  }

  async fetch(again, signal) {
    const { state } = this.app;
    if (!state.toks.length || !this.scroller.clientWidth) return;
    const { across } = this;
    const from = Math.max(0, this.first - LINES) * across;
    try {
      const window = await ask('ids', state.text, { ...this.app.params(), first: from, last: from + across * LINES * 4 }, { signal });
      if (again()) return;
      this.window = window;
      this.total = window.total;
    } catch {
      if (again()) return;
      this.window = null; // the rows show the reason
      this.total = 0;
    }
    this.draw();
  }

  draw() {
    const { window, across, app } = this;
    this.caption.textContent = `Ids${app.state.toks.length > 1 ? ` of ${app.state.toks[app.state.which]}` : ''}: ${num(this.total)}`;
    const rows = Math.ceil(this.total / across);
    this.content.style.height = `${Math.min(rows * ROW, 12_000_000)}px`;
    this.scroller.style.height = `${Math.max(1, Math.min(rows, LINES)) * ROW + 4}px`;
    const focused = this.scroller.contains(document.activeElement);
    const drawn = [];
    for (const [at, [id, shown, colour]] of window ? window.tokens.entries() : []) {
      const place = window.first + at;
      const row = Math.floor(place / across);
      if (row < this.first - 1 || row > this.first + LINES + 1) continue;
      const on = place === app.state.selected;
      drawn.push(h('span', {
        className: `id c${colour}${on ? ' on' : ''}`, role: 'option', 'aria-selected': String(on), 'aria-label': `${id}, ${speak(shown)}`, title: shown,
        tabIndex: on || (app.state.selected === null && place === window.first) ? 0 : -1, 'data-i': place, 'aria-posinset': place + 1, 'aria-setsize': this.total,
        style: { top: `${row * ROW}px`, left: `${(place % across) * WIDE}px` },
      }, String(id)));
    }
    this.content.replaceChildren(...drawn);
    if (focused) this.content.querySelector('.on')?.focus({ preventScroll: true });
  }

  onscroll() {
    this.first = Math.floor(this.scroller.scrollTop / ROW);
    const { window } = this;
    const from = this.first * this.across;
    if (window && from >= window.first && Math.min(this.total, from + LINES * this.across) <= window.first + window.tokens.length) this.draw();
    else this.load();
  }

  // The selected id comes into sight.
  follow() {
    const { selected } = this.app.state;
    if (selected === null) return;
    const row = Math.floor(selected / this.across);
    if (row < this.first || row >= this.first + LINES) {
      this.scroller.scrollTop = Math.max(0, row - 2) * ROW;
      this.onscroll();
    } else this.draw();
  }

  onclick(event) {
    const at = event.target.closest('.id');
    if (at) this.app.select(this.app.state.which, Number(at.dataset.i), { focusIds: true });
  }

  onkey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.across, ArrowUp: -this.across, PageDown: this.across * LINES, PageUp: -this.across * LINES }[event.key];
    const at = event.target.closest('.id');
    if (!at) return;
    let to = Number(at.dataset.i);
    if (step) to += step;
    else if (event.key === 'Home') to = 0;
    else if (event.key === 'End') to = this.total - 1;
    else if (event.key !== 'Enter' && event.key !== ' ') return;
    event.preventDefault();
    this.app.select(this.app.state.which, Math.max(0, Math.min(this.total - 1, to)), { focusIds: true });
  }

  async copy(name, make) {
    const { state } = this.app;
    try {
      const { ids } = await ask('all_ids', state.text, this.app.one());
      if (!(await copy(make(ids), `${num(ids.length)} ids`))) save('ids.txt', 'text/plain', make(ids));
    } catch (problem) {
      say(problem.message);
    }
  }

  async decode(event) {
    event.preventDefault();
    const { state } = this.app;
    const words = this.given.value.match(/[^\s,[\]]+/g) ?? [];
    const wrong = words.find((word) => !/^-?[0-9]{1,15}$/.test(word));
    try {
      if (wrong !== undefined) throw new Error(`“${wrong}” is not an id: expected whole numbers`);
      const { text, shown, bytes } = await ask('decode', null, { ...this.app.one(), ids: words.map(Number) });
      const use = text === null ? 'These bytes are not a text by themselves.' : h('button', { type: 'button', onclick: () => this.app.setText(text) }, 'Use as text');
      this.decoded.className = 'decoded';
      this.decoded.replaceChildren(h('bdi', { className: 'mono' }, text ?? shown), ` (${num(bytes)} bytes) `, use);
      say(`decoded: ${text ?? speak(shown)}`);
    } catch (problem) {
      this.decoded.className = 'decoded bad';
      this.decoded.replaceChildren(problem.message);
      say(problem.message);
    }
  }
}
