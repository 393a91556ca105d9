// The use of a trained tokenizer: on the page, or as a file.

import { ask } from './api.js';
import { h, num, saveBytes, say } from './dom.js';

const saidOf = (fields) => fields.join(' and ').replaceAll('_', ' ');

export class TrainerSave {
  // `values()` gives the training and the size.
  constructor(app, values) {
    this.app = app;
    this.values = values;
    this.format = h('select', { id: 'train-format' }, app.page().formats.map((name) => h('option', {}, name)));
    this.said = h('div', { role: 'none' });
    this.element = h('section', { className: 'train-save', 'aria-label': 'Keep or save' }, h('h3', {}, 'Keep it'),
      h('div', { className: 'controls' }, h('button', { type: 'button', id: 'train-keep', onclick: () => this.keep() }, 'Use it on this page'),
        h('span', { className: 'field' }, h('label', { htmlFor: 'train-format' }, 'or save it as'), this.format, h('button', { type: 'button', id: 'train-save', onclick: () => this.save([]) }, 'Save'))), this.said);
  }

  async keep() {
    const values = this.values();
    try {
      this.said.replaceChildren();
      this.app.addTokenizer(await ask('trained_tokenizer', null, { ...values, name: `trained ${num(values.size)}` }));
    } catch (problem) {
      this.refuse([problem.message]);
    }
  }

  async save(without) {
    try {
      const found = await ask('trained_file', null, { ...this.values(), format: this.format.value, without });
      if (found.cannot) {
        const more = found.without && h('button', { type: 'button', onclick: () => this.save(found.without) }, `Save without ${saidOf(found.without)}`);
        this.refuse(found.cannot, more || '');
        return;
      }
      saveBytes(found.name, found.data);
      this.said.replaceChildren(h('p', { className: 'good' }, `${found.name} was saved`));
      say(`${found.name} was saved`);
    } catch (problem) {
      this.refuse([problem.message]);
    }
  }

  refuse(sentences, more = '') {
    this.said.replaceChildren(...sentences.map((words) => h('p', { className: 'bad' }, words)), more);
    say(sentences.join(' '));
  }
}
