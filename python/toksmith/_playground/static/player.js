// The merge player: one piece, merge by merge, with all candidate pairs and the pair that merges.

import { ask } from './api.js';
import { calm, count, h, num, say, speak } from './dom.js';
import { latest } from './latest.js';

const PACE = 900; // milliseconds for a step

export class Player {
  // `piece` is the control that chooses the piece; its ids begin with the `prefix` of the app.
  constructor(app, piece = h('input', { type: 'text', className: 'wide mono', spellcheck: false, maxLength: 512 })) {
    const own = (id) => `${app.prefix ?? ''}${id}`;
    this.app = app;
    this.found = null;
    this.timer = null;
    this.piece = piece;
    piece.id = own('piece');
    piece.addEventListener('input', () => app.set({ piece: piece.value, step: 0 }));
    this.slider = h('input', { id: own('step'), type: 'range', min: 0, max: 0, value: 0, className: 'wide', oninput: () => { this.pause(); this.to(Number(this.slider.value)); } });
    this.button = h('button', { type: 'button', onclick: () => (this.timer ? this.pause() : this.play()) }, 'Play');
    this.picture = h('div', { className: 'player' });
    this.element = h('div', {},
      h('div', { className: 'controls' }, h('span', { className: 'field' }, h('label', { htmlFor: own('piece') }, 'Piece'), this.piece)),
      h('div', { className: 'controls', role: 'group', 'aria-label': 'Steps' },
        h('button', { type: 'button', onclick: () => this.go(-1e9), 'aria-label': 'First step' }, '⏮'), h('button', { type: 'button', onclick: () => this.go(-1), 'aria-label': 'Step back' }, '◀'),
        this.button, h('button', { type: 'button', onclick: () => this.go(1), 'aria-label': 'Step' }, '▶'), h('button', { type: 'button', onclick: () => this.go(1e9), 'aria-label': 'Last step' }, '⏭'),
        h('span', { className: 'field' }, h('label', { htmlFor: own('step') }, 'Step'), this.slider)),
      this.picture);
    this.load = latest((again, signal) => this.fetch(again, signal));
  }

  question() {
    const { state } = this.app;
    if (!state.piece) return null;
    return ['merges', null, { ...this.app.one(), piece: state.piece }];
  }

  async refresh() {
    const { state } = this.app;
    if (document.activeElement !== this.piece) this.piece.value = state.piece ?? '';
    // If the system asks for reduced motion, the steps do not advance by themselves.
    this.button.disabled = calm();
    this.button.title = calm() ? 'this system asks for less motion: step by hand' : '';
    await this.load();
  }

  async fetch(again, signal) {
    const asked = this.question();
    if (!asked) {
      this.found = null;
      this.picture.replaceChildren(h('p', { className: 'dim' }, 'Enter a piece, or choose “Play its merges” on a token.'));
      return;
    }
    try {
      const found = await ask(...asked, { signal });
      if (again()) return;
      this.found = found;
      this.slider.max = this.last;
      this.to(Math.min(this.app.state.step, this.last), false);
    } catch (problem) {
      if (again()) return;
      this.found = null;
      this.picture.replaceChildren(h('p', { className: 'bad' }, problem.message));
    }
  }

  // Step 0 is the lookup of the whole piece, if there is one; then each merge; then the end.
  get stages() {
    const { found } = this;
    const stages = found.steps.map((step, at) => ({ ...step, said: `merge ${at + 1} of ${found.steps.length}` }));
    if (found.whole_id !== null) stages.unshift({ whole: found.whole_id, said: 'the whole piece is looked up first' });
    return [...stages, { symbols: found.merged, candidates: [], chosen: null, said: found.whole_id === null ? 'the end' : 'what merging alone would end with' }];
  }

  get last() {
    return this.stages.length - 1;
  }

  to(step, aloud = true) {
    if (!this.found) return;
    const stage = this.stages[step];
    this.slider.value = step;
    this.slider.setAttribute('aria-valuetext', stage.said);
    if (this.app.state.step !== step) this.app.set({ step }, false);
    this.picture.replaceChildren(...this.draw(stage, step));
    if (aloud) say(this.words(stage, speak));
  }

  words(stage, look = (shown) => shown) {
    if (stage.whole !== undefined) return `the whole piece is token ${stage.whole}`;
    if (!stage.chosen) return `${stage.said}: ${count(stage.symbols.length, 'token')}`;
    const [left, right] = stage.symbols.slice(stage.chosen.place, stage.chosen.place + 2);
    return `${stage.said}: ${look(left.shown)} and ${look(right.shown)} become ${stage.chosen.id}, rank ${stage.chosen.rank}, of ${count(stage.candidates.length, 'pair')}`;
  }

  draw(stage, step) {
    return [h('p', { className: 'said' }, `${num(step + 1)} of ${num(this.stages.length)}: ${this.words(stage)}.`), ...this.drawStage(stage)];
  }

  drawStage(stage) {
    const { found } = this;
    const head = [];
    if (found.cut !== 1) head.push(h('p', { className: 'warn' }, `The tokenizer cuts these bytes into ${found.cut} pieces; here they are merged as one.`));
    if (stage.whole !== undefined) {
      return [...head, h('div', { className: 'symbols' }, this.symbol({ shown: found.piece.shown, id: stage.whole }, 0, 'chosen')), h('p', { className: 'dim' }, 'It becomes this token at once. The following steps show what would happen without the lookup.')];
    }
    const candidates = new Map(stage.candidates.map((each) => [each.place, each]));
    const symbols = stage.symbols.flatMap((symbol, place) => {
      const between = candidates.get(place);
      const chosen = stage.chosen?.place === place || stage.chosen?.place === place - 1;
      const drawn = [this.symbol(symbol, place, chosen ? 'chosen' : '')];
      if (place < stage.symbols.length - 1) drawn.push(between ? h('span', { className: `pair${stage.chosen.place === place ? ' chosen' : ''}`, title: `rank ${between.rank}: becomes ${between.id}` }, num(between.rank)) : h('span', { className: 'pair none', title: 'these two do not merge' }, '·'));
      return drawn;
    });
    const tail = stage.chosen ? null : h('p', {}, 'ids: ', h('span', { className: 'mono' }, found.ids.join(' ')));
    return [...head, h('div', { className: 'symbols' }, symbols), h('p', { className: 'dim' }, 'The number between two symbols is the rank of their merge; the lowest merges first, of equals the leftmost.'), tail].filter(Boolean);
  }

  symbol(symbol, place, className) {
    return h('span', { className: `symbol c${place % 5} ${className}` }, h('bdi', { className: 'mono' }, symbol.shown), h('small', {}, symbol.id === null ? 'no token' : String(symbol.id)));
  }

  go(steps) {
    this.pause();
    if (this.found) this.to(Math.max(0, Math.min(this.last, this.app.state.step + steps)));
  }

  play() {
    if (!this.found || calm()) return;
    if (this.app.state.step >= this.last) this.to(0);
    this.button.textContent = 'Pause';
    this.timer = setInterval(() => {
      if (!this.found || this.app.state.step >= this.last || !this.element.isConnected) this.pause();
      else this.to(this.app.state.step + 1);
    }, PACE);
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.button.textContent = 'Play';
  }
}
