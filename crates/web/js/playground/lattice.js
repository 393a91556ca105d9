// The lattice of a piece in a unigram model, as the local server gives it.

import { refuse, spelt } from "./model.js";

const MOST_CHARACTERS = 40;
const BYTE = /^<0x[0-9A-F]{2}>$/;
const SPACES = /^[ \t\n\r\f\v]+|[ \t\n\r\f\v]+$/g; // removed ones belong to a neighbour
const encoder = new TextEncoder();

/** The piece as the model sees it: the tokens that it becomes, and the source of those that stand for unknown characters. */
function normalizePiece({ tok, model }, piece) {
  const { ids, starts, ends } = tok.encodeWithOffsets(piece, { special: "text" });
  const [decoder, parts] = [new TextDecoder(), []];
  const removed = model.header.normalizers.some((step) => step.remove_extra) ? SPACES : "";
  let done = 0;
  ids.forEach((id, at) => {
    const token = model.byId.has(id) ? decoder.decode(model.byId.get(id)) : null;
    if (token !== null && id !== model.header.unknown_id && !(model.header.byte_fallback && BYTE.test(token))) parts.push(token);
    else if (ends[at] > done) {
      parts.push(piece.slice(Math.max(starts[at], done), ends[at]).replace(removed, ""));
      done = ends[at];
    }
  });
  return [...parts.join("")];
}

export function lattice(own, name, piece) {
  const { model } = own;
  const chars = normalizePiece(own, piece);
  if (chars.length > MOST_CHARACTERS) refuse("InvalidOption", `piece: expected at most ${MOST_CHARACTERS} characters, such as one word, not ${chars.length} characters`);
  const single = model.header.score_type === "float64" ? Number : Math.fround;
  const unused = new Set(model.header.unused_ids ?? []);
  const scoreOf = new Map(model.ids.map((id, place) => [id, model.scores[place]]));
  const unknown = single(model.scores.reduce((one, other) => Math.min(one, other)) - 10);
  const [sums, from, arcs] = [[0], [null], []];
  for (let end = 1; end <= chars.length; end++) {
    for (let start = 0; start < end; start++) {
      const bytes = encoder.encode(chars.slice(start, end).join(""));
      const found = model.id(bytes);
      const id = found === null || unused.has(found) ? null : found;
      if (id === null && start < end - 1) continue;
      const score = id === null ? unknown : scoreOf.get(id);
      const sum = single(sums[start] + score);
      if (sums[end] === undefined || sum > sums[end]) [sums[end], from[end]] = [sum, arcs.length];
      arcs.push({ start, end, id, ...spelt(bytes), score });
    }
  }
  const path = [];
  for (let end = chars.length; end > 0; end = arcs[path[0]].start) path.unshift(from[end]);
  return { tokenizer: name, piece: spelt(encoder.encode(chars.join(""))), arcs, sums, path };
}
