// The text against the context lengths of models, and a price.

import { bar, count, h, num, table } from '../dom.js';
import { field } from '../parts.js';

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
    const most = Math.max(1, ...tokens.values());
    const lines = [...tokens].map(([name, total]) => [name, h('span', { className: 'with-bar' }, bar(total / most), `${count(total, 'token')}`), total ? (found.bytes / total).toFixed(2) : '–', price > 0 ? ((total / 1e6) * price).toLocaleString('en', { maximumSignificantDigits: 4 }) : '–']);
    const rows = found.rows.map((row) => [row.tokenizer, row.model, row.context, h('span', { className: 'with-bar' }, bar(row.tokens / row.context, row.windows > 1 ? 'over' : ''), `${Math.round((100 * row.tokens) / row.context)} %`), row.fitting_chars, row.windows <= 1 ? 'all fits' : `${num(row.windows)} windows`]);
    return [h('p', {}, `${count(found.chars, 'character')}, ${count(found.bytes, 'byte')}`), table(['tokenizer', 'tokens', 'bytes per token', 'price'], lines, 'The text'), table(['tokenizer', 'model', 'context', 'used', 'characters that fit', 'fits'], rows, 'Compared with the context lengths of models')];
  },
};
