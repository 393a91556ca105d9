// The looks of tokens, as the Python package draws them: marks for white space, escapes, and bytes that are no character.

const MARKS = { " ": "·", "\t": "→", "\n": "↵\n" };
const UNPRINTABLE = /[\p{C}\p{Z}]/u;
const INVISIBLE = /[\u034f\u115f\u1160\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/u;
const COMBINING = /^\p{M}/u;
const SHORT = { "\t": "\\t", "\n": "\\n", "\r": "\\r" };

export const hexOf = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The length of the character of UTF-8 at a place; 0 if there is none. */
export function characterSize(data, at) {
  const lead = data[at];
  if (lead < 0x80) return 1;
  const size = lead >= 0xc2 && lead < 0xe0 ? 2 : lead >= 0xe0 && lead < 0xf0 ? 3 : lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
  if (size === 0 || at + size > data.length) return 0;
  const least = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const most = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (data[at + 1] < least || data[at + 1] > most) return 0;
  for (let next = 2; next < size; next++) if ((data[at + next] & 0xc0) !== 0x80) return 0;
  return size;
}

const DECODER = new TextDecoder("utf-8", { ignoreBOM: true });
export const textOf = (bytes) => DECODER.decode(bytes);

/** The characters of bytes with their sizes; a byte outside of characters has none. */
function* charactersOf(data) {
  for (let at = 0; at < data.length; ) {
    const size = characterSize(data, at);
    yield size ? [textOf(data.subarray(at, at + size)), size, 0] : [null, 1, data[at]];
    at += size || 1;
  }
}

/** Whether a token is whole characters by itself, and not empty. */
export function isWhole(token) {
  for (let at = 0; at < token.length; ) {
    const size = characterSize(token, at);
    if (size === 0) return false;
    at += size;
  }
  return token.length > 0;
}

/** A character as a Python escape. */
export function escapeCharacter(char) {
  const point = char.codePointAt(0);
  const digits = (size) => point.toString(16).padStart(size, "0");
  return SHORT[char] ?? (point < 0x100 ? `\\x${digits(2)}` : point < 0x10000 ? `\\u${digits(4)}` : `\\U${digits(8)}`);
}

/** A text with unprintable characters escaped, except newlines. */
export const plain = (text) => Array.from(text, (char) => (char !== "\n" && char !== " " && UNPRINTABLE.test(char) ? escapeCharacter(char) : char)).join("");

/** The drawing of a character after other parts of its token. */
function characterPart(char, before) {
  if (char in MARKS) return { text: MARKS[char], kind: "mark" };
  if (UNPRINTABLE.test(char) || INVISIBLE.test(char)) return { text: escapeCharacter(char), kind: "mark" };
  return { text: COMBINING.test(char) && before.at(-1)?.kind !== "text" ? `◌${char}` : char, kind: "text" };
}

const bytePart = (byte) => ({ text: `<${hexOf([byte]).toUpperCase()}>`, kind: "bytes" });

function append(parts, part) {
  const last = parts.at(-1);
  if (last?.kind === part.kind) last.text += part.text;
  else parts.push(part);
}

function partsOf(token) {
  const parts = [];
  for (const [char, , byte] of charactersOf(token)) append(parts, char === null ? bytePart(byte) : characterPart(char, parts));
  return parts;
}

/** One token on one line. */
export const tokenText = (token) => partsOf(token).map(({ text }) => text).join("").replaceAll("\n", "");

/**
 * The tokens of a text in clusters, which share no characters: runs `{place, parts}` of a token, and characters
 * `{part, shares}` with the place and the bytes of each token that has a part of it.
 */
export function clusters(tokens) {
  const result = [];
  let cut = [];
  tokens.forEach((token, place) => {
    if (!isWhole(token)) return cut.push(place);
    result.push(...cutClusters(tokens, cut), [{ place, parts: partsOf(token) }]);
    cut = [];
  });
  return [...result, ...cutClusters(tokens, cut)];
}

function cutClusters(tokens, places) {
  const result = [];
  let [next, place, room] = [0, -1, 0];
  const data = new Uint8Array(places.flatMap((each) => [...tokens[each]]));
  const runOf = () => {
    const last = result.at(-1).at(-1);
    if (last?.parts !== undefined && last.place === place) return last.parts;
    result.at(-1).push({ place, parts: [] });
    return result.at(-1).at(-1).parts;
  };
  for (const [char, size, byte] of charactersOf(data)) {
    const shares = [];
    for (let rest = size; rest > 0; ) {
      while (room === 0) {
        place = places[next++];
        room = tokens[place].length;
        if (!shares.length) result.push([{ place, parts: [] }]);
        else if (room === 0) result.at(-1).push({ place, parts: [] });
      }
      const count = Math.min(rest, room);
      shares.push([place, count]);
      rest -= count;
      room -= count;
    }
    if (shares.length > 1) {
      const cluster = result.pop().filter((each) => each.place !== shares[0][0] || each.parts.length);
      result.push([...cluster, { part: characterPart(char, []), shares }]);
    } else {
      const parts = runOf();
      append(parts, char === null ? bytePart(byte) : characterPart(char, parts));
    }
  }
  for (; next < places.length; next++) result.push([{ place: places[next], parts: [] }]);
  return result;
}
