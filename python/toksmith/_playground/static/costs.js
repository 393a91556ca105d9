// The cost of the text, by prices that the user enters and this browser stores. No price is built in, because prices change.

import { h, say } from './dom.js';
import { forget, keep, readKept } from './kept.js';

const NAME = 'costs';
const MOST = 50;
const FIELDS = [['input', 'per million tokens of input'], ['output', 'per million tokens of output'], ['answer', 'tokens of output'], ['calls', 'calls']];
const money = (value) => value.toLocaleString('en', { maximumSignificantDigits: 4 });
const amount = (value) => (Number.isFinite(Number(value)) && Number(value) >= 0 ? Number(value) : 0);

export class Costs {
  constructor(app) {
    this.app = app;
    this.totals = new Map();
    this.costs = readKept(NAME, []);
    if (!Array.isArray(this.costs)) this.costs = [];
    this.costs = this.costs.filter((each) => typeof each?.label === 'string' && typeof each.tok === 'string').slice(0, MOST);
    this.body = h('tbody');
    this.table = h('table', { className: 'costs' }, h('thead', {}, h('tr', {}, ['model', 'tokenizer', ...FIELDS.map(([, label]) => label), 'cost', ''].map((head) => h('th', { scope: 'col' }, head)))), this.body);
    this.element = h('section', { 'aria-label': 'Costs' }, h('h3', {}, 'Costs by your own prices'), h('div', { className: 'scroll' }, this.table),
      h('p', { className: 'group' }, h('button', { type: 'button', id: 'cost-add', onclick: () => this.add() }, 'Add a row'), h('button', { type: 'button', id: 'cost-clear', onclick: () => this.clear() }, 'Forget all rows')),
      h('p', { className: 'dim' }, 'This browser keeps the rows on this machine. The input is your text, with the tokenizer of the row.'));
    this.draw();
  }

  add() {
    if (this.costs.length >= MOST) return;
    this.costs.push({ label: '', tok: this.app.state.toks[this.app.state.which], input: '', output: '', answer: '', calls: '1' });
    this.keep();
    this.draw();
    this.body.lastElementChild.querySelector('input').focus();
  }

  clear() {
    this.costs = [];
    forget(NAME);
    this.draw();
    say('all rows are forgotten');
  }

  keep() {
    if (!keep(NAME, this.costs)) say('this browser keeps nothing: the rows are for this visit');
  }

  take(totals) {
    this.totals = totals;
    for (const row of this.body.children) row.recount();
  }

  draw() {
    this.table.hidden = !this.costs.length;
    this.element.querySelector('#cost-clear').disabled = !this.costs.length;
    this.body.replaceChildren(...this.costs.map((each, place) => this.row(each, place)));
  }

  row(each, place) {
    const name = () => each.label || `row ${place + 1}`;
    const cost = h('td', { className: 'figure' });
    const recount = () => {
      const tokens = this.totals.get(each.tok);
      cost.textContent = tokens === undefined ? '–' : money(((tokens * amount(each.input) + amount(each.answer) * amount(each.output)) * amount(each.calls)) / 1e6);
      cost.title = tokens === undefined ? `${each.tok} is not among the tokenizers above` : '';
    };
    const input = (field, label, attributes) => h('input', { value: each[field] ?? '', 'aria-label': `${label} of ${name()}`, oninput: (event) => { each[field] = event.target.value; this.keep(); recount(); }, ...attributes });
    const names = [...new Set([...this.app.state.toks, each.tok])];
    const tok = h('select', { 'aria-label': `Tokenizer of ${name()}`, onchange: (event) => { each.tok = event.target.value; this.keep(); recount(); } }, names.map((value) => h('option', { value, selected: value === each.tok }, value)));
    const remove = h('button', { type: 'button', 'aria-label': `Remove ${name()}`, onclick: () => { this.costs.splice(place, 1); this.keep(); this.draw(); this.element.querySelector('#cost-add').focus(); } }, '×');
    const made = h('tr', {}, h('td', {}, input('label', 'Name', { type: 'text', placeholder: 'a model', maxLength: 60 })), h('td', {}, tok),
      FIELDS.map(([field, label]) => h('td', {}, input(field, label, { type: 'number', min: 0, step: 'any' }))), cost, h('td', {}, remove));
    made.recount = recount;
    recount();
    return made;
  }
}
