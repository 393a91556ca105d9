// The special tokens in the text, treated in each of the three ways.

import { chips, count, h, num, table } from '../dom.js';

export const view = {
  name: 'specials', label: 'Special tokens', one: true,
  controls: (app) => [h('p', {}, 'The special tokens of this tokenizer: ', (app.tokenizer()?.special_tokens ?? []).slice(0, 12).map((content) => [h('button', { type: 'button', className: 'mono', title: 'Insert it at the cursor', onclick: () => app.insert(content) }, content), ' ']))],
  ask: (app) => ['specials', app.state.text, {}],
  draw(found) {
    const total = found.matches_total ?? found.matches.length;
    return [
      found.matches.length ? table(['special token', 'id', 'at byte', 'tokens as plain text'], found.matches.slice(0, 100).map((match) => [h('bdi', { className: 'mono boxed' }, match.content), String(match.id), match.start, match.as_text.length]), `${count(total, 'special token')} in the text`) : h('p', { className: 'good' }, 'The text contains no special token.'),
      h('h3', {}, `As plain text: ${count(found.plain.count, 'token')}`), h('p', { className: 'dim' }, 'Use this for untrusted text.'), chips(found.plain.tokens),
      h('h3', {}, `Allowed: ${count(found.allowed.count, 'token')}`), h('p', { className: 'dim' }, 'The author of the text decides where documents and roles end.'), chips(found.allowed.tokens),
      h('h3', {}, 'Refused'), h('p', { className: found.refusal ? 'warn' : 'good' }, found.refusal === null ? 'Nothing is.' : ['the text holds the special token ', h('bdi', { className: 'mono' }, found.matches[0]?.content ?? ''), found.matches.length ? ` at byte ${num(found.matches[0].start)}` : '']),
    ];
  },
};
