// Elements, numbers and words for all views. Text becomes text nodes only, never markup.

export function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (name === 'style') Object.assign(made.style, value); // set by script, which the policy allows
    else if (name in made && !name.includes('-') && !['list', 'role', 'width', 'height'].includes(name)) made[name] = value;
    else made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export const $ = (id) => document.getElementById(id);

// Intl.NumberFormat would take a tenth of the time until the first token.
export const num = (value) => String(Math.round(value * 1000) / 1000).replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, ',');
export const count = (value, unit) => `${num(value)} ${unit}${value === 1 ? '' : 's'}`;

let saidLast = 0;
let live = $('live');
export function sayIn(element) {
  live = element;
}

export function say(words) {
  // A screen reader reads the same words again only if they differ, so a repetition gets a mark.
  saidLast = 1 - saidLast;
  live.textContent = words + (saidLast ? '\u200b' : '');
}

// An element that scrolls content wider than its place, also by keys.
function makeScrolled(label, inner) {
  const place = h('div', { className: 'scroll' }, inner);
  new ResizeObserver(() => {
    if (place.scrollWidth <= place.clientWidth || place.tabIndex === 0) return;
    place.tabIndex = 0;
    place.setAttribute('role', 'region');
    place.setAttribute('aria-label', label);
  }).observe(place);
  return place;
}

export function table(heads, rows, caption) {
  return makeScrolled(caption ?? heads.filter(Boolean).join(', '), h('table', {},
    caption ? h('caption', {}, caption) : null,
    h('thead', {}, h('tr', {}, heads.map((head) => (head === '' ? h('td') : h('th', { scope: 'col' }, head))))),
    h('tbody', {}, rows.map((row) => h('tr', {}, row.map((cell) => {
      const figure = typeof cell === 'number';
      return h('td', { className: figure ? 'figure' : '' }, figure ? num(cell) : cell);
    }))))));
}

export const hexBytes = (hex) => (hex.match(/../g) ?? []).join(' ').toUpperCase();

// A token in words, for screen readers: white space, bytes and escapes are spelled out.
export function speak(shown) {
  const said = shown.replaceAll('·', ' space ').replaceAll('↵', ' new line ').replaceAll('→', ' tab ')
    .replaceAll(/<([0-9A-F]{2})>/g, ' byte $1 ').replaceAll(/\\(?:x|u|U000)([0-9a-f]+)/g, ' character U+$1 ');
  return said.replaceAll(/ +/g, ' ').trim() || 'nothing';
}

// One token: its drawn text in the colour of its place. With `onclick` it is a button.
export function tokenTag(token, place, { onclick = null, title = `${token.id ?? 'no token'}: ${hexBytes(token.hex ?? '')}`, looks = '' } = {}) {
  const attributes = { className: `t c${token.colour ?? place % 5} ${token.special ? 'special ' : ''}${looks}`.trim(), title, 'data-hex': token.hex, 'data-id': token.id };
  const shown = token.shown || '⌀';
  if (!onclick) return h('bdi', attributes, shown);
  return h('button', { ...attributes, type: 'button', onclick: () => onclick(token, place), 'aria-label': `${speak(token.shown)}, id ${token.id}` }, h('bdi', {}, shown));
}

// Tokens in a line, each with the drawn text from the server.
export function chips(tokens, { onclick = null, label = 'tokens', title = null } = {}) {
  return h('p', { className: 'chips', 'aria-label': label, role: 'group' }, tokens.map((token, place) => [tokenTag(token, place, { onclick, ...(title && { title: title(token) }) }), h('wbr')]));
}

export function bar(part, className = '') {
  return h('div', { className: `bar ${className}` }, h('div', { style: { width: `${Math.max(0, Math.min(100, part * 100))}%` } }));
}

export function save(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = h('a', { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// Saves a file whose bytes are in base64.
export function saveBytes(name, data) {
  save(name, 'application/octet-stream', Uint8Array.from(atob(data), (char) => char.charCodeAt(0)));
}

export async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(`${what} copied`);
    return true;
  } catch {
    say(`the browser did not allow copying ${what}`);
    return false;
  }
}

export const calm = () => matchMedia('(prefers-reduced-motion: reduce)').matches;
