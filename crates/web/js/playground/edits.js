// The tokens and the rows of an edited text, by those of the text before: only the neighbourhood of the edit is made again.
//
// The result is that of a new text.

import { textOf } from "./drawing.js";
import { hasRightToLeft, lowerBound, updateStarts } from "./rows.js";

const LONG = 20_000; // bytes; shorter texts are new

const isInside = (byte) => (byte & 0xc0) === 0x80; // a character

/** The characters that an edit of UTF-8 changed: from `at` to `until` of the bytes now, whose end moved by `by`. */
function changeOf(before, now) {
  const by = now.length - before.length;
  let [at, until] = [0, now.length];
  while (at < until && at < before.length && before[at] === now[at]) at++;
  while (until > Math.max(at, at + by) && before[until - by - 1] === now[until - 1]) until--;
  while (at > 0 && isInside(now[at])) at--;
  while (isInside(now[until])) until++;
  return { at, until, by };
}

/** The number of characters of a text, and whether it has right-to-left letters. */
export function factsOf(kept) {
  const { data, before } = kept;
  const chars = (bytes) => bytes.reduce((count, byte) => count + Number(!isInside(byte)), 0);
  const whole = () => ({ chars: chars(data), right_to_left: hasRightToLeft(textOf(data)) });
  const update = (old) => {
    const { at, until, by } = (kept.change ??= changeOf(before.data, data));
    const [part, gone] = [data.subarray(at, until), before.data.subarray(at, until - by)];
    return { chars: old.chars + chars(part) - chars(gone), right_to_left: hasRightToLeft(textOf(old.right_to_left ? data : part)) };
  };
  return (kept.facts ??= before?.facts && data.length >= LONG ? update(before.facts) : whole());
}

/** The tokens of an edited text; `changed` is the part with other tokens than before. Undefined if only a new encoding has them. */
export function updateCut(tok, kept, key, look, special) {
  const { data, before } = kept;
  const old = before?.cuts.get(key);
  if (old?.look !== look || data.length < LONG) return undefined;
  const { at, until, by } = (kept.change ??= changeOf(before.data, data));
  let changed;
  try {
    changed = tok.encodeAround(data, at, until, { special });
  } catch {
    return undefined; // a new encoding names the place in the whole text
  }
  const { start, end, ids, ends } = changed;
  const first = start ? lowerBound(old.ends, start, true) : 0;
  const last = end < data.length ? lowerBound(old.ends, end - by, true) : old.ends.length;
  return { ids: spliceNumbers(old.ids, first, last, ids), ends: spliceNumbers(old.ends, first, last, ends, by), changed: { start, end } };
}

/** The starts of the rows of an edited text, or undefined. */
export function updateLayout({ data, before, change }, key, frame) {
  const changed = frame.cuts.map((cut) => cut.changed);
  if (before?.laid?.key !== key || !changed.every(Boolean)) return undefined;
  const at = Math.min(change.at, ...changed.map(({ start }) => start));
  const until = Math.max(change.until, ...changed.map(({ end }) => end));
  return updateStarts(before.laid.starts, data, frame, at, until);
}

/** Numbers with others in the place of `first` to `last`, and `by` added to the later ones. */
function spliceNumbers(numbers, first, last, others, by = 0) {
  const result = new Uint32Array(first + others.length + numbers.length - last);
  result.set(numbers.subarray(0, first));
  result.set(others, first);
  const rest = result.subarray(first + others.length);
  rest.set(numbers.subarray(last));
  if (by) for (let at = 0; at < rest.length; at++) rest[at] += by;
  return result;
}
