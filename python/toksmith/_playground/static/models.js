// The tokenizers of models, by the models' names: those on this machine, and the shell line that downloads each of the others.

import { ask } from './api.js';
import { $, copy, count, h } from './dom.js';

export class Models {
  // `addTokenizer(answer)` is called for an added tokenizer, `chosen(name)` for one that the page already has.
  constructor(app) {
    this.app = app;
    this.rows = new Map(); // by source, where its state is drawn
    this.list = h('ul', { className: 'models' });
    this.problem = h('p', { className: 'bad', hidden: true });
    this.dialog = h('dialog', { id: 'model-list', 'aria-labelledby': 'models-title' }, h('h2', { id: 'models-title' }, 'Tokenizers of models'),
      h('p', { className: 'dim' }, 'This page downloads nothing. Where a tokenizer is not on this machine, the line gets it; then press Look again.'), this.problem, this.list,
      h('p', { className: 'group' }, h('button', { type: 'button', onclick: () => this.look() }, 'Look again'), h('button', { type: 'button', onclick: () => this.dialog.close() }, 'Close')));
    document.body.append(this.dialog);
    $('models').addEventListener('click', () => {
      this.dialog.showModal();
      this.look();
    });
  }

  async look() {
    this.problem.hidden = true;
    try {
      const { models } = await ask('models', null, {}, { quiet: true });
      const makers = [...new Set(models.map((each) => each.maker))];
      this.rows = new Map(models.map((each) => [each.source, h('div', { className: 'dim' }, 'Looking …')]));
      this.list.replaceChildren(...makers.map((maker) => h('li', {}, h('h3', {}, maker), h('ul', {}, models.filter((each) => each.maker === maker).map((each) => h('li', {}, h('strong', {}, each.name), this.rows.get(each.source)))))));
      for (const each of models) { // one after another: a table takes a moment to read
        if (!this.dialog.open) return;
        this.draw(each, await ask('model', null, { source: each.source }, { quiet: true }));
      }
    } catch (problem) {
      this.fail(problem);
    }
  }

  fail(problem) {
    this.problem.textContent = problem.message;
    this.problem.hidden = false;
  }

  draw(row, found) {
    const place = this.rows.get(row.source);
    if (found.here) {
      place.replaceChildren(h('span', {}, `${count(found.entries, 'token')} `), h('button', { type: 'button', 'aria-label': `Use ${row.name}`, onclick: () => this.add(row) }, 'Use'));
    } else {
      place.replaceChildren(h('code', { title: found.why }, found.line), ' ', h('button', { type: 'button', 'aria-label': `Copy the line for ${row.name}`, onclick: () => copy(found.line, 'the line') }, 'Copy'));
    }
  }

  async add(row) {
    try {
      const found = await ask('model', null, { source: row.source, add: true });
      this.dialog.close();
      this.app.addTokenizer(found);
    } catch (problem) {
      this.fail(problem);
    }
  }
}
