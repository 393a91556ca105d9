// Light or dark: the system's setting, or the user's choice.

import { $ } from './dom.js';
import { readKept, keep } from './kept.js';

function show(name) {
  if (name) document.documentElement.dataset.theme = name;
  else delete document.documentElement.dataset.theme;
  $('theme').value = name;
}

export function startTheme() {
  const name = readKept('theme', '');
  show(['light', 'dark'].includes(name) ? name : '');
  $('theme').addEventListener('change', (event) => {
    show(event.target.value);
    keep('theme', event.target.value);
  });
}
