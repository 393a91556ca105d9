// The live trainer: texts, a training on them at the largest size, and the figures of smaller sizes while the slider is dragged.

import { ask, Cancelled, Gone } from './api.js';
import { points } from './box.js';
import { count, h, num, say } from './dom.js';
import { latest } from './latest.js';
import { field } from './parts.js';
import { Curve, figure, languageRows, tokenButtons, treeOf } from './trainer_drawn.js';
import { TrainerSave } from './trainer_save.js';
import { TrainerTexts } from './trainer_texts.js';

const SENTENCE = 160; // characters of your text
const STEPS = 1000; // of the slider
const FACTORS = { ArrowRight: 1.01, ArrowUp: 1.01, ArrowLeft: 1 / 1.01, ArrowDown: 1 / 1.01, PageUp: 1.5, PageDown: 1 / 1.5 }; // of the size, at least one token

export class Trainer {
  constructor(app) {
    this.app = app;
    this.texts = new TrainerTexts(app, () => { this.corpus = null; this.about = null; this.refresh(); });
    this.corpus = null; // its key, after it was sent
    this.about = null; // the options of the current training
    this.range = null; // the server's facts about it
    this.chosen = null; // the token whose tree is drawn; null for the newest
    this.asking = null;
    this.again = false;
    this.spoken = null;
    const choice = (name, label, rows) => {
      const own = h('select', { id: `field-${name}`, onchange: () => app.set({ [name]: own.value }) }, rows.map(([value, said]) => h('option', { value }, said)));
      return h('span', { className: 'field' }, h('label', { htmlFor: own.id }, label), own);
    };
    this.options = h('div', { className: 'controls' },
      choice('trainPattern', 'Split pattern', [...app.page().patterns.map((name) => [name, name]), ['', 'none: texts are not split']]),
      choice('trainTies', 'Of equal pairs merges', [['lowest_ids', 'that with the lowest ids'], ['first_seen', 'that seen first']]),
      field('Special tokens', { name: 'trainSpecial', type: 'text', spellcheck: false, placeholder: '<|end|>', onchange: (event) => app.set({ trainSpecial: event.target.value }) }, ' separated by spaces'));
    this.slider = h('input', { type: 'range', id: 'train-size', className: 'wide', min: 0, max: STEPS, step: 1, disabled: true, oninput: () => this.drag(this.sizeAt(Number(this.slider.value))), onkeydown: (event) => this.onkey(event) });
    this.number = h('input', { type: 'number', id: 'train-number', 'aria-label': 'Vocabulary size as a number', step: 1, disabled: true, onchange: () => this.takeNumber() });
    this.state = h('p', { className: 'dim train-state' });
    this.curve = new Curve();
    this.parts = Object.fromEntries(['figures', 'sentence', 'languages', 'newest', 'tree'].map((name) => [name, h('div', { className: `train-${name}` })]));
    this.cut = h('p', { className: 'dim', hidden: true }, `Your text is longer: its first ${SENTENCE} characters are cut here.`);
    const { figures, sentence, languages, newest, tree } = this.parts;
    this.saving = new TrainerSave(app, () => this.values());
    this.result = h('div', { hidden: true }, figures, this.curve.element, sentence, this.cut, h('div', { className: 'train-columns' }, languages, h('div', {}, newest, tree)), this.saving.element);
    this.element = h('div', { className: 'trainer' }, this.texts.element, this.options,
      h('div', { className: 'controls train-drag' }, h('label', { htmlFor: 'train-size' }, 'Vocabulary size'), this.slider, this.number), h('div', { className: 'answer' }, this.state, this.result));
    this.load = latest((again, signal) => this.train(again, signal));
  }

  // The options of the training.
  readOptions() {
    const { trainPattern, trainTies, trainSpecial } = this.app.state;
    return { pattern: trainPattern || null, ties: trainTies, special_tokens: trainSpecial.split(/\s+/).filter(Boolean) };
  }

  values() {
    return { corpus: this.corpus, ...this.readOptions(), size: this.size };
  }

  get sentence() {
    this.cut.hidden = points(this.app.state.text.slice(0, 2 * SENTENCE + 2)) <= SENTENCE;
    return [...this.app.state.text.slice(0, 2 * SENTENCE)].slice(0, SENTENCE).join('').toWellFormed();
  }

  get size() {
    const { least, most } = this.range;
    return Math.max(least, Math.min(most, this.app.state.trainSize));
  }

  // The request for an export, after training.
  async question() {
    await this.refresh();
    return this.range && this.about !== null ? ['trained', null, { ...this.values(), sentence: this.sentence }] : null;
  }

  refresh() {
    const { state } = this.app;
    for (const name of ['trainPattern', 'trainTies', 'trainSpecial']) {
      const input = this.options.querySelector(`#field-${name}`);
      if (input !== document.activeElement || input.tagName === 'SELECT') input.value = state[name];
    }
    if (this.about === JSON.stringify(this.readOptions())) return this.step();
    return this.load();
  }

  problem(words, again = true) {
    this.result.hidden = true;
    this.slider.disabled = this.number.disabled = true;
    this.state.className = 'bad train-state';
    this.state.replaceChildren(words, again ? h('button', { type: 'button', onclick: () => this.refresh() }, 'Train again') : '');
    say(words);
  }

  async train(again, signal) {
    if (this.texts.isEmpty) {
      this.about = null;
      this.problem('Add a text to train on.', false);
      return;
    }
    const asked = this.readOptions();
    this.state.className = 'dim train-state';
    this.state.textContent = 'Training …';
    try {
      const found = await this.send('train', asked, { signal });
      if (again()) return;
      this.about = JSON.stringify(asked);
      this.take(found);
      await this.step();
    } catch (problem) {
      if (problem instanceof Cancelled) ask('stop_training', null, {}, { quiet: true }).catch(() => null);
      if (again() || problem instanceof Gone) return;
      this.about = null;
      this.problem(`${problem.message} `);
    }
  }

  // A request about the texts, which are sent if the server does not have them.
  async send(view, values, how) {
    for (let tries = 0; ; tries += 1) {
      this.corpus ??= (await ask('corpus', null, this.texts.body(), how)).corpus;
      try {
        return await ask(view, null, { ...values, corpus: this.corpus }, how);
      } catch (problem) {
        if (problem.status !== 409 || tries) throw problem;
        this.corpus = null;
      }
    }
  }

  take(found) {
    this.range = found;
    this.chosen = null;
    const { least, most } = found;
    this.slider.max = Math.min(STEPS, most - least);
    this.number.min = least;
    this.number.max = most;
    this.slider.disabled = this.number.disabled = most === least;
    this.curve.take(found);
    const learned = `Trained on ${count(found.bytes, 'byte')}: ${count(most - least, 'merge')} from ${num(least)} to ${count(most, 'token')}`;
    this.state.className = 'dim train-state';
    this.state.textContent = most > least ? `${learned}.` : `${learned}: no pair of neighbours occurs twice, so there is nothing to drag.`;
    this.result.hidden = false;
  }

  // The slider's scale is logarithmic: the first merges change most.
  sizeAt(place) {
    const { least, most } = this.range;
    return place >= Number(this.slider.max) ? most : Math.round(least * (most / least) ** (place / Number(this.slider.max)));
  }

  placeOf(size) {
    const { least, most } = this.range;
    return most > least ? Math.round((Number(this.slider.max) * Math.log(size / least)) / Math.log(most / least)) : 0;
  }

  onkey(event) {
    const factor = FACTORS[event.key];
    if (!factor || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const { least, most } = this.range;
    const size = factor > 1 ? Math.max(this.size + 1, Math.round(this.size * factor)) : Math.min(this.size - 1, Math.round(this.size * factor));
    this.drag(Math.max(least, Math.min(most, size)));
    this.slider.value = this.placeOf(this.size);
  }

  drag(size) {
    this.app.set({ trainSize: size }, false);
    this.step();
  }

  takeNumber() {
    const size = Number(this.number.value);
    const { least, most } = this.range;
    if (Number.isInteger(size) && size >= least && size <= most) {
      this.drag(size);
      return;
    }
    const words = `A vocabulary of ${this.number.value || 'nothing'} is not possible here: it has from ${num(least)} tokens, which need no merge, to ${num(most)}, all that were learned.`;
    this.state.className = 'bad train-state';
    this.state.textContent = words;
    say(words);
    this.number.value = this.size;
  }

  choose(id) {
    this.chosen = id;
    this.step();
  }

  // Requests the current size. There is no other request until the answer comes, so that each answer is drawn.
  step() {
    this.again = true;
    const { size } = this;
    if (document.activeElement !== this.slider) this.slider.value = this.placeOf(size);
    this.slider.setAttribute('aria-valuetext', count(size, 'token'));
    if (document.activeElement !== this.number) this.number.value = size;
    this.asking ??= this.follow().finally(() => { this.asking = null; });
    return this.asking;
  }

  async follow() {
    while (this.again) {
      this.again = false;
      const { about } = this;
      const { corpus: _, ...values } = this.values();
      try {
        const found = await this.send('trained', { ...values, sentence: this.sentence, id: this.chosen }, { quiet: true });
        if (about === this.about) this.draw(found);
      } catch (problem) {
        if (problem instanceof Gone || about !== this.about) return;
        this.about = null;
        this.problem(`${problem.message} `);
        return;
      }
    }
  }

  draw(found) {
    const { figures, sentence, languages, newest, tree } = this.parts;
    const choose = (id) => this.choose(id);
    const per = found.tokens ? found.bytes / found.tokens : 1;
    const measured = found.languages.reduce((sum, each) => sum + each.bytes, 0);
    const figureOf = (value, unit) => h('span', { className: 'train-figure' }, h('strong', {}, value), ` ${unit}`);
    figures.replaceChildren(figureOf(num(found.size), found.size === 1 ? 'token' : 'tokens'), figureOf(num(found.merges), found.merges === 1 ? 'merge' : 'merges'), figureOf(num(found.tokens), 'tokens for all texts'), figureOf(figure(per), 'bytes per token'));
    this.curve.show(found.size, per);
    sentence.replaceChildren(h('h3', {}, `Your text: ${count(found.sentence.length, 'token')}`),
      found.sentence.length ? tokenButtons(found.sentence, choose, 'The beginning of the text as tokens') : h('p', { className: 'dim' }, 'Your text is empty.'));
    languages.replaceChildren(h('h3', {}, 'By text'), languageRows(found.languages, this.range.per_word),
      measured < found.bytes ? h('p', { className: 'dim' }, `Measured on the beginning of each text, ${count(measured, 'byte')} in all.`) : '');
    newest.replaceChildren(h('h3', {}, 'Learned last'), found.newest.length ? tokenButtons(found.newest, choose, 'The newest tokens', (token) => `id ${token.id}: its pair occurred ${count(token.count, 'time')}`) : h('p', { className: 'dim' }, 'No merge yet: every token is a byte.'));
    tree.replaceChildren(...(found.tree ? treeOf(found.tree, choose).filter(Boolean) : []));
    clearTimeout(this.spoken);
    this.spoken = setTimeout(() => say(`${count(found.size, 'token')}: ${figure(per)} bytes per token; your text takes ${count(found.sentence.length, 'token')}`), 800);
  }
}
