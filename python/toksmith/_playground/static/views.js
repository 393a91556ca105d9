// The views beside the tokens, one row each: what it is called, what it asks, and how the answer is drawn.

import { ask } from './api.js';
import { bar, chips, count, h, hexBytes, num, say, table } from './dom.js';
import { latest } from './latest.js';

// A view has `controls(app)` (drawn once), `ask(app)` (view, text or null, values; null: nothing to ask) and
// `draw(answer, app)`. `empty` is said where there is nothing to ask.

function tokenLink(app, token) {
  if (token.id === null) return h('bdi', { className: 'mono' }, token.shown);
  return h('button', { type: 'button', className: 'link', onclick: () => app.open('forest', { id: token.id }) }, h('bdi', { className: 'mono' }, token.shown), ` ${token.id}`);
}

function field(label, attributes, note) {
  const id = `field-${attributes.name}`;
  return h('span', { className: 'field' }, h('label', { htmlFor: id }, label), h('input', { id, ...attributes }), note ? h('span', { className: 'dim' }, note) : null);
}

const forest = {
  name: 'forest', label: 'Forest', export: 'tree', one: true,
  empty: 'Choose a token, or enter its id.',
  controls: (app) => [field('Token id', { name: 'id', type: 'number', min: 0, value: app.state.id ?? '', oninput: (event) => app.set({ id: event.target.value === '' ? null : Math.max(0, Math.floor(Number(event.target.value))) }) })],
  ask: (app) => (app.state.id === null ? null : ['tree', null, { id: app.state.id }]),
  draw(tree, app) {
    const node = (place, levels) => {
      const { shown, id, rank, left, right } = tree.nodes[place];
      const said = [id === tree.id ? h('strong', { className: 'mono' }, h('bdi', {}, shown), ` ${id}`) : tokenLink(app, { shown, id }), rank === null ? h('span', { className: 'dim' }, ' no merge') : h('span', { className: 'dim' }, ` rank ${num(rank)}`)];
      if (left === null) return h('li', {}, said);
      if (levels === 0) return h('li', {}, said, ' …');
      return h('li', {}, said, h('ul', {}, node(left, levels - 1), node(right, levels - 1)));
    };
    const total = tree.children_total ?? tree.children.length;
    const facts = tree.special ? 'a special token, which no merge makes' : `${count(tree.hex.length / 2, 'byte')}, depth ${tree.depth}, ${total ? `used in ${count(total, 'merge')}` : 'a leaf: no other token is made of it'}`;
    return [
      h('h3', {}, 'Token ', h('bdi', { className: 'mono' }, tree.shown), ` ${tree.id}`), h('p', {}, facts, '; ', h('span', { className: 'mono' }, hexBytes(tree.hex.slice(0, 96)))),
      tree.is_derivable || tree.special ? null : h('p', { className: 'warn' }, 'Merging alone does not make it: it comes only from the whole-piece lookup.'),
      h('ul', { className: 'forest' }, tree.roots.map((root) => node(root, 30))),
      tree.children.length ? table(['id', 'token', 'merges'], tree.children.slice(0, 100).map((use) => [String(use.id), tokenLink(app, use), `${use.left} + ${use.right}`]), `Used to build${total > 100 ? ` (the first 100 of ${num(total)})` : ''}`) : null,
    ];
  },
};

const budget = {
  name: 'budget', label: 'Budget', export: 'budget',
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
    return [h('p', {}, `${count(found.chars, 'character')}, ${count(found.bytes, 'byte')}`), table(['tokenizer', 'tokens', 'bytes per token', 'price'], lines, 'The text'), table(['tokenizer', 'model', 'context', 'used', 'characters that fit', ''], rows, 'Compared with the context lengths of models')];
  },
};

const languages = {
  name: 'languages', label: 'Languages', export: 'parity', one: true,
  controls: (app) => [h('details', {}, h('summary', {}, 'Your own texts'), h('label', { htmlFor: 'field-lines' }, 'One language a line, “name: text”, the first to compare with'), h('textarea', { id: 'field-lines', rows: 4, dir: 'auto', spellcheck: false, value: app.state.lines, placeholder: 'English: Good morning.\nKorean: 좋은 아침입니다.', oninput: (event) => app.set({ lines: event.target.value }) }))],
  ask: (app) => ['parity', null, { lines: app.state.lines.split('\n').filter((line) => line.trim()) }],
  draw(found) {
    const most = Math.max(1, ...found.languages.map((each) => each.premium ?? 0));
    const sorted = [...found.languages].sort((one, other) => (one.premium ?? 0) - (other.premium ?? 0));
    const figure = (value) => (value === null ? '–' : value.toFixed(3));
    return [
      h('p', {}, `Tokens relative to ${found.reference} for the same text. Gini coefficient of tokens ${figure(found.gini)}, of tokens per byte ${figure(found.gini_per_byte)} (0: all languages pay the same).`),
      found.warnings.map((warning) => h('p', { className: 'warn' }, warning)),
      table(['language', 'premium', 'tokens', 'bytes'], sorted.map((each) => [h('bdi', {}, each.name), h('span', { className: 'with-bar' }, bar((each.premium ?? 0) / most), each.premium === null ? '–' : each.premium.toFixed(2)), each.tokens, each.bytes])),
      h('p', { className: 'dim' }, 'A few sentences show the order of magnitude. It does not show whether the texts have the same meaning, or how well a model does in these languages.'),
    ];
  },
};

const prompt = {
  name: 'prompt', label: 'Prompt end', export: 'prompt', one: true,
  controls: (app) => {
    const points = [...app.state.text];
    const end = Math.min(app.state.end ?? points.length, points.length);
    const input = field('The prompt ends after character', { name: 'end', type: 'range', className: 'wide', min: 0, max: points.length, value: end, oninput: (event) => app.set({ end: Number(event.target.value) }) });
    return [input, h('button', { type: 'button', onclick: () => { app.set({ end: app.cursor() }); input.querySelector('input').value = app.state.end; } }, 'At the cursor')];
  },
  ask: (app) => ['prompt', app.state.text, app.state.end === null ? {} : { end: Math.min(app.state.end, app.codePoints()) }],
  draw(found, app) {
    const open = (token) => app.open('forest', { id: token.id });
    const followed = app.state.end !== null && app.state.end < app.codePoints();
    return [
      h('p', {}, `A prompt of ${count(found.bytes, 'byte')} and ${count(found.ids, 'token')}.`),
      found.ends_in_space ? h('p', { className: 'warn' }, 'It ends in white space, which prevents the token that a model would usually choose next.') : null,
      h('h3', {}, 'By itself'), chips(found.prompt, { onclick: open, label: 'The last tokens of the prompt' }),
      followed ? [h('h3', {}, 'With the text behind it'), chips(found.followed, { onclick: open, label: 'The tokens of the text around the end of the prompt' })] : null,
      !followed ? null : found.is_beginning ? h('p', { className: 'good' }, 'The longer text keeps every id of the prompt.') : h('p', { className: 'warn' }, `${count(found.ids - found.agree, 'id')} at its end ${found.ids - found.agree === 1 ? 'is not what the text has' : 'are not those that the text has'} there.`),
      h('h3', {}, 'Healed'), chips(found.healed.tokens, { onclick: open, label: 'The tokens that are kept' }),
      found.healed.rest.hex ? h('p', {}, 'The next token must begin with ', h('bdi', { className: 'mono boxed' }, found.healed.rest.shown), `: ${count(found.continuations, 'token')} do${found.continuations === 1 ? 'es' : ''}.`) : h('p', { className: 'good' }, 'Nothing needs to be cut off: every continuation of the prompt is possible.'),
      found.first_continuations.length ? chips(found.first_continuations, { onclick: open, label: 'Some of the tokens that continue it' }) : null,
    ];
  },
};

const lint = {
  name: 'lint', label: 'Lint', export: 'lint', one: true,
  ask: (app) => ['lint', app.state.text, {}],
  draw(found, app) {
    const signed = (value) => (value > 0 ? `+${num(value)}` : num(value));
    const repair = async (names) => {
      const { text } = await ask('repair', app.state.text, { ...app.one(), names });
      app.setText(text);
      say(`repaired: ${names.join(', ')}`);
    };
    const rows = found.findings.map((each) => [each.name, each.count, each.start, signed(each.delta), each.why, h('button', { type: 'button', onclick: () => repair([each.name]), 'aria-label': `Repair: ${each.name}` }, 'Repair')]);
    return [
      h('p', {}, `${count(found.tokens, 'token')}. Nothing is repaired unless you ask for it: each finding can be meant.`),
      rows.length ? table(['found', 'places', 'first at character', 'tokens if repaired', 'why', ''], rows) : h('p', { className: 'good' }, 'Nothing found.'),
      table(['Unicode form', 'tokens', 'more'], Object.entries(found.forms).map(([form, tokens]) => [form, tokens, signed(tokens - found.tokens)])),
    ];
  },
};

const specials = {
  name: 'specials', label: 'Special tokens', export: 'specials', one: true,
  controls: (app) => [h('p', {}, 'The special tokens of this tokenizer: ', (app.tokenizer()?.special_tokens ?? []).slice(0, 12).map((content) => [h('button', { type: 'button', className: 'mono', title: 'Insert it at the cursor', onclick: () => app.insert(content) }, content), ' ']))],
  ask: (app) => ['specials', app.state.text, {}],
  draw(found) {
    const total = found.matches_total ?? found.matches.length;
    return [
      found.matches.length ? table(['special token', 'id', 'at byte', 'tokens as plain text'], found.matches.slice(0, 100).map((match) => [h('bdi', { className: 'mono boxed' }, match.content), String(match.id), match.start, match.as_text.length]), `${count(total, 'special token')} in the text`) : h('p', { className: 'good' }, 'The text contains no special token.'),
      h('h3', {}, `As plain text: ${count(found.plain.count, 'token')}`), h('p', { className: 'dim' }, 'Use this for untrusted text.'), chips(found.plain.tokens),
      h('h3', {}, `Allowed: ${count(found.allowed.count, 'token')}`), h('p', { className: 'dim' }, 'The author of the text decides where documents and roles end.'), chips(found.allowed.tokens),
      h('h3', {}, 'Refused'), h('p', { className: found.refusal ? 'warn' : 'good' }, found.refusal ?? 'Nothing is.'),
    ];
  },
};

const vocabulary = {
  name: 'vocabulary', label: 'Vocabulary', export: 'search', one: true,
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

// The doctor takes seconds for a large vocabulary, so that it comes by itself, below.
function health(app) {
  const place = h('section', { 'aria-label': 'Health' }, h('h3', {}, 'Health'), h('p', { className: 'dim' }, 'Searching the vocabulary …'));
  const name = app.state.toks[app.state.which];
  const values = { tokenizers: [name] };
  Promise.all([ask('doctor', null, values, { quiet: true }), ask('lengths', null, values, { quiet: true })]).then(([found, lengths]) => {
    const rows = found.findings.filter((each) => each.severity !== 'not applicable').map((each) => [
      h('span', { className: { pass: 'good', warn: 'warn', fail: 'bad' }[each.severity] }, each.severity), each.check.replaceAll('_', ' '),
      [h('p', {}, each.says, each.advice ? ` ${each.advice}` : ''), witnesses(each, app)],
    ]);
    const byLength = lengths.tokenizers[name];
    const most = Math.max(...byLength.map((pair) => pair[1]));
    const drawn = byLength.slice(0, 40).map(([length, total]) => [length, h('span', { className: 'with-bar' }, bar(total / most), num(total))]);
    place.replaceChildren(h('h3', {}, `Health of ${name}: ${found.severity}`), table(['', 'check', 'finding'], rows), table(['bytes', 'tokens'], drawn, `Tokens by length${byLength.length > 40 ? ' (the first 40 lengths)' : ''}`));
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

export const VIEWS = [forest, budget, languages, prompt, lint, specials, vocabulary];

// A view in the panel: asks again when what it is about has changed.
export class ViewPanel {
  constructor(view, app) {
    this.view = view;
    this.app = app;
    this.controls = h('div', { className: 'controls' });
    this.answer = h('div', { className: 'answer' });
    this.extra = h('div');
    this.element = h('div', {}, this.controls, this.answer, this.extra);
    this.about = null;
    this.load = latest((again, signal) => this.fetch(again, signal));
  }

  refresh() {
    const { app, view } = this;
    const about = `${app.state.toks.join('\n')} ${app.state.which}`;
    if (this.about !== about || view === prompt || !this.controls.contains(document.activeElement)) {
      if (!this.controls.contains(document.activeElement)) this.controls.replaceChildren(...(view.controls?.(app) ?? []).flat());
      if (view.more && this.about !== about) this.extra.replaceChildren(view.more(app));
      this.about = about;
    }
    return this.load();
  }

  question() {
    const asked = this.view.ask(this.app);
    if (!asked) return null;
    const [name, text, values] = asked;
    return [name, text, { ...(this.view.one ? this.app.one() : this.app.params()), ...values }];
  }

  async fetch(again, signal) {
    const asked = this.question();
    if (!asked) {
      this.answer.replaceChildren(h('p', { className: 'dim' }, this.view.empty));
      return;
    }
    try {
      const found = await ask(...asked, { signal });
      if (!again()) this.answer.replaceChildren(...this.view.draw(found, this.app).flat(2).filter(Boolean));
    } catch (problem) {
      if (!again()) this.answer.replaceChildren(h('p', { className: 'bad' }, problem.message));
    }
  }
}
