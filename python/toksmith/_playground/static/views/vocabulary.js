// The vocabulary: a search, the findings of the doctor, and the lengths of tokens.

import { ask, hasServer } from '../api.js';
import { bar, count, h, hexBytes, num, table } from '../dom.js';
import { field, tokenLink } from '../parts.js';

export const view = {
  name: 'vocabulary', label: 'Vocabulary', one: true,
  state: { query: ['string', null, true], by: ['string', 'text', true] },
  proposes: {
    choose({ tokens }, state) { state.query ??= tokens.find((token) => token.text)?.text.trim() ?? ''; },
    chips: ({ tokens }, app, chip) => tokens.filter((token) => token.text?.trim()).map(({ shown, text }) => chip(shown, 'Search for it', () => app.set({ query: text.trim(), by: 'text' }))),
  },
  controls: (app) => [
    h('label', { htmlFor: 'field-by' }, 'Search by '),
    h('select', { id: 'field-by', value: app.state.by, onchange: (event) => app.set({ by: event.target.value }) }, [['text', 'text'], ['bytes', 'bytes, such as e2 98 ??'], ['id', 'id, such as 300-320']].map(([value, label]) => h('option', { value, selected: value === app.state.by }, label))),
    field('for', { name: 'query', type: 'search', value: app.state.query ?? '', spellcheck: false, oninput: (event) => app.set({ query: event.target.value }) }),
  ],
  ask: (app) => (app.state.query ? ['search', null, { query: app.state.query, by: app.state.by }] : null),
  empty: 'Search for a text, for bytes or for ids.',
  draw: (found, app) => [h('p', {}, `${count(found.total, 'token')}${found.total > found.found.length ? `; the first ${found.found.length}` : ''}`), found.found.length ? table(['id', 'token', 'bytes', 'kind'], found.found.map((each) => [String(each.id), tokenLink(app, each), hexBytes(each.hex), each.kind])) : null],
  more: (app) => health(app),
};

// The doctor takes seconds for a large vocabulary, so its findings are requested separately, below.
function health(app) {
  const place = h('section', { 'aria-label': 'Health' }, h('h3', {}, 'Health'), h('p', { className: 'dim' }, 'Searching the vocabulary …'));
  const name = app.state.toks[app.state.which];
  const values = { tokenizers: [name] };
  const doctor = hasServer ? ask('doctor', null, values, { quiet: true }) : null;
  Promise.all([doctor, ask('lengths', null, values, { quiet: true })]).then(([found, lengths]) => {
    const rows = found?.findings.filter((each) => each.severity !== 'not applicable').map((each) => [
      h('span', { className: { pass: 'good', warn: 'warn', fail: 'bad' }[each.severity] }, each.severity), each.check.replaceAll('_', ' '),
      [h('p', {}, each.says, each.advice ? `. ${each.advice}` : ''), witnesses(each, app)],
    ]);
    const byLength = lengths.tokenizers[name];
    const most = Math.max(...byLength.map((pair) => pair[1]));
    const drawn = byLength.slice(0, 40).map(([length, total]) => [length, h('span', { className: 'with-bar' }, bar(total / most), num(total))]);
    const health = rows ? [h('h3', {}, `Health of ${name}: ${found.severity}`), table(['result', 'check', 'finding'], rows)] : [h('h3', {}, `Tokens of ${name}`), h('p', { className: 'dim' }, 'Its health needs Python: toksmith doctor.')];
    place.replaceChildren(...health, table(['bytes', 'tokens'], drawn, `Tokens by length${byLength.length > 40 ? ' (the first 40 lengths)' : ''}`));
  }, (problem) => place.replaceChildren(h('h3', {}, 'Health'), h('p', { className: 'bad' }, problem.message)));
  return place;
}

function witnesses(finding, app) {
  if (!finding.witnesses.length) return null;
  const total = finding.witnesses_total ?? finding.witnesses.length;
  const details = h('details', {}, h('summary', {}, `${count(total, 'witness').replace(/witnesss$/, 'witnesses')}`));
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(table(['token', 'kind', 'text that shows it'], finding.witnesses.slice(0, 60).map((each) => [tokenLink(app, { id: each.id, shown: each.shown }), each.kind, h('bdi', { className: 'mono' }, each.text ?? '')]), total > 60 ? 'the first 60' : null));
  }, { once: false });
  return details;
}
