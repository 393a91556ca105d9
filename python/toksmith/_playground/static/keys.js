// The list of the page's keys, and the buttons that open and close a part of the page.

import { $, h } from './dom.js';

const KEYS = [
  ['Tab', 'from part to part'], ['← →', 'token by token'], ['↑ ↓', 'row by row'], ['Home, End', 'the row; with Ctrl the text'], ['Page up, Page down', 'a screen of rows'],
  ['Enter', 'the forest of the token'], ['] and [', 'next and previous difference'], ['Alt+1 … Alt+9', 'the first nine views'], ['Escape', 'back to the text'],
];

export function startKeys() {
  $('keys').append(h('dl', { className: 'keys' }, KEYS.map(([key, does]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, does)])));
  for (const button of document.querySelectorAll('button[aria-expanded]')) {
    const opened = $(button.getAttribute('aria-controls'));
    button.addEventListener('click', () => {
      opened.hidden = !opened.hidden;
      button.setAttribute('aria-expanded', String(!opened.hidden));
    });
  }
}
