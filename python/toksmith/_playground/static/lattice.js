// The lattice of a unigram model: the tokens that can cover a piece, and how the path with the highest sum of scores is found.

import { h } from './dom.js';

const figure = (score) => score.toFixed(2).replace('-', '−');

// The choice at each place between two characters, from left to right; then the best path.
export function latticeStages({ arcs, sums, path }) {
  const last = { arcs: path.map((place) => arcs[place]), said: 'the best path' };
  return [...sums.keys()].slice(1).map((end) => {
    const into = arcs.filter((arc) => arc.end === end).map((arc) => ({ ...arc, sum: sums[arc.start] + arc.score }));
    return { end, arcs: into, chosen: into.reduce((best, arc) => (arc.sum > best.sum ? arc : best)), said: `place ${end} of ${sums.length - 1}` };
  }).concat(last);
}

export function latticeWords({ sums }, stage, look) {
  const shown = (arc) => look(arc.shown);
  if (!stage.chosen) return `${stage.said}: ${stage.arcs.map(shown).join(', ')}, sum ${figure(sums.at(-1))}`;
  return `${stage.said}: ${shown(stage.chosen)} ends the best way to here, of ${stage.arcs.length}; its sum is ${figure(sums[stage.end])}`;
}

export function drawLattice({ piece, arcs, sums, path }, stage) {
  const here = (arc) => stage.arcs.some((each) => each.start === arc.start && each.end === arc.end);
  const best = (arc) => arc.start === stage.chosen?.start && arc.end === stage.chosen?.end;
  const column = (from, to) => ({ gridColumn: `${from + 1} / ${to + 1}` });
  const symbols = arcs.map((arc, place) => {
    const looks = !stage.chosen || best(arc) ? 'chosen' : here(arc) ? '' : 'far';
    return h('span', { className: `symbol c${place % 5} ${stage.chosen || path.includes(place) ? looks : 'far'}`, style: column(arc.start, arc.end), title: arc.id === null ? 'no token has this character' : `id ${arc.id}` },
      h('bdi', { className: 'mono' }, arc.shown), h('small', {}, figure(arc.score)));
  });
  const heads = sums.slice(1).map((sum, place) => h('span', { className: `place${stage.end === place + 1 ? ' chosen' : ''}`, style: { ...column(place, place + 1), gridRow: 1 } },
    h('bdi', { className: 'mono' }, [...piece.text][place]), h('small', {}, !stage.end || place < stage.end ? figure(sum) : '')));
  const ways = stage.chosen && h('p', { className: 'dim' }, stage.arcs.map((arc) => `${arc.shown}: ${figure(sums[arc.start])} ${arc.score < 0 ? '−' : '+'} ${figure(Math.abs(arc.score))} = ${figure(arc.sum)}`).join('; '));
  return [h('div', { className: 'scroll', tabIndex: 0, role: 'region', 'aria-label': 'The lattice' }, h('div', { className: 'lattice', style: { gridTemplateColumns: `repeat(${sums.length - 1}, minmax(2.75rem, max-content))` } }, heads, symbols)),
    ways, h('p', { className: 'dim' }, 'Each token covers the characters above it, and the number below it is its score. The first row has the highest sum up to each character; the path with the highest sum at the end becomes the tokens.')].filter(Boolean);
}
