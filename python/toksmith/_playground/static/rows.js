// The rows of tokens: only the visible ones are in the page, at any length of the text.
// The server gives the content of each row; this file draws it, scrolls it, and handles its keys.

import { ask, isKnown, Refused } from './api.js';
import { h, num, say, speak } from './dom.js';
import { latest } from './latest.js';

export const ROW = 26; // pixels
const SHAPED = 30; // pixels of the line above tokens with right-to-left letters
const LINES = 12; // rows in sight, at most
const OVERSCAN = 2;
const MOST_CELLS = 96;
const MOST_NODES = 1500; // drawn at once; with the rest of the page below 3,000
const TALLEST = 12_000_000; // pixels: browsers give up on elements that are much taller
export const LONG = 100_000; // characters; for a longer text, the counts are requested first and the differences last
const STARTS = 1;
const ALONE = 2;
const AGREES = 4;

export class TokenRows {
  // `app` has `state`, `params(cells)`, `select(which, place)` and `tellRows(window)`.
  constructor(app) {
    this.app = app;
    this.window = null; // the server's answer for some rows
    this.first = 0;
    this.cells = 80;
    this.stacked = false;
    this.kept = []; // for each column, its element and the elements of its rows
    this.wanted = null; // a place that gets the focus as soon as it is drawn
    this.ruler = h('span', { className: 'ruler', 'aria-hidden': 'true' }, '0'.repeat(10));
    this.content = h('div', { className: 'rows-content' });
    this.scroller = h('div', { className: 'rows', tabIndex: -1, onscroll: () => this.onscroll(), onkeydown: (event) => this.onkey(event) }, this.content, this.ruler);
    this.scroller.addEventListener('pointerover', (event) => this.onpoint(event));
    this.scroller.addEventListener('pointerleave', () => this.app.pointAt(null));
    this.scroller.addEventListener('click', (event) => this.onclick(event));
    this.scroller.addEventListener('focusin', (event) => this.onclick(event, false));
    this.load = latest((again, signal) => this.fetch(again, signal));
    new ResizeObserver(() => this.measure() && this.load()).observe(this.scroller);
  }

  get element() {
    return this.scroller;
  }

  // Measures the number of cells in a row; true if it has changed.
  measure() {
    const cell = this.ruler.getBoundingClientRect().width / 10 || 9;
    const room = this.scroller.clientWidth - 24;
    const beside = this.app.state.toks.length || 1;
    const stacked = beside > 1 && room / beside < 34 * cell;
    const own = stacked ? room - 26 : room / beside - (beside > 1 ? 26 : 0);
    const cells = Math.max(8, Math.min(Math.floor((own / cell) * 0.9), Math.floor(MOST_CELLS / (stacked ? 1 : beside))));
    const changed = cells !== this.cells || stacked !== this.stacked;
    this.cells = cells;
    this.stacked = stacked;
    return changed;
  }

  get lines() {
    return this.stacked ? this.app.state.toks.length : 1;
  }

  get height() {
    return ROW * this.lines + (this.stacked ? 8 : 0) + this.above;
  }

  get above() {
    return this.window?.right_to_left ? SHAPED : 0;
  }

  // On paper there is no scrolling: every row of the window is drawn.
  print(on) {
    this.printing = on;
    this.draw();
  }

  get inSight() {
    if (this.printing) return this.window?.starts.length ?? 1;
    return Math.max(1, Math.ceil(this.scroller.clientHeight / this.height) || Math.floor(LINES / this.lines));
  }

  // From the text anew: the window stays where it is.
  async refresh() {
    this.measure();
    await this.load();
  }

  async fetch(again, signal) {
    if (!this.app.state.toks.length) return; // the server has not answered yet
    const asked = { text: this.app.state.text, toks: this.app.state.toks.join('\n'), cells: this.cells, special: this.app.state.special, stacked: this.stacked, marks: this.app.state.marks === 1 };
    // The user waits for the visible rows; the rows around them are loaded later.
    const margin = asked.text === this.asked?.text ? 2 * LINES : OVERSCAN;
    const first = Math.max(0, this.first - margin);
    try {
      if (asked.text.length > LONG && !isKnown(asked.text)) {
        const counts = await ask('counts', asked.text, this.app.params(), { signal });
        if (again()) return;
        this.app.tellCounts(counts);
      }
      const rows = () => ask('rows', asked.text, { ...this.app.params(), cells: asked.cells, marks: asked.marks, first, last: this.first + this.inSight + margin }, { signal });
      let window = await rows();
      if (!again() && window.wanted) {
        await this.measureCharacters(window.wanted, signal);
        window = await rows();
      }
      if (again()) return;
      if (first > 0 && window.first + window.starts.length - 1 <= this.first) this.first = Math.max(0, window.rows - this.inSight);
      const same = JSON.stringify({ ...asked, text: '' }) === JSON.stringify({ ...this.asked, text: '' }) && asked.text === this.asked?.text;
      if (!same) this.kept = [];
      if (this.window?.right_to_left !== window.right_to_left) this.kept = [];
      this.window = window;
      this.asked = asked;
      this.app.tellRows(window, null);
      this.draw();
      if (this.first + 1 < window.first || this.missing()) this.load();
    } catch (problem) {
      if (again()) return;
      if (problem instanceof Refused) {
        this.window = null;
        this.content.replaceChildren();
        this.content.style.height = '0';
      }
      this.app.tellRows(null, problem);
    }
  }

  // Sends the measured widths of characters to the server, each once; the rows are laid out again.
  async measureCharacters(wanted, signal) {
    const style = getComputedStyle(this.scroller);
    const canvas = document.createElement('canvas').getContext('2d');
    canvas.font = `${style.fontSize} ${style.fontFamily}`;
    const width = (text) => canvas.measureText(text).width;
    const unit = width('0') / 10;
    const widths = Object.fromEntries([...wanted].map((char) => {
      const px = /\p{M}/u.test(char) ? width(`◌${char}`) - width('◌') : width(char);
      return [char, Math.max(0, Math.min(250, Math.ceil(px / unit)))];
    }));
    await ask('measured', null, { widths }, { signal });
    this.kept = [];
  }

  missing() {
    const { window } = this;
    if (!window) return true;
    const last = Math.min(window.rows, this.first + this.inSight + 1);
    return this.first < window.first || last > window.first + window.starts.length - 1;
  }

  // Tall texts are scrolled in proportion.
  get scale() {
    const tall = (this.window?.rows ?? 0) * this.height;
    return tall > TALLEST ? (tall - this.scroller.clientHeight) / (TALLEST - this.scroller.clientHeight) : 1;
  }

  onscroll() {
    const first = Math.floor((this.scroller.scrollTop * this.scale) / this.height);
    if (first === this.first && !this.missing()) return;
    this.first = first;
    requestAnimationFrame(() => this.draw());
    if (this.missing()) this.load();
  }

  scrollToRow(row) {
    const { inSight } = this;
    if (row >= this.first && row < this.first + inSight - 1) return;
    this.first = Math.max(0, row - Math.floor(inSight / 3));
    this.scroller.scrollTop = (this.first * this.height) / this.scale;
    this.draw();
    if (this.missing()) this.load();
  }

  draw() {
    const { window, app } = this;
    if (!window) return;
    const focused = this.scroller.contains(document.activeElement);
    const room = Math.min(window.rows, Math.max(1, Math.floor(LINES / this.lines))) * this.height;
    this.scroller.style.height = `${Math.max(room, this.height) + 18}px`;
    this.content.style.height = `${Math.min(TALLEST, window.rows * this.height)}px`;
    // In a text that is scrolled in proportion, rows are placed at the view.
    const offset = this.scale === 1 ? 0 : this.scroller.scrollTop - this.first * this.height - ((this.scroller.scrollTop * this.scale) % this.height);
    if (this.scale !== 1) this.kept = [];
    const columns = app.state.toks.map((name, which) => this.column(name, which, offset));
    if (columns.length !== this.content.children.length || columns.some((column, which) => column !== this.content.children[which])) this.content.replaceChildren(...columns);
    this.content.classList.toggle('stacked', this.stacked);
    this.mark();
    if (focused || this.wanted) {
      const target = this.wanted ?? { which: app.state.which, place: app.state.selected };
      const found = this.find(target.which, target.place);
      if (found) {
        this.wanted = null;
        found.focus({ preventScroll: true });
      } else if (focused && !this.scroller.contains(document.activeElement)) this.scroller.focus({ preventScroll: true }); // so that keys still work
    }
  }

  // One tokenizer's rows: rows that are drawn already stay.
  column(name, which, offset) {
    const { window } = this;
    const cuts = window.cuts[which];
    const beside = this.app.state.toks.length;
    this.kept[which] ??= { listbox: h('div', { className: 'column', role: 'listbox', 'aria-label': `Tokens of ${name}`, 'aria-orientation': 'horizontal' }), rows: new Map() };
    const { listbox, rows } = this.kept[which];
    if (!cuts) return listbox;
    listbox.style.left = this.stacked ? '0' : `${(100 * which) / beside}%`;
    listbox.style.width = this.stacked ? '100%' : `${100 / beside}%`;
    const from = Math.max(this.first - OVERSCAN, window.first);
    const to = Math.min(this.first + this.inSight + OVERSCAN, window.first + cuts.rows.length);
    const below = Array.from({ length: Math.max(0, to - Math.max(from, this.first)) }, (_, step) => Math.max(from, this.first) + step);
    const above = Array.from({ length: Math.max(0, Math.min(to, this.first) - from) }, (_, step) => Math.min(to, this.first) - 1 - step);
    const wanted = new Map();
    let nodes = 0;
    for (const row of [...below, ...above]) { // visible rows first
      if (nodes > MOST_NODES / beside) break;
      wanted.set(row, rows.get(row) ?? this.row(cuts, row, which, offset));
      nodes += wanted.get(row).nodes;
    }
    for (const [row, { element }] of rows) if (!wanted.has(row)) element.remove();
    let at = listbox.firstChild;
    for (const row of [...wanted.keys()].sort((one, other) => one - other)) {
      const { element } = wanted.get(row);
      if (element === at) at = at.nextSibling;
      else listbox.insertBefore(element, at);
    }
    this.kept[which].rows = wanted;
    return listbox;
  }

  row(cuts, row, which, offset) {
    const drawn = cuts.rows[row - this.window.first];
    const line = this.stacked && which ? null : this.window.lines[row - this.window.first];
    const top = offset + row * this.height + (this.stacked ? which * ROW : 0) + (line === null ? this.above : 0);
    const dir = this.window.right[row - this.window.first] ? 'rtl' : 'ltr';
    const element = h('div', { className: `row ${dir}`, role: 'presentation', style: { top: `${top}px` }, dir });
    if (line !== null) element.append(h('div', { className: 'shaped', dir, 'aria-hidden': 'true' }, line));
    let nodes = line === null ? 1 : 2;
    if (this.stacked) element.append(h('span', { className: 'letter', 'aria-hidden': 'true' }, 'ABCD'[which]));
    for (const run of drawn) {
      nodes += typeof run[0] === 'number' ? 1 : 3 + run[1].length;
      if (typeof run[0] === 'number') element.append(this.run(cuts, which, run[0], run[1], run[2], ''));
      else {
        let byte = 0;
        const parts = run[1].map(([place, bytes, flags]) => {
          const numbers = Array.from({ length: bytes }, () => String(++byte)).join('');
          return this.run(cuts, which, place, numbers, flags, 'part');
        });
        element.append(h('span', { className: 'split', role: 'presentation', title: `${run[0]}: a character that ${run[1].length} tokens share, byte by byte` },
          h('bdi', { className: 'glyph', 'aria-hidden': 'true' }, run[0]), h('span', { className: 'parts', role: 'presentation' }, parts)));
      }
    }
    return { element, nodes };
  }

  run(cuts, which, place, text, flags, kind) {
    const [id, shown, , , special, colour] = cuts.tokens[place - cuts.first];
    let className = `t c${colour} ${kind}`;
    if (flags & AGREES) className += ' agrees';
    if (flags & STARTS) className += ' s';
    if (flags & ALONE) className += ' alone';
    if (special) className += ' special';
    const made = document.createElement('bdi');
    made.className = className;
    made.textContent = text || '⌀';
    made.dataset.w = which;
    made.dataset.i = place;
    if (flags & STARTS) {
      made.tabIndex = -1;
      made.setAttribute('role', 'option');
      made.setAttribute('aria-label', `${speak(shown)}, id ${id}`);
      made.setAttribute('aria-posinset', place + 1);
      made.setAttribute('aria-setsize', cuts.total);
      made.setAttribute('aria-selected', 'false');
    } else made.setAttribute('aria-hidden', 'true');
    return made;
  }

  find(which, place) {
    return this.content.querySelector(`.t[data-w="${which}"][data-i="${place}"][role="option"]`);
  }

  // Highlights the selected token, and makes it reachable with the tab key.
  mark() {
    const { which, selected } = this.app.state;
    for (const element of this.content.querySelectorAll('.t.on, .t[tabindex="0"]')) {
      element.classList.remove('on');
      if (element.getAttribute('role') === 'option') {
        element.tabIndex = -1;
        element.setAttribute('aria-selected', 'false');
      }
    }
    if (selected !== null) {
      for (const element of this.content.querySelectorAll(`.t[data-w="${which}"][data-i="${selected}"]`)) element.classList.add('on');
      this.find(which, selected)?.setAttribute('aria-selected', 'true');
    }
    for (const column of this.content.children) {
      const own = selected === null ? null : column.querySelector(`.t.on[role="option"]`);
      const entry = own ?? column.querySelector('.t[role="option"]');
      if (entry) entry.tabIndex = 0;
    }
  }

  token(which, place) {
    const cuts = this.window?.cuts[which];
    const found = cuts?.tokens[place - cuts.first];
    return found && { id: found[0], shown: found[1], start: found[2], end: found[3], special: Boolean(found[4]), colour: found[5], place, total: cuts.total };
  }

  onpoint(event) {
    const at = event.target.closest?.('.t');
    this.app.pointAt(at ? { which: Number(at.dataset.w), place: Number(at.dataset.i) } : null);
  }

  onclick(event, focus = true) {
    const at = event.target.closest?.('.t');
    if (!at) return;
    const [which, place] = [Number(at.dataset.w), Number(at.dataset.i)];
    if (which === this.app.state.which && place === this.app.state.selected) return;
    this.app.select(which, place, { focus });
  }

  // Scrolls to a token anywhere in the text, and gives it the focus on request.
  async show(which, place, focus) {
    const found = this.find(which, place);
    if (focus) this.wanted = { which, place };
    if (found) {
      const row = Number.parseFloat(found.closest('.row').style.top);
      const inside = row >= this.scroller.scrollTop && row + ROW <= this.scroller.scrollTop + this.scroller.clientHeight;
      if (inside || this.scale !== 1) {
        this.wanted = null;
        if (focus) found.focus({ preventScroll: true });
        return;
      }
    }
    const answer = await ask('place', this.app.state.text, { ...this.app.params(which), cells: this.cells, token: place });
    this.first = Number.MIN_SAFE_INTEGER;
    this.scrollToRow(answer.row);
    if (this.missing()) await this.load();
    else this.draw();
  }

  onkey(event) {
    const { state } = this.app;
    if (event.altKey || event.metaKey) return;
    const cuts = this.window?.cuts[state.which];
    if (!cuts || state.selected === null) return;
    let to = null;
    const forward = this.window.right[this.rowOf(state.selected) - this.window.first] ? -1 : 1; // a row runs as its letters do
    if (event.key === 'ArrowRight') to = state.selected + forward;
    else if (event.key === 'ArrowLeft') to = state.selected - forward;
    else if (event.key === 'ArrowDown') to = this.beside(1);
    else if (event.key === 'ArrowUp') to = this.beside(-1);
    else if (event.key === 'PageDown') to = this.beside(this.inSight - 1);
    else if (event.key === 'PageUp') to = this.beside(1 - this.inSight);
    else if (event.key === 'Home') to = event.ctrlKey ? 0 : this.edge(0);
    else if (event.key === 'End') to = event.ctrlKey ? cuts.total - 1 : this.edge(-1);
    else if (event.key === 'Enter') {
      event.preventDefault();
      this.app.open('forest');
      return;
    } else return;
    event.preventDefault();
    to = Math.max(0, Math.min(cuts.total - 1, to));
    this.app.select(state.which, to, { focus: true });
  }

  rowOf(place) {
    const cuts = this.window.cuts[this.app.state.which];
    const start = cuts.tokens[place - cuts.first]?.[2];
    if (start === undefined) return this.first;
    let row = this.window.starts.findIndex((at) => at > start) - 1;
    if (row < 0) row = this.window.starts.length - 2;
    return this.window.first + row;
  }

  // The token at about the same place some rows further.
  beside(rows) {
    const { which, selected } = this.app.state;
    const cuts = this.window.cuts[which];
    const row = this.rowOf(selected);
    const wanted = Math.max(0, Math.min(this.window.rows - 1, row + rows));
    const from = cuts.rows[row - this.window.first];
    const to = cuts.rows[wanted - this.window.first];
    if (!from || !to?.length) return selected + Math.sign(rows);
    const places = (runs) => runs.flatMap((run) => (typeof run[0] === 'number' ? [run[0]] : run[1].map((part) => part[0])));
    const own = places(from);
    const others = places(to);
    const found = others[Math.min(others.length - 1, Math.floor((own.indexOf(selected) / Math.max(1, own.length)) * others.length))];
    return found === selected ? selected + Math.sign(rows) : found;
  }

  edge(which) {
    const cuts = this.window.cuts[this.app.state.which];
    const runs = cuts.rows[this.rowOf(this.app.state.selected) - this.window.first] ?? [];
    const places = runs.flatMap((run) => (typeof run[0] === 'number' ? [run[0]] : run[1].map((part) => part[0])));
    return places.at(which) ?? this.app.state.selected;
  }

  announce() {
    const { which, selected, toks } = this.app.state;
    const token = this.token(which, selected);
    if (token) say(`token ${num(selected + 1)} of ${num(token.total)}, id ${token.id}, ${speak(token.shown)}${toks.length > 1 ? `, ${toks[which]}` : ''}`);
  }
}
