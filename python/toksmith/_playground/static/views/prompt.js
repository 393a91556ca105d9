// A prompt that ends here: its tokens, those of the longer text, and the healed prompt.

import { chips, count, h } from '../dom.js';
import { field } from '../parts.js';

export const view = {
  name: 'prompt', label: 'Prompt end', one: true, follows: true,
  state: { end: ['number', null] },
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
      followed ? [h('h3', {}, 'With the text after it'), chips(found.followed, { onclick: open, label: 'The tokens of the text around the end of the prompt' })] : null,
      !followed ? null : found.is_beginning ? h('p', { className: 'good' }, 'The longer text keeps every id of the prompt.') : h('p', { className: 'warn' }, `${count(found.ids - found.agree, 'id')} at its end ${found.ids - found.agree === 1 ? 'is not what the text has' : 'are not those that the text has'} there.`),
      h('h3', {}, 'Healed'), chips(found.healed.tokens, { onclick: open, label: 'The tokens that are kept' }),
      found.healed.rest.hex ? h('p', {}, 'The next token must begin with ', h('bdi', { className: 'mono boxed' }, found.healed.rest.shown), `: ${count(found.continuations, 'token')} do${found.continuations === 1 ? 'es' : ''}.`) : h('p', { className: 'good' }, 'Nothing needs to be cut off: every continuation of the prompt is possible.'),
      found.first_continuations.length ? chips(found.first_continuations, { onclick: open, label: 'Some of the tokens that continue it' }) : null,
    ];
  },
};
