// SentencePiece's `.model`: pieces with scores and types, a normalizer and a decoder.

import { draftOf, refuse } from "./draft.js";

const [UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE] = [2, 3, 4, 5, 6];
const [UNIGRAM, CHARACTERS] = [1, 4];
const KINDS = { 1: "unigram", 2: "bpe", 3: "words", 4: "bpe" };
const BYTE_PIECE = /^<0x[0-9A-F]{2}>$/;
// Wire types, and the tag of a field: its number and its wire type.
const [NUMBER, BYTES, FLOAT] = [0, 2, 5];
const tag = (number, wire) => number * 8 + wire;
const PIECE = { content: [tag(1, BYTES), undefined], score: [tag(2, FLOAT), undefined], type: [tag(3, NUMBER), 1] };
const TRAINER = {
  modelType: [tag(3, NUMBER), 1], suffix: [tag(24, NUMBER), 0], byteFallback: [tag(35, NUMBER), 0], surface: [tag(44, BYTES), undefined],
};
const REWRITING = {
  name: [tag(1, BYTES), undefined], charsmap: [tag(2, BYTES), new Uint8Array()],
  dummy: [tag(3, NUMBER), 1], removeExtra: [tag(4, NUMBER), 1], escape: [tag(5, NUMBER), 1],
};

/** The draft of a model file. */
export function readSentencePiece(data) {
  const parts = [1, 2, 3, 5].map((number) => [tag(number, BYTES), []]);
  const byTag = new Map(parts);
  for (const [tagged, value] of fieldsOf(data)) byTag.get(tagged)?.push(value);
  const [pieces, trainers, normalizers, denormalizers] = parts.map(([, messages]) => messages);
  const [trainer, normalizer, denormalizer] = [message(TRAINER, trainers), message(REWRITING, normalizers), message(REWRITING, denormalizers)];
  const kind = KINDS[trainer.modelType] ?? refuse("trainer_spec.model_type", `is of the unknown type ${trainer.modelType}; expected 1 to 4`);
  const [tokens, scores, added, unused] = [[], [], [], []];
  const unknown = sortPieces(pieces.map(readPiece), trainer, { tokens, scores, added, unused });
  const strip = normalizer.removeExtra ? "each" : normalizer.dummy ? "once" : "nothing";
  const surface = trainer.surface === undefined ? " \u2047 " : text(trainer.surface, "trainer_spec.unk_surface");
  const decoders = [{ kind: "sentencepiece", strip, unknown: surface }];
  if (denormalizer.charsmap.length) decoders.push(rewriting("denormalizer", denormalizer, false));
  const name = normalizer.name && text(normalizer.name, "normalizer_spec.name");
  const fields = {
    added_tokens: added, byte_fallback: Boolean(trainer.byteFallback), decoders, kind, merge_rule: kind === "bpe" ? "bytes" : "pair",
    normalizers: [rewriting("sentencepiece", normalizer, trainer.suffix)], unit: "char", unknown_id: unknown,
    ...(unused.length ? { unused_ids: unused } : {}),
  };
  return draftOf({ fields, tokens, scores, metadata: name ? { normalizer: name } : undefined });
}

/** Sorts the pieces into the parts of the model; returns the unknown id. */
function sortPieces(pieces, { modelType, byteFallback }, { tokens, scores, added, unused }) {
  const [seen, counts] = [new Map(), new Array(BYTE + 1).fill(0)];
  let unknown = null;
  const flags = { lstrip: false, rstrip: false, single_word: false };
  pieces.forEach(({ content, score, type }, id) => {
    const fail = (problem) => refuse(`piece ${id}`, problem);
    const shown = JSON.stringify(content);
    if (content === "") fail("is empty");
    if (seen.has(content)) fail(`${shown} occurs twice; piece ${seen.get(content)} is the same`);
    if (!(type >= 1 && type <= BYTE)) fail(`${shown} has the unknown type ${type}; expected 1 to 6`);
    if (type === BYTE && !BYTE_PIECE.test(content)) fail(`${shown} has the type of a byte, but is not one of <0x00> to <0xFF>`);
    if (type === BYTE && !byteFallback) fail(`${shown} is a byte, which requires byte_fallback`);
    if (byteFallback && type !== BYTE && BYTE_PIECE.test(content)) fail(`${shown} has the spelling of a byte, but another type`);
    if (modelType === UNIGRAM && !Number.isFinite(score)) fail(`${shown} has the score ${score}; a unigram model needs finite scores`);
    seen.set(content, id);
    counts[type] += 1;
    if (type === UNKNOWN) unknown ??= id;
    if (type === CONTROL || type === UNKNOWN) added.push({ content, id, special: true, normalized: false, ...flags });
    else if (type === USER_DEFINED) added.push({ content, id, special: false, normalized: true, ...flags });
    else {
      tokens.push([id, content]);
      scores.push(score);
      const longer = modelType === CHARACTERS && type === 1 && [...content].length > 1;
      if (type === UNUSED || longer || (content === "\0" && byteFallback)) unused.push(id);
    }
  });
  if (!pieces.length) refuse("pieces", "expected at least 1 piece");
  if (counts[UNKNOWN] !== 1 && !(counts[BYTE] && !counts[UNKNOWN])) refuse("pieces", `expected one unknown piece, not ${counts[UNKNOWN]}`);
  if (byteFallback && counts[BYTE] !== 256) refuse("pieces", `expected 256 bytes with byte_fallback, not ${counts[BYTE]}`);
  return unknown;
}

function readPiece(data, id) {
  const { content, score, type } = message(PIECE, [data]);
  const number = score && new DataView(score.buffer, score.byteOffset).getFloat32(0, true);
  return { content: content === undefined ? "" : text(content, `piece ${id}`), score: number ?? 0, type };
}

function rewriting(kind, { charsmap, dummy, removeExtra, escape }, suffix) {
  const size = charsmap.length > 3 ? new DataView(charsmap.buffer, charsmap.byteOffset).getUint32(0, true) : 0;
  if (charsmap.length && (charsmap.length < 4 + size || size % 4 || size === 0)) {
    refuse(`${kind}.precompiled_charsmap`, `is broken: it claims a trie of ${size} bytes but has only ${charsmap.length}`);
  }
  let binary = "";
  for (const byte of charsmap) binary += String.fromCharCode(byte);
  const place = dummy ? (suffix ? "after" : "before") : "nowhere";
  return { kind, charsmap: btoa(binary), dummy: place, escape: Boolean(escape), remove_extra: Boolean(removeExtra) };
}

/** The named fields of a message, which can come in parts; the last value of a field counts. */
function message(fields, parts) {
  const values = Object.fromEntries(Object.entries(fields).map(([name, [, usual]]) => [name, usual]));
  for (const part of parts) {
    for (const [tagged, value] of fieldsOf(part)) {
      for (const name in fields) if (fields[name][0] === tagged) values[name] = value;
    }
  }
  return values;
}

/** The fields of a protobuf message: tags, with a value or its bytes. */
function* fieldsOf(data) {
  let at = 0;
  const fail = (problem) => refuse("", `the file is not a SentencePiece model (a protobuf message): ${problem}`);
  const end = () => fail("a field ends after its message");
  let hasNumbers = true;
  const varint = () => {
    for (let [value, factor] = [0, 1]; ; factor *= 128) {
      if (at >= data.length || factor > 2 ** 63) end();
      const byte = data[at++];
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  };
  const bytes = (size) => ((at += size) > data.length ? end() : data.subarray(at - size, at));
  while (at < data.length) {
    const tagged = varint();
    const wire = tagged % 8;
    hasNumbers &&= tagged >= tag(1, 0);
    if (wire === NUMBER) yield [tagged, varint()];
    else if (wire === BYTES) yield [tagged, bytes(varint())];
    else if (wire === FLOAT) yield [tagged, bytes(4)];
    else if (wire === 1) bytes(8);
    else refuse(`byte ${at}`, `is a field of the type ${wire}, which SentencePiece does not use`);
  }
  if (!hasNumbers) fail("a field has no number");
}

function text(data, place) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return refuse(place, "is not UTF-8");
  }
}
