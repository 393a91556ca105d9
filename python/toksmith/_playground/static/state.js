// The state of the page, and its place in the URL fragment, which no browser sends to a server.
// `1.` and the state as JSON, deflated, in base64url. JSON escapes lone surrogates, so that they come back as they were.

export const FORMAT = 1;
export const MOST_LINK = 30_000; // characters: programs that send links cut longer ones

export const initial = { text: '', toks: [], which: 0, special: 'text', tab: 'tokens', selected: null, piece: null, id: null, step: 0 };

// The known parts of the state, with their types; the rest of a link is ignored.
// `text` is a string that a link leaves out if it would be too long.
const KINDS = {
  text: 'text', toks: 'names', which: 'number', special: 'string', tab: 'string', selected: 'number', piece: 'string', id: 'number', step: 'number',
};

// The parts of the state that Back and Forward walk through.
export const WALKED = ['tab', 'which', 'id', 'piece', 'step'];

// Adds the parts of a view: name: [kind, first value, whether Back and Forward walk through it].
export function declare(parts) {
  for (const [name, [kind, first, walked = false]] of Object.entries(parts)) {
    KINDS[name] = kind;
    initial[name] = first;
    if (walked) WALKED.push(name);
  }
}

function fits(kind, value) {
  if (kind === 'names') return Array.isArray(value) && value.every((name) => typeof name === 'string');
  if (kind === 'number') return Number.isSafeInteger(value) && value >= 0;
  return typeof value === (kind === 'text' ? 'string' : kind);
}

async function pipe(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

const changesOf = (state) => Object.fromEntries(Object.entries(state).filter(([name, value]) => name in KINDS && value !== initial[name] && value !== null));
const keepKnown = (read) => Object.fromEntries(Object.entries(read).filter(([name, value]) => name in KINDS && fits(KINDS[name], value)));

// Stores a state that the address does not have yet, for this tab's next page with the same address.
const LEFT = 'toksmith-left';
export function leave(state) {
  try {
    sessionStorage.setItem(LEFT, JSON.stringify({ hash: location.hash, state: changesOf(state) }));
  } catch { /* no storage, or the text is too long for it */ }
}

function takeLeft() {
  try {
    const { hash, state } = JSON.parse(sessionStorage.getItem(LEFT));
    sessionStorage.removeItem(LEFT);
    return hash === location.hash ? keepKnown(state) : null;
  } catch {
    return null;
  }
}

export async function toFragment(state) {
  const kept = changesOf(state);
  const write = async (value) => {
    const deflated = await pipe(new CompressionStream('deflate-raw'), new TextEncoder().encode(JSON.stringify(value)));
    let binary = '';
    for (let at = 0; at < deflated.length; at += 8192) binary += String.fromCharCode(...deflated.subarray(at, at + 8192));
    return `${FORMAT}.${btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')}`;
  };
  if (Object.values(kept).every((value) => typeof value !== 'string' || value.length <= 20 * MOST_LINK)) {
    const whole = await write(kept);
    if (whole.length <= MOST_LINK) return { fragment: whole, whole: true };
  }
  for (const name of Object.keys(kept)) if (KINDS[name] === 'text') delete kept[name];
  return { fragment: await write(kept), whole: false };
}

export async function fromFragment(fragment) {
  const left = takeLeft();
  if (left) return { state: left, problem: null };
  if (!fragment) return { state: {}, problem: null };
  const [version, body] = fragment.split('.', 2);
  if (/^[0-9]+$/.test(version) && Number(version) > FORMAT) {
    return { state: {}, problem: `A newer version made this link (format ${version}; this page reads ${FORMAT}); it is ignored.` };
  }
  try {
    if (Number(version) !== FORMAT) throw new Error('no format');
    const deflated = Uint8Array.from(atob(body.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0));
    const read = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(await pipe(new DecompressionStream('deflate-raw'), deflated)));
    return { state: keepKnown(read), problem: null };
  } catch {
    return { state: {}, problem: 'The link is damaged: the part after # cannot be read.' };
  }
}
