// Reports a request that takes longer than a moment; the page meanwhile shows an earlier text, dimmed.

import { cancel, connection } from './api.js';
import { $ } from './dom.js';

const MOMENT = 150; // milliseconds

// `current()` returns the counts if they are those of this text.
export function sayWaiting(current) {
  let waiting = null;
  connection.addEventListener('busy', () => {
    waiting ??= setTimeout(() => {
      document.body.classList.add('busy');
      $('counts').classList.toggle('stale', !$('counts').textContent.includes(current()));
      $('busy').hidden = false;
    }, MOMENT);
  });
  connection.addEventListener('idle', () => {
    clearTimeout(waiting);
    waiting = null;
    document.body.classList.remove('busy');
    $('counts').classList.remove('stale');
    $('busy').hidden = true;
  });
  $('cancel').addEventListener('click', cancel);
}
