// The data of a snapshot, in place of the server: its answers have the form of the server's.

export const root = document.currentScript.closest('.toksmith-snapshot');
export const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);

const KIND_NAMES = ['whole', 'starts inside', 'ends inside', 'inside', 'byte', 'special'];
const named = new Map(data.tokenizers.map((own) => [own.name, own]));
const key = (left, right) => `${JSON.stringify(left)} ${JSON.stringify(right)}`;

const MARKS = { '·': ' ', '→': '\t', '↵': '\n' };

export function hexOf(text) {
  return Array.from(new TextEncoder().encode(text), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

// A token of the table; null if the snapshot does not have it.
export function lookUp(own, id) {
  const row = own.table[id];
  if (!row) return null;
  const [shown, hex, kind, rank = null, left = null, right = null, uses = 0, derivable = 1] = row;
  return { id: Number(id), shown, hex: hex || hexOf(shown.replaceAll(/[·→↵]/g, (mark) => MARKS[mark])), kind: KIND_NAMES[kind], rank: rank === -1 ? Number(id) : rank, left, right, uses, derivable: derivable === 1 };
}

// A symbol is an id, or its drawn text and its bytes if no token has these.
function symbol(own, found) {
  if (typeof found !== 'number') return { id: null, shown: found[0], hex: found[1] };
  const { id, shown, hex } = lookUp(own, found);
  return { id, shown, hex };
}

function tree(own, id) {
  if (!own.merges) throw new Error(own.unmerged);
  const { shown, hex, kind, rank, left, right, uses, derivable } = lookUp(own, id);
  const top = { id, shown, hex, rank, left: left === null ? null : 0, right: right === null ? null : 1 };
  const nodes = left === null ? [top] : [symbol(own, left), symbol(own, right), top];
  const special = kind === 'special';
  return { id, shown, hex, kind, special, nodes, roots: derivable && !special ? [nodes.length - 1] : [], is_derivable: derivable, is_leaf: uses === 0, children: [], children_total: uses };
}

// Replays the merges that were chosen when the snapshot was made; a place is that of the left symbol.
function merges(own, piece) {
  const { shown, hex, cut, whole, ids, first, places } = own.merges.pieces[piece];
  const pairs = new Map(own.merges.pairs.map(([left, right, rank, id]) => [key(left, right), { rank, id }]));
  let symbols = first;
  const steps = places.map((at) => {
    const candidates = symbols.slice(1).flatMap((right, place) => {
      const found = pairs.get(key(symbols[place], right));
      return found ? [{ place, ...found }] : [];
    });
    const step = { symbols: symbols.map((each) => symbol(own, each)), candidates, chosen: candidates.find(({ place }) => place === at) };
    symbols = [...symbols.slice(0, at), step.chosen.id, ...symbols.slice(at + 2)];
    return step;
  });
  return { piece: { shown, hex }, cut, whole_id: whole, ids, steps, merged: symbols.map((each) => symbol(own, each)) };
}

export async function ask(view, _, { tokenizers, id, piece, query }) {
  const own = named.get(tokenizers[0]);
  if (view === 'merges') return merges(own, piece);
  if (view === 'tree') return tree(own, id);
  return { found: [lookUp(own, Number(query))] };
}
