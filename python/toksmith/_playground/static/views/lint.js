// Characters of the text that cost tokens but are invisible or look like others.

import { ask } from '../api.js';
import { count, h, num, say, table } from '../dom.js';

export const view = {
  name: 'lint', server: true, label: 'Lint', one: true,
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
      rows.length ? table(['found', 'places', 'first at character', 'tokens if repaired', 'why', 'repair'], rows) : h('p', { className: 'good' }, 'Nothing found.'),
      table(['Unicode form', 'tokens', 'more'], Object.entries(found.forms).map(([form, tokens]) => [form, tokens, signed(tokens - found.tokens)])),
    ];
  },
};
