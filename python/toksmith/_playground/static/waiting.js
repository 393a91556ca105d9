// What takes longer than a moment is said; what is seen meanwhile is of an earlier text, and dim.

import { cancel, connection } from './api.js';
import { $ } from './dom.js';

const MOMENT = 150; // milliseconds

// `current()` is what the counts say if they are those of this text.
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
