// Sharing: a link, a frame for another page of this machine, and one file that needs no server.

import { ask, exportAnswer, hasServer } from './api.js';
import { $, copy, h, save, say } from './dom.js';

export const isEmbedded = new URLSearchParams(location.search).get('embed') === '1';
if (isEmbedded) document.documentElement.classList.add('embed');

const TYPES = { svg: 'image/svg+xml', html: 'text/html', json: 'application/json' };

// Saves the result of a view; `question` is its request, or null, or a promise of either.
export async function exportView(tab, question, format, notice) {
  const asked = await question;
  if (!asked) return;
  const [view, text, values] = asked;
  try {
    save(`toksmith-${tab}.${format}`, TYPES[format], await exportAnswer(view, format, text, values));
    say(`exported as ${format}`);
  } catch (problem) {
    say(problem.message);
    notice(problem.message);
  }
}

const escapeHtml = (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

// `page` has `state`, `params()`, `notice(words)` and `link()`, which puts the state into the address and returns whether all of it fits.
export function startSharing(page) {
  const linked = async (url, what) => {
    const whole = await page.link();
    await copy(url(), what);
    if (!whole) page.notice('The text is too long for a link: the link contains everything except the text. Save one file instead.');
  };
  $('share').addEventListener('click', () => linked(() => location.href, 'the link'));
  $('frame').addEventListener('click', () => linked(() => `<iframe src="${escapeHtml(String(new URL(`?embed=1${location.hash}`, location)))}" width="100%" height="640" title="toksmith playground"></iframe>`, 'the frame'));
  $('one-file').hidden = !hasServer;
  $('one-file').addEventListener('click', async () => {
    try {
      const { html } = await ask('saved', page.state.text, page.params());
      save('toksmith-snapshot.html', 'text/html', html);
      say('saved as one file');
    } catch (problem) {
      page.notice(problem.message);
    }
  });
  if (isEmbedded) document.querySelector('.asked').append(h('p', { className: 'embed-link' }, h('a', { href: location.pathname, target: '_blank', onclick: (event) => { event.target.href = `${location.pathname}${location.hash}`; } }, 'Open in the playground')));
}
