// The ids that a keystroke changes: a figure for the whole text, and the tokens around one place.

import { ask } from '../api.js';
import { count, h, num, table } from '../dom.js';
import { latest } from '../latest.js';
import { field } from '../parts.js';

const WIDE = 1000; // units of a strip
const HIGH = 60;
const SVG = 'http://www.w3.org/2000/svg';

function s(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

class EditsPanel {
  constructor(app) {
    this.app = app;
    this.found = null;
    this.typed = field('Typed', { name: 'typed', type: 'text', maxLength: 20, size: 6, className: 'mono', value: app.state.typed, oninput: (event) => app.set({ typed: event.target.value }) }, 'at each place, alone');
    this.slider = h('input', { id: 'field-edit-at', type: 'range', min: 0, max: 0, value: 0, className: 'wide', oninput: () => app.set({ editAt: Number(this.slider.value), editPlaced: 1 }) });
    this.figure = h('div');
    this.places = h('div', { className: 'controls' }, h('span', { className: 'field edit-at' }, h('label', { htmlFor: 'field-edit-at' }, 'Place'), this.slider));
    this.tokens = h('div');
    this.element = h('div', { className: 'answer' }, h('div', { className: 'controls' }, this.typed), this.figure, this.places, this.tokens);
    this.load = latest((again, signal) => this.fetch(again, signal));
  }

  refresh() {
    const input = this.typed.querySelector('input');
    if (document.activeElement !== input) input.value = this.app.state.typed;
    return this.load();
  }

  values() {
    return { ...this.app.params(), typed: this.app.state.typed };
  }

  question() {
    return this.app.state.typed ? ['stability', this.app.state.text, this.values()] : null;
  }

  async fetch(again, signal) {
    const { state } = this.app;
    if (!state.typed) {
      this.figure.replaceChildren(h('p', { className: 'dim' }, 'Enter what is typed.'));
      this.tokens.replaceChildren();
      return;
    }
    try {
      const found = await ask(...this.question(), { signal });
      if (again()) return;
      const at = Math.min(state.editPlaced ? state.editAt : found.rows[0].worst?.place ?? 0, found.size);
      Object.assign(this.slider, { max: found.size, value: at });
      this.slider.setAttribute('aria-valuetext', `character ${num(at)} of ${num(found.size)}`);
      this.figure.replaceChildren(...this.drawFigure(found, at));
      const edit = await ask('edit', state.text, { ...this.values(), at }, { signal });
      if (!again()) this.tokens.replaceChildren(...this.drawEdit(edit));
    } catch (problem) {
      if (again()) return;
      this.figure.replaceChildren(h('p', { className: 'bad' }, problem.message));
      this.tokens.replaceChildren();
    }
  }

  drawFigure(found, at) {
    const most = Math.max(1, ...found.rows.flatMap((row) => row.keystrokes.map((each) => each.new)));
    const rows = found.rows.map((row) => [
      row.tokenizer, row.tokens, h('strong', {}, row.new.toFixed(2)), row.worst ? `${num(row.worst.new)} at ${num(row.worst.place)}` : '–', row.lost.toFixed(2), `${(100 * row.losing).toFixed(1)} %`,
    ]);
    return [
      h('p', {}, `Typed at ${count(found.places, 'place')} of ${count(found.size, 'character')}, each alone. A cache of keys and values reuses the ids in front of the first change; fewer new ids are better.`),
      table(['tokenizer', 'tokens', 'new ids', 'most', 'changed in front of it', 'at places'], rows, 'What a keystroke changes, on average'),
      found.rows.map((row) => this.strip(row, found.size, most, at)),
    ].flat();
  }

  // New ids along the text; a click chooses the place.
  strip(row, size, most, at) {
    const width = Math.max(2, WIDE / Math.max(1, row.keystrokes.length) - 1);
    const x = (place) => (size ? (place / size) * (WIDE - width) : 0);
    const bars = row.keystrokes.map((each) => `M${x(each.place).toFixed(1)} ${HIGH}v${(-HIGH * each.new) / most}h${width.toFixed(1)}V${HIGH}z`).join('');
    const lost = row.keystrokes.filter((each) => each.lost).map((each) => `M${x(each.place).toFixed(1)} ${HIGH}v${(-HIGH * Math.min(each.lost, most)) / most}h${width.toFixed(1)}V${HIGH}z`).join('');
    const drawn = s('svg', { viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `New ids along the text by ${row.tokenizer}: ${row.new.toFixed(2)} on average, at most ${row.worst?.new ?? 0}` },
      s('path', { d: bars, class: 'new' }), s('path', { d: lost, class: 'lost' }), s('path', { d: `M${(x(at) + width / 2).toFixed(1)} 0v${HIGH}`, class: 'at' }));
    drawn.addEventListener('click', (event) => {
      const box = drawn.getBoundingClientRect();
      const part = (event.clientX - box.left) / box.width;
      this.app.set({ editAt: Math.max(0, Math.min(size, Math.round(part * size))), editPlaced: 1 });
    });
    return h('figure', { className: 'strip' }, h('figcaption', {}, row.tokenizer, h('span', { className: 'dim' }, ` up to ${num(most)} new ids; in the other colour: ids in front of the place that change`)), drawn);
  }

  drawEdit(edit) {
    return [h('h3', {}, `At character ${num(edit.start)}`), edit.rows.map((row) => {
      const tokens = (list) => h('p', { className: 'chips edit-tokens' }, list.map((token) => [
        h('bdi', { className: `t s ${token.kept ? 'kept' : 'c0 changed'}`, title: `id ${token.id}` }, token.shown, h('span', { className: 'unseen' }, token.kept ? '' : ' (changes)')), h('wbr'),
      ]));
      return h('section', {}, h('p', {}, h('strong', {}, row.tokenizer), `: ${count(row.removed, 'id')} gone, ${num(row.new)} new; ${count(row.before, 'id')} in front and ${num(row.after)} behind stay. A cache reuses ${(100 * row.reused).toFixed(1)} %.`),
        h('div', { className: 'edit-rows' }, h('span', { className: 'dim' }, 'before'), tokens(row.old), h('span', { className: 'dim' }, 'after'), tokens(row.edited)));
    })].flat();
  }
}

export const view = {
  name: 'edits', label: 'Edits', several: true,
  state: { typed: ['string', 'e'], editAt: ['number', 0], editPlaced: ['number', 0] },
  panel: (app) => new EditsPanel(app),
};
