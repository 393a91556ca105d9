// Copying tokens gives their text, not the marks of the drawing.

const utf8 = new TextEncoder();
const lenient = new TextDecoder();

// The text between two bytes, widened to whole characters.
export function textBetween(text, start, end) {
  const bytes = utf8.encode(text);
  const inside = (at) => at > 0 && at < bytes.length && (bytes[at] & 0xc0) === 0x80;
  let from = start;
  let to = end;
  while (inside(from)) from -= 1;
  while (inside(to)) to += 1;
  return lenient.decode(bytes.subarray(from, to));
}

const fromHex = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));

// The selected tokens in the rows: [which tokenizer, first place, last place], or null.
function selectedPlaces(selection, rows) {
  const drawn = [...rows.querySelectorAll('.t[data-w]')].filter((each) => selection.containsNode(each, true));
  if (!drawn.length) return null;
  const { w } = drawn[0].dataset;
  const places = drawn.filter((each) => each.dataset.w === w).map((each) => Number(each.dataset.i));
  return [Number(w), Math.min(...places), Math.max(...places)];
}

// `rows` are the rows of tokens, `text()` is their text, `findChosen()` the token with the focus, or null.
export function copyTexts(rows, text, findChosen) {
  document.addEventListener('copy', (event) => {
    if (/^(input|textarea)$/i.test(document.activeElement?.tagName ?? '')) return;
    const selection = getSelection();
    let copied = null;
    if (selection.isCollapsed) {
      const token = rows.element.contains(document.activeElement) ? findChosen() : null;
      if (token) copied = textBetween(text(), token.start, token.end);
    } else if (selection.containsNode(rows.element, true) && rows.element.isConnected) {
      const places = selectedPlaces(selection, rows.element);
      const [first, last] = places ? [rows.token(places[0], places[1]), rows.token(places[0], places[2])] : [];
      if (first && last) copied = textBetween(text(), first.start, last.end);
    } else {
      const hex = [...document.querySelectorAll('.t[data-hex]')].filter((each) => selection.containsNode(each, true)).map((each) => each.dataset.hex);
      const within = selection.getRangeAt(0).commonAncestorContainer;
      const chips = (within.nodeType === Node.ELEMENT_NODE ? within : within.parentElement)?.closest('.chips');
      if (chips && hex.length) copied = lenient.decode(fromHex(hex.join('')));
    }
    if (copied === null) return;
    event.preventDefault();
    event.clipboardData.setData('text/plain', copied);
  });
}
