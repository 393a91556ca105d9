// The facts about one token: the card next to the rows, for the pointer and for the focus.

import { ask } from './api.js';
import { count, h, hexBytes, num, speak, tokenTag } from './dom.js';

const KINDS = {
  whole: 'whole characters', 'starts inside': 'starts inside a character', 'ends inside': 'ends inside a character',
  inside: 'starts and ends inside a character', byte: 'a byte of a character', special: 'a special token',
};

export class Card {
  // `look` is the label of the button that opens more about a token.
  constructor(app, look = 'Forest') {
    this.app = app;
    this.look = look;
    this.known = new Map();
    this.now = 0;
    this.element = h('aside', { className: 'card', 'aria-label': 'Token' });
    this.clear();
  }

  clear() {
    this.now += 1;
    this.element.classList.add('empty');
    this.element.replaceChildren(h('p', { className: 'dim' }, 'Point at a token, or move through them with the arrow keys.'));
  }

  async show(token, which) {
    this.now += 1;
    const { now } = this;
    const name = this.app.state.toks[which];
    const key = `${name}\n${token.id}`;
    this.draw(token, which, this.known.get(key) ?? null, null);
    if (this.known.has(key)) return;
    try {
      const tree = await ask('tree', null, { tokenizers: [name], of: name, id: token.id }, { quiet: true });
      if (this.known.size > 5000) this.known.clear();
      this.known.set(key, tree);
      if (now === this.now) this.draw(token, which, tree, null);
    } catch (problem) {
      // A tokenizer that does not merge has no tree, but the facts about the token exist.
      const found = await ask('search', null, { tokenizers: [name], of: name, query: String(token.id), by: 'id' }, { quiet: true }).catch(() => null);
      if (now === this.now) this.draw(token, which, null, problem, found?.found[0]);
    }
  }

  draw(token, which, tree, problem, plain = null) {
    const root = tree?.roots.length === 1 ? tree.nodes[tree.roots[0]] : null;
    const parents = root && root.left !== null ? [tree.nodes[root.left], tree.nodes[root.right]] : [];
    const facts = [['id', String(token.id)]];
    if (this.app.state.toks.length > 1) facts.unshift(['of', this.app.state.toks[which]]);
    const { hex, kind } = tree ?? plain ?? {};
    if (hex !== undefined) {
      facts.push(['bytes', [h('span', { className: 'mono' }, hexBytes(hex.slice(0, 64)), hex.length > 64 ? ' …' : ''), ` (${num(hex.length / 2)})`]]);
      facts.push(['kind', KINDS[kind]]);
    }
    if (tree) {
      if (!tree.special) {
        const rank = root?.rank ?? null;
        facts.push(['rank', rank === null ? 'none: no merge makes it' : num(rank)]);
        facts.push(['merged from', parents.length ? parents.map((part, at) => [at ? ' + ' : '', this.link(part, which)]) : tree.is_derivable ? 'nothing: it is a base token' : 'nothing: it comes only from the whole-piece lookup']);
        facts.push(['used in', tree.is_leaf ? 'no other token' : count(tree.children_total ?? tree.children.length, 'merge')]);
      }
    }
    facts.push(['place', `token ${num(token.place + 1)} of ${num(token.total)}, bytes ${num(token.start)}–${num(token.end)}`]);
    if (problem) facts.push(['more', problem.message]);
    this.element.classList.remove('empty');
    this.element.replaceChildren(
      h('button', { type: 'button', className: 'close', 'aria-label': 'Close what is known of the token', onclick: () => this.clear() }, '×'),
      h('p', { className: 'card-token' }, tokenTag(token, token.place, { title: null, looks: 's' })),
      h('dl', {}, facts.map(([term, said]) => [h('dt', {}, term), h('dd', {}, said)])),
      h('p', { className: 'group' }, h('button', { type: 'button', onclick: () => this.app.open('forest', { which, id: token.id }) }, this.look),
        ' ', this.app.playable?.(which, token) === false ? null : h('button', { type: 'button', onclick: () => this.app.openPiece(which, token) }, 'Play its merges')),
    );
  }

  link(part, which) {
    const said = h('bdi', { className: 'mono' }, part.shown);
    if (part.id === null) return said;
    return h('button', { type: 'button', className: 'link', title: `id ${part.id}`, 'aria-label': `${speak(part.shown)}, id ${part.id}`, onclick: () => this.app.open('forest', { which, id: part.id }) }, said, ` ${part.id}`);
  }
}
