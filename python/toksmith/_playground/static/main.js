// The page: its state, its parts, and the connections between them. The source of api.js computes all tokens.

import { about, ask, Cancelled, connection, Gone, hasServer, Refused } from './api.js';
import { points, TextBox } from './box.js';
import { Card } from './card.js';
import { copyTexts } from './copied.js';
import { $, count, h, num, say, tokenTag } from './dom.js';
import { Earlier } from './earlier.js';
import { Files } from './files.js';
import { Ids } from './ids.js';
import { Proposals } from './proposals.js';
import { startKeys } from './keys.js';
import { latest } from './latest.js';
import { placeCard, prepareForPaper, sheet } from './layout.js';
import { link } from './linked.js';
import { Models } from './models.js';
import { ViewPanel } from './panel.js';
import { LONG, TokenRows } from './rows.js';
import { exportView, startSharing } from './sharing.js';
import { declare, fromFragment, initial, leave, toFragment, WALKED } from './state.js';
import { Tabs } from './tabs.js';
import { startTheme } from './theme.js';
import { GROUPS, LEFT_OUT, VIEWS } from './views.js';
import { sayWaiting } from './waiting.js';

for (const view of VIEWS) declare(view.state ?? {});
const state = structuredClone(initial);
let page = { tokenizers: [], failed: {}, limits: { bytes: 0, tokenizers: 4 } };
let saving = null;
let savedOnce = false;
let started = false;
let earlier = null; // earlier texts, after the current text is loaded
let compared = null; // the difference that was shown last
const box = $('text');
new Files({
  limit: () => page.limits.bytes,
  patterns: () => page.patterns,
  text(text, name, exact) {
    texts.replace(text, `replaced by ${name}`);
    if (!exact) notice(`${name} is not all UTF-8: each wrong byte is shown as \ufffd, and counted as three bytes.`);
  },
  tokenizer: addTokenizer,
});
const texts = new TextBox(box, { noteTyping, notice, limit: () => page.limits.bytes });
const setText = (text) => texts.put(text);

const app = {
  state,
  // A request names its tokenizers: all compared ones, and the one that it is about; never an index.
  params: (which = state.which) => ({ tokenizers: state.toks, of: state.toks[which], special: state.special }),
  one: (which = state.which) => ({ tokenizers: [state.toks[which]], of: state.toks[which], special: state.special }),
  tokenizer: () => page.tokenizers.find((tok) => tok.name === state.toks[state.which]),
  codePoints: () => points(state.text),
  cursor: () => points(box.value, box.selectionStart),
  page: () => page,
  addTokenizer,
  set,
  setText,
  insert: (content) => texts.insert(content),
  tellRows,
  tellCounts,
  pointAt,
  select,
  open,
  async openPiece(which, token) {
    try {
      const { piece } = await ask('piece', state.text, { ...app.one(which), byte: token.start });
      set({ piece, step: 0, which, tab: 'merges' });
    } catch (problem) {
      say(problem.message);
    }
  },
};

const card = new Card(app);
const rows = new TokenRows(app);
const ids = new Ids(app);
copyTexts(rows, () => state.text, () => (state.selected === null ? null : rows.token(state.which, state.selected)));
const proposals = new Proposals(app, VIEWS);
const views = new Map(VIEWS.map((view) => [view.name, view]));
const tabs = new Tabs($('tabs'), $('view'), $('tasks'), GROUPS, (tab) => set({ tab }));
const panels = new Map();

function panelOf(tab) {
  if (!panels.has(tab)) {
    const formats = (hasServer ? ['svg', 'html', 'json'] : ['json']).map((format) => h('button', { type: 'button', onclick: () => exportView(state.tab, panelOf(state.tab).own.question(), format, notice) }, format.toUpperCase()));
    const which = h('select', { onchange: (event) => set({ which: Number(event.target.value), selected: null, step: 0 }) });
    const choice = h('label', { className: 'which' }, 'Tokenizer ', which);
    const exports = h('p', { className: 'group exports', role: 'group', 'aria-label': 'Export this view' }, h('span', { className: 'dim' }, 'export '), formats);
    const view = views.get(tab);
    const own = view.panel?.(app) ?? new ViewPanel(view, app);
    panels.set(tab, { which, choice, own, element: h('div', {}, h('h2', { className: 'unseen' }, view.label), choice, proposals.elements.get(tab) ?? '', own.element, exports) });
  }
  return panels.get(tab);
}

const differences = h('span', { className: 'dim' });
const compareBar = h('div', { className: 'compare', hidden: true },
  h('span', { className: 'group', role: 'group', 'aria-label': 'Differences' }, h('button', { type: 'button', onclick: () => nextDifference(true), title: 'key [' }, '◀ Previous difference'), h('button', { type: 'button', onclick: () => nextDifference(false), title: 'key ]' }, 'Next difference ▶'), differences),
  h('label', { className: 'grey' }, h('input', { type: 'checkbox', id: 'grey', onchange: (event) => rows.element.classList.toggle('grey', event.target.checked) }), ' Grey where all agree'),
  h('p', { className: 'found' }));
const legend = h('p', { className: 'names' });
const marks = h('p', { className: 'switch' }, h('label', {}, h('input', { type: 'checkbox', id: 'marks', onchange: (event) => set({ marks: Number(event.target.checked) }) }), ' Show white space'));
const direction = h('p', { className: 'dim', hidden: true }, 'Arabic and Hebrew: the text with its letters joined, and below it the tokens. A line that begins with such letters runs from right to left.');

const besideRows = h('div', { className: 'right' });
app.tokens = {
  element: h('div', { className: 'tokens' }, h('div', { className: 'left' }, compareBar, legend, rows.element, direction, marks, ids.element), besideRows),
  refresh: () => ids.load(),
  question: () => ['tokens', state.text, app.params()],
};

// State

const place = () => Object.fromEntries(WALKED.map((name) => [name, state[name]]));

function set(patch, again = true, walk = false) {
  if (started && (walk || (patch.tab && patch.tab !== state.tab))) {
    history.replaceState(place(), '');
    Object.assign(state, patch);
    history.pushState(place(), '');
  }
  Object.assign(state, patch);
  saveSoon();
  if (again) refresh();
}

function saveSoon() {
  clearTimeout(saving);
  saving = setTimeout(async () => {
    const { fragment } = await toFragment(state);
    if (savedOnce) history.replaceState(place(), '', `#${fragment}`);
    savedOnce = true;
    saving = null;
  }, 300);
}

addEventListener('pagehide', () => saving !== null && leave(state));

// An id is not requested from a tokenizer that does not have it.
let lastTokenizer = null;
function leaveForeignId() {
  const tok = app.tokenizer();
  if (!tok || tok.name === lastTokenizer) return;
  if (lastTokenizer !== null && state.id !== null && state.id >= tok.vocab_size) state.id = null;
  lastTokenizer = tok.name;
}

let lastTab = null;
function refresh() {
  const { tab } = state;
  leaveForeignId();
  const panel = panelOf(tab);
  if (lastTab !== tab) {
    $('panel').replaceChildren(panel.element);
    $('panel').setAttribute('aria-labelledby', `tab-${tab}`);
    lastTab = tab;
  }
  tabs.show(tab);
  for (const input of $('tokenizers').querySelectorAll('input')) {
    input.checked = state.toks.includes(input.value);
    input.disabled = (input.checked && state.toks.length === 1) || (!input.checked && state.toks.length >= page.limits.tokenizers);
  }
  $('special').value = state.special;
  marks.querySelector('input').checked = state.marks === 1;
  card.element.hidden = tab !== 'tokens';
  panel.choice.hidden = state.toks.length < 2 || views.get(tab).several === true;
  panel.which.replaceChildren(...state.toks.map((name, place) => h('option', { value: place, selected: place === state.which }, name)));
  if (!state.toks.length) return;
  const drawn = rows.refresh(); // in every view, for the counts
  if (tab === 'tokens') drawn.then(() => panel.own.refresh());
  else proposals.prepare(views.get(tab)).then(() => panel.own.refresh());
}

// The result of the rows: counts, differences, or the reason for no rows.
function tellRows(window, problem) {
  const line = $('problem');
  if (problem) {
    if (problem instanceof Gone) return;
    if (problem instanceof Cancelled) {
      line.hidden = false;
      line.replaceChildren(`${problem.message} What is below is of an earlier text. `, h('button', { type: 'button', onclick: () => refresh() }, 'Continue'));
      return;
    }
    line.hidden = false;
    line.textContent = problem.message;
    $('counts').textContent = problem instanceof Refused ? '–' : '';
    say(problem.message);
    return;
  }
  tellCounts({ ...window, totals: window.cuts.map((cuts) => cuts.total) });
  direction.hidden = !window.right_to_left;
  const several = state.toks.length > 1;
  compareBar.hidden = !several;
  legend.hidden = !several;
  legend.className = `names ${rows.stacked ? 'stacked' : ''}`;
  if (several) {
    legend.replaceChildren(...state.toks.map((name, place) => h('span', {}, rows.stacked ? `${'ABCD'[place]} ` : '', name, h('span', { className: 'dim' }, ` ${num(window.cuts[place].total)}`))));
    countDifferences();
  }
  if (state.selected !== null && state.selected >= (window.cuts[state.which]?.total ?? 0)) {
    state.selected = null;
    card.clear();
  } else if (state.selected !== null) queueMicrotask(() => showCard(state.which, state.selected));
}

// The figures of the whole text, which come before its rows.
function tellCounts({ totals, bytes, chars }) {
  $('problem').hidden = true;
  const named = totals.map((total, place) => `${totals.length > 1 ? `${state.toks[place]} ` : ''}${count(total, 'token')}`);
  const per = totals.length === 1 && totals[0] ? `, ${(bytes / totals[0]).toFixed(2)} bytes per token` : '';
  const halves = state.text.isWellFormed() ? '' : ', with half of a character (a lone surrogate), which is counted as U+FFFD';
  const said = `${named.join(', ')}; ${count(chars, 'character')}, ${count(bytes, 'byte')}${per}${halves}`;
  $('counts').classList.remove('stale');
  if ($('counts').textContent === said) return;
  $('counts').replaceChildren(h('strong', {}, said.slice(0, said.indexOf(';'))), said.slice(said.indexOf(';')));
  clearTimeout(tellRows.timer);
  tellRows.timer = setTimeout(() => say(said), 700);
}

const PAUSE = 300; // milliseconds after a keystroke in a long text

// The number of differences takes longer than the rows and comes after them; in a long text, after a pause in typing.
const countDifferences = latest(async (again, signal) => {
  if (state.tab !== 'tokens' || state.toks.length < 2) return;
  const about = [state.text, state.special, ...state.toks];
  const same = countDifferences.about?.length === about.length && about.every((each, place) => each === countDifferences.about[place]);
  differences.classList.toggle('stale', !same);
  if (same) return;
  if (state.text.length > LONG) await new Promise((done) => setTimeout(done, PAUSE));
  if (again()) return;
  try {
    const { total } = await ask('differences', state.text, app.params(), { signal, quiet: true });
    if (again()) return;
    countDifferences.about = about;
    differences.classList.remove('stale');
    differences.textContent = total ? ` ${count(total, 'stretch').replace('stretchs', 'stretches')} cut differently` : ' all cut alike';
    if (!total) compareBar.querySelector('.found').replaceChildren();
  } catch {
    if (!again()) differences.textContent = '';
  }
});

function showCard(which, place) {
  const token = rows.token(which, place);
  if (token) card.show(token, which);
}

function pointAt(at) {
  link(at, state.which);
  if (at) showCard(at.which, at.place);
  else if (state.selected !== null) showCard(state.which, state.selected);
}

async function select(which, place, { focus = false, focusIds = false } = {}) {
  const other = which !== state.which;
  Object.assign(state, { which, selected: place });
  saveSoon();
  try {
    await rows.show(which, place, focus);
  } catch (problem) {
    if (!(problem instanceof Gone)) say(problem.message);
    return;
  }
  rows.mark();
  showCard(which, place);
  if (sheet.matches) rows.find(which, place)?.scrollIntoView({ block: 'nearest' }); // above the sheet
  rows.announce();
  if (other) {
    panelOf(state.tab).which.value = which;
    await ids.load();
  }
  ids.follow();
  if (focusIds) ids.content.querySelector('.on')?.focus({ preventScroll: true });
}

function open(tab, { which = state.which, id = null } = {}) {
  const chosen = id ?? rows.token(which, state.selected)?.id ?? state.id;
  set({ tab, which, id: chosen }, true, chosen !== state.id);
  tabs.focus();
}

async function nextDifference(back) {
  if (state.toks.length < 2 || !state.text) return;
  const after = compared?.text === state.text ? compared.start : -1;
  try {
    const found = await ask('difference', state.text, { ...app.params(), cells: rows.cells, after, back });
    if (!found.total) {
      say('all cut alike');
      return;
    }
    compared = { text: state.text, start: found.start };
    const cuts = found.tokens.map((tokens, which) => h('span', { className: 'cut' }, h('strong', {}, `${state.toks[which]} `), tokens.map(([, id, token, colour]) => tokenTag({ colour, shown: token }, 0, { title: `id ${id}`, looks: 's' }))));
    compareBar.querySelector('.found').replaceChildren(`Difference ${num(found.number + 1)} of ${num(found.total)}, byte ${num(found.start)}: `, ...cuts);
    const most = found.tokens.reduce((best, tokens, which) => (tokens.length > found.tokens[best].length ? which : best), 0);
    rows.first = Number.MAX_SAFE_INTEGER;
    rows.scrollToRow(found.row);
    await select(most, found.tokens[most][0][0], {});
    say(`difference ${found.number + 1} of ${found.total}: ${found.tokens.map((tokens, which) => `${state.toks[which]} ${tokens.map((token) => token[2]).join(' | ')}`).join('; ')}`);
  } catch (problem) {
    if (!(problem instanceof Gone)) say(problem.message);
  }
}

// The text

function noteTyping(text) {
  compared = null;
  earlier?.noteTyping(text);
  set({ text, selected: null });
  card.clear();
}

$('special').addEventListener('change', (event) => set({ special: event.target.value }));

// The frame

function notice(words) {
  $('banner').hidden = !words;
  $('banner').replaceChildren(words ?? '', words ? h('button', { type: 'button', onclick: () => notice(null) }, 'Close') : '');
  if (words) say(words);
}

sayWaiting(() => `${num(points(state.text))} character`);

connection.addEventListener('gone', () => notice('The server does not answer: it was stopped. Your text is still on this page. Start `toksmith play` again on the same port to continue.'));
connection.addEventListener('back', (event) => {
  const missing = meet(event.detail);
  notice(missing.length ? `The server is back, without ${missing.join(', ')}.` : null);
  say('the server is back');
  refresh();
});

connection.addEventListener('changed', (event) => { // another tab added or removed a tokenizer
  const missing = meet(event.detail);
  if (missing.length) notice(`Another tab removed ${missing.join(', ')}.`);
  refresh();
});

placeCard(card.element, besideRows);
prepareForPaper(box, rows);

startTheme();
startSharing({
  state, notice, params: () => app.params(),
  async link() {
    const { fragment, whole } = await toFragment(state);
    history.replaceState(place(), '', `#${fragment}`);
    return whole;
  },
});
if (hasServer) new Models(app);
else {
  $('models').textContent = 'Open a file …';
  $('models').addEventListener('click', () => $('open').click());
  $('open-folder').hidden = true;
  document.body.append(h('footer', { className: 'dim' }, `This page has no server: your browser computes all that it shows. ${LEFT_OUT.join(', ')} and exports as pictures need Python: `, h('code', {}, "pip install 'toksmith[play]'"), ' and ', h('code', {}, 'toksmith play'), '.'));
}

startKeys();

document.addEventListener('keydown', (event) => {
  const writing = /^(input|textarea|select)$/i.test(event.target.tagName);
  if (event.altKey && /^[1-9]$/.test(event.key) && VIEWS[event.key - 1]) {
    event.preventDefault();
    set({ tab: VIEWS[event.key - 1].name });
    tabs.focus();
  } else if (!writing && (event.key === ']' || event.key === '[')) {
    event.preventDefault();
    if (state.tab !== 'tokens') set({ tab: 'tokens' });
    nextDifference(event.key === '[');
  } else if (event.key === 'Escape' && !document.querySelector('dialog[open]')) box.focus();
});

// The server's tokenizers, and those that it could not load.
function meet(found) {
  page = found;
  const choices = page.tokenizers.map(({ name, entries, kind, added }) => h('span', { className: 'tokenizer', title: `${kind}, ${num(entries)} tokens` },
    h('label', {}, h('input', { type: 'checkbox', value: name, onchange: (event) => choose(name, event.target.checked) }), ' ', name),
    added && page.tokenizers.length > 1 ? h('button', { type: 'button', className: 'link', 'aria-label': `Remove ${name}`, onclick: () => remove(name) }, '×') : null));
  const failed = Object.entries(page.failed).map(([name, reason]) => h('p', { className: 'bad' }, h('strong', {}, name), ` could not be loaded: ${reason}`));
  $('tokenizers').replaceChildren($('tokenizers').firstElementChild, ...choices, $('models'), ...failed);
  const names = new Set(page.tokenizers.map((tok) => tok.name));
  const missing = state.toks.filter((name) => !names.has(name));
  const kept = state.toks.filter((name) => names.has(name)).slice(0, page.limits.tokenizers);
  state.toks = kept.length ? kept : page.tokenizers.slice(0, 1).map((tok) => tok.name);
  state.which = Math.min(state.which, state.toks.length - 1);
  return missing;
}

// A tokenizer that was opened or trained.
function addTokenizer({ name, about: found, said = `${name} is there until the server stops.` }) {
  meet(found);
  state.toks = [...state.toks.slice(0, page.limits.tokenizers - 1), name];
  choose(name, true);
  notice(said);
}

async function remove(name) {
  try {
    meet((await ask('closed', null, { name })).about);
    set({ selected: null });
    card.clear();
    say(`${name} is removed`);
  } catch (problem) {
    notice(problem.message);
  }
}

function choose(name, on) {
  const names = on ? [...state.toks, name] : state.toks.filter((other) => other !== name);
  const order = page.tokenizers.map((tok) => tok.name).filter((other) => names.includes(other));
  compared = null;
  compareBar.querySelector('.found').replaceChildren();
  set({ toks: order, which: 0, selected: null });
  card.clear();
}

const EXAMPLE = 'Egg. A countryman has a goose that lays a golden egg every day.\n계란. 한 시골 사람에게 매일 황금알을 낳는 거위 한 마리가 있다. 🥚\n\tfor x in range(12345): print("नमस्ते")  \n';
const SAMPLES = {
  Fable: EXAMPLE,
  Code: 'def lay(day: int) -> str:\n    """An egg a day."""\n    return "golden" if day % 7 else ""\n',
  Numbers: '1234567890 3.14159 2026-11-29 1,000,000 0xFF 12:30\n',
  Korean: '한 시골 사람에게 매일 황금알을 낳는 거위 한 마리가 있다.\n',
  Hindi: 'एक किसान के पास सोने का अंडा देने वाली हंस थी।\n',
  Arabic: 'كان لفلاح إوزة تبيض كل يوم بيضة من ذهب.\n',
  Emoji: '🥚 👩‍👩‍👧‍👦 🇰🇷 👍🏽 é e\u0301\n',
  'White space': 'a  b   c\t\td\n\n  e\u00a0f \n',
};
for (const name of Object.keys(SAMPLES)) $('samples').append(h('option', {}, name));
$('samples').addEventListener('change', (event) => {
  texts.replace(SAMPLES[event.target.value], 'replaced by a sample');
  event.target.value = '';
});

// The state of a link, as far as this page supports it.
async function follow(otherwise, found) {
  const { state: linked, problem } = await fromFragment(location.hash.slice(1));
  if (problem && !otherwise) return problem;
  Object.assign(state, structuredClone(initial), otherwise, linked);
  const lacks = views.has(state.tab) ? null : `The view “${state.tab}” of the link needs a server: toksmith play.`;
  if (lacks) state.tab = 'tokens';
  if (!['text', 'allow', 'raise'].includes(state.special)) state.special = 'text';
  const missing = meet(found);
  const { selected } = state;
  setText(state.text);
  set({ selected });
  return problem ?? (missing.length ? `The link asks for ${missing.join(', ')}, which this page does not have.` : lacks);
}

async function start() {
  const problem = await follow({ text: EXAMPLE }, await about());
  started = true;
  earlier = new Earlier({ replace: (text, said) => texts.replace(text, said), example: EXAMPLE });
  savedOnce = !problem; // a link that could not be read stays until the user changes the page
  if (problem) notice(problem);
}

// A history entry of this page has its view; an address that the user entered has none, and is followed.
let walked = false;
addEventListener('popstate', (event) => {
  walked = event.state !== null;
  if (!walked) return;
  Object.assign(state, event.state, { which: Math.min(event.state.which, state.toks.length - 1) });
  refresh();
});
addEventListener('hashchange', async () => {
  if (!walked) notice(await follow(null, page));
  walked = false;
});

start().catch((problem) => notice(`The page could not start: ${problem.message}`));
