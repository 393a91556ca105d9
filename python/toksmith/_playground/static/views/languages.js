// The cost of the same text in each language.

import { bar, h, table } from '../dom.js';

export const view = {
  name: 'languages', label: 'Languages', one: true,
  state: { lines: ['text', ''] },
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
