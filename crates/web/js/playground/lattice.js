// The lattice of a piece in a unigram model, as the local server gives it.

import { refuse, spelt } from "./model.js";

const MOST_CHARACTERS = 40;
const encoder = new TextEncoder();

export function lattice({ tok, model }, name, piece) {
  const chars = [...tok.normalize(piece)];
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
