// The place of the card, and the page for a printer; the rest of the layout is in style.css.

import { $ } from './dom.js';

const WIDE = matchMedia('(min-width: 75rem), (min-width: 40rem) and (max-height: 34rem)'); // as in style.css
export const sheet = matchMedia('(max-width: 39.9rem)'); // the card is a sheet at the bottom

// The card is below the text if the text is next to the tokens, else next to the tokens.
export function placeCard(card, beside) {
  const place = () => (WIDE.matches ? $('beside') : beside).append(card);
  WIDE.addEventListener('change', place);
  place();
}

// On paper: all text of the box, and every row of the window.
export function prepareForPaper(box, rows) {
  addEventListener('beforeprint', () => {
    $('printed').textContent = box.value;
    rows.print(true);
  });
  addEventListener('afterprint', () => {
    $('printed').textContent = '';
    rows.print(false);
  });
}
