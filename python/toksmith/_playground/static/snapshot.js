// A snapshot with its tokens in the HTML: moves through the tokens, plays their merges, and searches the vocabulary.

import { Card } from './card.js';
import { count, h, hexBytes, num, say, sayIn, table } from './dom.js';
import { data, hexOf, lookUp, root } from './embedded.js';
import { Player } from './player.js';

const MOST_FOUND = 100;
const state = { toks: data.tokenizers.map((own) => own.name), which: 0, piece: null, step: 0 };
const app = { state, prefix: `toksmith-${[...document.querySelectorAll('.toksmith-snapshot')].indexOf(root)}-`, one: () => ({ tokenizers: [state.toks[state.which]] }), set, open, openPiece, playable };
const part = (name) => root.querySelector(`.${name}`);
const several = state.toks.length > 1;

function set(patch, again = true) {
  Object.assign(state, patch);
  if (again) refresh();
}

// Tokens

const card = new Card(app, 'In the vocabulary');
let selected = null; // the text and the place of the token that has the focus

class TokenList {
  constructor(element, which) {
    const own = data.tokenizers[which];
    this.which = which;
    this.own = own;
    this.tokens = own.ids.map((id, place) => ({ id, place, total: own.ids.length, shown: lookUp(own, id).shown, special: lookUp(own, id).kind === 'special' }));
    own.lengths.reduce((start, length, place) => { Object.assign(this.tokens[place], { start, end: start + length }); return start + length; }, 0);
    this.pieceOf = own.pieces.flatMap(([tokens, piece]) => Array(tokens).fill(piece));
    this.elements = this.tokens.map(() => []);
    this.stop = 0; // the token that the tabulator key reaches
    for (const each of element.querySelectorAll('[data-i]')) this.elements[each.dataset.i].push(each);
    const list = element.querySelector('.tokens');
    list.setAttribute('role', 'listbox');
    list.setAttribute('aria-orientation', 'horizontal');
    list.setAttribute('aria-label', `Tokens by ${own.name}`);
    this.elements.forEach(([first], place) => {
      first.setAttribute('role', 'option');
      first.setAttribute('aria-selected', 'false');
      first.setAttribute('aria-label', `${this.tokens[place].shown}, id ${this.tokens[place].id}`);
      first.tabIndex = place ? -1 : 0;
    });
    list.addEventListener('pointerover', (event) => this.at(event, (place) => card.show(this.tokens[place], which)));
    list.addEventListener('pointerleave', () => (selected ? selected.text.tell(selected.place) : card.clear()));
    list.addEventListener('click', (event) => this.at(event, (place) => this.focus(place)));
    list.addEventListener('focusin', (event) => this.at(event, (place) => this.select(place)));
    list.addEventListener('keydown', (event) => this.onkey(event));
  }

  at(event, act) {
    const found = event.target.closest('[data-i]');
    if (found) act(Number(found.dataset.i));
  }

  tell(place) {
    card.show(this.tokens[place], this.which);
  }

  focus(place) {
    this.elements[place][0].focus();
  }

  select(place) {
    if (selected) selected.text.mark(selected.place, false);
    this.elements[this.stop][0].tabIndex = -1;
    this.elements[place][0].tabIndex = 0;
    this.stop = place;
    selected = { text: this, place };
    this.mark(place, true);
    this.tell(place);
    const { id, total, shown } = this.tokens[place];
    say(`token ${place + 1} of ${total}: ${shown}, id ${id}`);
  }

  mark(place, on) {
    for (const each of this.elements[place]) each.classList.toggle('on', on);
    this.elements[place][0].setAttribute('aria-selected', String(on));
  }

  onkey(event) {
    if (event.altKey || event.metaKey) return; // the browser's own
    const place = this.stop;
    const last = this.tokens.length - 1;
    const to = { ArrowLeft: () => place - 1, ArrowRight: () => place + 1, ArrowUp: () => this.line(place, -1), ArrowDown: () => this.line(place, 1), Home: () => 0, End: () => last }[event.key];
    if (event.key === 'Enter' && playable(this.which, this.tokens[place])) openPiece(this.which, this.tokens[place]);
    else if (!to) return;
    else this.focus(Math.max(0, Math.min(last, to())));
    event.preventDefault();
  }

  // The token above or below, nearest to the same column.
  line(place, by) {
    const box = (at) => this.elements[at][0].getClientRects()[0] ?? new DOMRect();
    const from = box(place);
    let best = place;
    let row = null;
    for (let at = place + by; at >= 0 && at < this.tokens.length; at += by) {
      const there = box(at);
      if (Math.abs(there.top - from.top) < from.height / 2) continue;
      if (row !== null && Math.abs(there.top - row) > from.height / 2) break;
      if (row === null || Math.abs(there.left - from.left) < Math.abs(box(best).left - from.left)) best = at;
      row ??= there.top;
    }
    return best;
  }
}

const texts = [...part('body').querySelectorAll('.text')].map((element, which) => new TokenList(element, which));
part('merges').before(card.element);
sayIn(part('unseen'));

// Merges

const choice = h('select', {});
const player = new Player(app, choice);

function playable(which, token) {
  return texts[which].pieceOf[token.place] >= 0;
}

function openPiece(which, token) {
  set({ which, piece: String(texts[which].pieceOf[token.place]), step: 0 });
  part('merges').scrollIntoView({ block: 'nearest' });
  player.slider.focus({ preventScroll: true });
}

// The choice of the tokenizer of a part, if there are several.
function chooser(element, name) {
  const which = h('select', { id: `${app.prefix}${name}`, onchange: () => set({ which: Number(which.value), piece: null, step: 0 }) }, state.toks.map((tok, place) => h('option', { value: place }, tok)));
  if (several) element.append(h('p', { className: 'field' }, h('label', { htmlFor: which.id }, 'Tokenizer'), which));
  return which;
}

// Vocabulary

const QUERIES = {
  text: (query) => pattern(hexOf(query)),
  bytes(query) {
    const plain = query.replace(/0x|[\s,]/gi, '').toLowerCase();
    return /^(?:[0-9a-f]{2}|\?\?)+$/.test(plain) ? pattern(plain.replaceAll('??', '..')) : null;
  },
  id(query) {
    const range = /^\s*(\d+)\s*(?:[-–]\s*(\d+)\s*)?$/.exec(query);
    return range && (({ id }) => (id >= Number(range[1]) && id <= Number(range[2] ?? range[1]) ? 0 : null));
  },
};
const WRONG = { bytes: 'Expected hex digits in pairs, such as e2 98 ??.', id: 'Expected an id such as 318, or two with a hyphen, such as 300-320.' };

// First tokens equal to the query, then those that begin with it, then the others.
function pattern(hex) {
  const found = new RegExp(`^((?:..)*?)${hex}`);
  return (token) => {
    const match = found.exec(token.hex);
    if (!match) return null;
    return match[1] ? 2 : match[0].length === token.hex.length ? 0 : 1;
  };
}

const by = h('select', { id: `${app.prefix}by`, onchange: searchAloud }, [['text', 'text'], ['bytes', 'bytes, such as e2 98 ??'], ['id', 'id, such as 300-320']].map(([value, label]) => h('option', { value }, label)));
const query = h('input', { id: `${app.prefix}query`, type: 'search', spellcheck: false, autocomplete: 'off', oninput: searchAloud });
const answer = h('div', { className: 'answer', role: 'region', 'aria-label': 'Tokens found', tabIndex: 0 });

function search() {
  const own = data.tokenizers[state.which];
  const order = query.value ? QUERIES[by.value](query.value) : () => 0;
  if (!order) {
    answer.replaceChildren(h('p', { className: 'bad' }, WRONG[by.value]));
    return;
  }
  const found = Object.keys(own.table).map((id) => lookUp(own, id)).map((token) => [order(token), token]).filter(([place]) => place !== null)
    .sort(([one, left], [other, right]) => one - other || left.id - right.id).map(([, token]) => token);
  const rows = found.slice(0, MOST_FOUND).map((token) => [String(token.id), h('bdi', { className: 'mono' }, token.shown), hexBytes(token.hex.slice(0, 96)) + (token.hex.length > 96 ? ' …' : ''), token.kind, token.rank === null ? '' : num(token.rank)]);
  answer.replaceChildren(h('p', {}, `${count(found.length, 'token')} of this slice${found.length > MOST_FOUND ? `; the first ${MOST_FOUND}` : ''}`), rows.length ? table(['id', 'token', 'bytes', 'kind', 'rank'], rows) : '');
}

function searchAloud() {
  search();
  say(answer.firstChild.textContent);
}

// A token in the vocabulary; there is no forest here.
function open(_, { which, id }) {
  by.value = 'id';
  query.value = String(id);
  set({ which });
  part('vocabulary').scrollIntoView({ block: 'nearest' });
  query.focus({ preventScroll: true });
}

const choosers = [chooser(part('merges'), 'merges-of'), chooser(part('vocabulary'), 'vocabulary-of')];
part('merges').append(player.element);
part('vocabulary').append(
  h('div', { className: 'controls' }, h('span', { className: 'field' }, h('label', { htmlFor: by.id }, 'Search by'), by), h('span', { className: 'field' }, h('label', { htmlFor: query.id }, 'for'), query)), answer);

let drawn = null;
function refresh() {
  const own = data.tokenizers[state.which];
  const pieces = own.merges?.pieces ?? [];
  for (const each of choosers) each.value = state.which;
  if (drawn !== own) {
    drawn = own;
    choice.replaceChildren(...pieces.map(({ shown }, place) => h('option', { value: place }, shown)));
    search();
  }
  if (query.value) search();
  player.element.hidden = pieces.length === 0;
  part('unplayed').hidden = pieces.length > 0;
  part('unplayed').textContent = own.unmerged ?? 'The snapshot has no merges of this tokenizer.';
  if (!pieces.length) return;
  state.piece ??= '0';
  choice.value = state.piece;
  player.refresh();
}

for (const each of root.querySelectorAll('.scripted')) each.hidden = false;
refresh();
