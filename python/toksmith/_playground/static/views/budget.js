// The text relative to the context lengths of models and to general sizes, and its cost.

import { bar, count, h, num, table } from '../dom.js';
import { Costs } from '../costs.js';
import { field } from '../parts.js';

const PERCENT = 10; // contexts; from this number on, contexts replace percent
let costs = null; // drawn once, because the user writes in it

function drawShare(row) {
  if (!row) return '–';
  const part = row.tokens / row.context;
  const said = part > PERCENT ? `${num(row.windows)} windows` : part > 0 && part < 0.001 ? '<0.1 %' : `${(100 * part).toFixed(part < 0.1 ? 1 : 0)} %`;
  const fits = row.windows <= 1 ? 'all fits' : `${row.windows > 1 && part <= PERCENT ? `${num(row.windows)} windows; ` : ''}${count(row.fitting_chars, 'character')} fit${row.fitting_chars === 1 ? 's' : ''}`;
  return [h('span', { className: 'with-bar' }, bar(part, row.windows > 1 ? 'over' : ''), said), h('div', { className: 'dim' }, fits)];
}

export const view = {
  name: 'budget', label: 'Budget', several: true,
  state: { context: ['number', 0], price: ['string', ''] },
  controls: (app) => [
    field('Your context, in tokens', { name: 'context', type: 'number', min: 0, step: 1, value: app.state.context || '', oninput: (event) => app.set({ context: Math.max(0, Math.floor(Number(event.target.value))) || 0 }) }),
    field('Your price per million tokens', { name: 'price', type: 'number', min: 0, step: 'any', value: app.state.price, oninput: (event) => app.set({ price: event.target.value }) }, ' none is built in, as prices go stale'),
  ],
  ask: (app) => ['budget', app.state.text, { context: app.state.context }],
  draw(found, app) {
    const price = Number(app.state.price);
    const tokens = new Map(found.rows.map((row) => [row.tokenizer, row.tokens]));
    costs?.take(tokens);
    const most = Math.max(1, ...tokens.values());
    const lines = [...tokens].map(([name, total]) => [name, h('span', { className: 'with-bar' }, bar(total / most), `${count(total, 'token')}`), total ? (found.bytes / total).toFixed(2) : '–', price > 0 ? ((total / 1e6) * price).toLocaleString('en', { maximumSignificantDigits: 4 }) : '–']);
    const contexts = [...new Map(found.rows.map((row) => [row.model, row.context]))].sort((one, other) => one[1] - other[1]);
    const rows = contexts.map(([model, context]) => [model, context, ...[...tokens.keys()].map((name) => drawShare(found.rows.find((row) => row.tokenizer === name && row.model === model)))]);
    return [h('p', {}, `${count(found.chars, 'character')}, ${count(found.bytes, 'byte')}`), table(['tokenizer', 'tokens', 'bytes per token', 'price'], lines, 'The text'),
      table(['context', 'tokens', ...tokens.keys()], rows, 'Compared with the context lengths of each tokenizer’s models, and with sizes')];
  },
  more(app) {
    costs ??= new Costs(app);
    costs.draw(); // with the current tokenizers
    return costs.element;
  },
};
