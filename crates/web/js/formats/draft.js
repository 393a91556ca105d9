// The draft of a native file, which the engine spells and signs.

const HEX = (byte) => `\\x${byte.toString(16).padStart(2, "0")}`;

/** The draft of a model: fields by name, tokens as [id, text or bytes], merges as three ids each. */
export function draftOf({ fields, tokens, merges = [], scores, metadata }) {
  const header = {
    added_tokens: [], byte_fallback: false, decoders: [], kind: "bpe", merge_rule: "pair", normalizers: [], post: [],
    splitters: [], unit: "byte", unknown_id: null, whole_piece: false, ...fields,
  };
  const endless = scores?.some((score) => !Number.isFinite(score));
  const version = endless || header.unused_ids ? 2 : 1;
  const lines = [`toksmith ${version}`, `model ${JSON.stringify(header)}`, `tokens ${tokens.length}`];
  for (const [id, token] of tokens) lines.push(`${id} ${escapeToken(token)}`);
  lines.push(`merges ${merges.length}`);
  for (const merge of merges) lines.push(merge.join(" "));
  if (scores !== undefined) {
    lines.push(`scores ${scores.length}`);
    for (const score of scores) lines.push(spelt(score));
  }
  if (metadata !== undefined) lines.push(`metadata ${JSON.stringify(metadata).replace('":"', '": "')}`);
  return new TextEncoder().encode(`${lines.join("\n")}\n`);
}

function escapeToken(token) {
  if (typeof token === "string") return token.replace(/[\0- \x7f\\]/g, (char) => HEX(char.charCodeAt(0)));
  return Array.from(token, (byte) => (byte > 0x20 && byte < 0x7f && byte !== 0x5c ? String.fromCharCode(byte) : HEX(byte))).join("");
}

/** A score as Python spells a float. */
function spelt(score) {
  const size = Math.abs(score);
  if (size === Infinity) return score > 0 ? "inf" : "-inf";
  if (Object.is(score, -0)) return "-0.0";
  if (size !== 0 && (size < 1e-4 || size >= 1e16)) return score.toExponential().replace(/([+-])(\d)$/, "$10$2");
  return Number.isInteger(score) ? score.toFixed(1) : String(score);
}

/** The error of a file, with its place. */
export function refuse(place, problem) {
  throw Object.assign(new Error(place ? `${place}: ${problem}` : problem), { name: "FormatError" });
}
