// node interface.mjs FOLDER RANKS NATIVE: what the module's names promise besides ids.
//
// RANKS is a .tiktoken file of the pattern gpt2, and NATIVE the file that the Python package makes of it.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";

const [folder, ranks, native] = process.argv.slice(2).map((path) => pathToFileURL(path));
const { load, loadModel, init, patterns, train, trainHere, ToksmithError } = await import(`${folder}/toksmith.js`);
const TEXT = "the cat sat on the mat, ".repeat(500);
const refused = (name, words) => (error) => {
  assert.equal(error.name, name, error.message);
  assert.match(error.message, words);
  return true;
};

// Every kind of source gives the same tokenizer, and the file that it saves is that of the Python package.
const bytes = await readFile(native);
const options = { pattern: "gpt2", specialTokens: { "<|end|>": 299 } };
const tok = await load(ranks, options);
assert.deepEqual(Buffer.from(tok.save()), bytes);
for (const source of [native.href, native.pathname, bytes, new Uint8Array(bytes).buffer, new Blob([bytes]), new Response(bytes)]) {
  const same = await load(source);
  assert.deepEqual(same.encode(TEXT), tok.encode(TEXT));
  assert.deepEqual(Buffer.from(same.save()), bytes);
}
assert.equal(tok.vocabSize, 300);
assert.deepEqual(tok.specialTokens, { "<|end|>": 299 });

// Special tokens are refused unless the call allows them.
assert.throws(() => tok.encode("a<|end|>"), refused("SpecialTokenInText", /'<\|end\|>' at offset 1; choose 'text'/));
assert.throws(() => tok.count("a<|end|>"), ToksmithError);
assert.deepEqual([...tok.encode("a<|end|>", { special: "allow" })], [97, 299]);
assert.equal(tok.count("a<|end|>", { special: "text" }), tok.encode("a<|end|>", { special: "text" }).length);
assert.throws(() => tok.encode("a", { special: "none" }), refused("InvalidOption", /raise, allow, text/));

// Tokens, and bytes that are no text.
assert.deepEqual([...tok.token(299)], [...new TextEncoder().encode("<|end|>")]);
assert.equal(tok.tokenId("<|end|>"), 299);
assert.equal(tok.tokenId(new Uint8Array([0xff])), 255);
assert.equal(tok.tokenId("no such token"), undefined);
assert.throws(() => tok.token(300), refused("UnknownId", /300/));
assert.throws(() => tok.decode([97, 300]), refused("UnknownId", /position 1/));
assert.throws(() => tok.decode([-1]), TypeError);
assert.throws(() => tok.encode(7), TypeError);
assert.deepEqual([...tok.decodeBytes([0xff, 97])], [0xff, 97]);
assert.equal(tok.decode([0xff, 97]), "\ufffda");
assert.equal(tok.decode(tok.encode("\ufeffa")), "\ufeffa");
assert.deepEqual(tok.encode("\ud83d"), tok.encode("\ufffd"));
assert.throws(() => tok.encode("a\ud83d", { errors: "strict" }), refused("UnicodeEncodeError", /place 1/));
assert.deepEqual(tok.encode("\ud83d\ude00", { errors: "strict" }), tok.encode("\ud83d\ude00"));
assert.throws(() => tok.count("a", { errors: "ignore" }), refused("InvalidOption", /replace, strict/));
const { ids: placed, ends } = tok.encodeWithOffsets("\u00fcber", { unit: "byte" });
assert.equal(ends.at(-1), 5);
assert.deepEqual(placed, tok.encode("\u00fcber"));
assert.deepEqual([...tok.split("the cat")], [3, 7]);
assert.ok((await patterns()).includes("cl100k"));
assert.equal(tok.allMerges().length % 3, 0);

// A stream gives whole characters; two streams do not mix.
const [stream, other] = [tok.decoder(), tok.decoder()];
assert.deepEqual([0xc3, 0xbc, 97].map((id) => stream.feed(id)), ["", "\u00fc", "a"]);
assert.equal(stream.feed([0xe2, 0x82]), "");
assert.equal(other.finish(), "");
assert.throws(() => stream.feed(300), refused("UnknownId", /300/));
assert.equal(stream.finish(), "\ufffd");
assert.equal(stream.feed(98), "b");

// A model as a value.
const plainBytes = await loadModel({ fields: {}, tokens: Array.from({ length: 256 }, (_, byte) => [byte, [byte]]) });
assert.deepEqual([...plainBytes.encode("a b")], [97, 32, 98]);
await assert.rejects(loadModel({ fields: { kind: "tarot" }, tokens: [] }), refused("ModelError", /tarot/));

// Prompts and normalized texts.
const healing = tok.heal("the ca");
assert.equal(tok.decode(healing.ids) + Buffer.from(healing.rest), "the ca");
assert.ok(healing.continuations.every((id) => Buffer.from(tok.token(id)).indexOf(Buffer.from(healing.rest)) === 0));
assert.throws(() => tok.heal("the \ud83d\ude00<|end|>"), refused("SpecialTokenInText", /offset 6/));
assert.equal(tok.normalize("the cat"), "the cat");
assert.throws(() => tok.merges("a".repeat(513)), refused("InvalidOption", /513 symbols/));

// Files that are no tokenizer, and options that do not fit.
await assert.rejects(load(ranks), refused("FormatError", /cl100k/));
await assert.rejects(load(new TextEncoder().encode("{}")), refused("FormatError", /model: is missing/));
for (const [file, words] of [["", /is empty/], ["\x89PNG\r\n", /begins with.*expected a \.toksmith/], ["\nab", /not a SentencePiece model/]]) {
  await assert.rejects(load(new TextEncoder().encode(file)), refused("FormatError", words));
}
await assert.rejects(load(new Uint8Array(2 ** 27).fill(97)), refused("FormatError", /begins with/));
await assert.rejects(load(new Uint8Array([123]), { specialTokens: {} }), refused("InvalidOption", /only for \.tiktoken/));
await assert.rejects(load(bytes.subarray(0, 500)), refused("FormatError", /ends/));
await assert.rejects(load(native, { pattern: "gpt2" }), refused("InvalidOption", /native file has them/));
await assert.rejects(load(ranks, { pattern: "gtp2" }), refused("InvalidOption", /gpt2/));
await assert.rejects(load(ranks, { pattern: "(" }), ToksmithError);
await assert.rejects(load("missing.toksmith"), /ENOENT/);
await assert.rejects(load(new Response("", { status: 404 })), /404/);

// Training in a worker gives the file of training here, and each merge once.
const seen = [];
const settings = { vocabSize: 280, specialTokens: ["<|end|>"], onProgress: ({ merges }) => seen.push(...merges) };
const trained = await train([TEXT, "the dog"], settings);
const rows = seen.splice(0);
assert.deepEqual(trained.save(), (await trainHere([TEXT, "the dog"], settings)).save());
assert.deepEqual(seen, rows);
assert.ok(rows.length > 0);
assert.equal(rows.length / 4, trained.allMerges().length / 3);
assert.equal(trained.decode([rows[2]]), trained.decode([rows[0]]) + trained.decode([rows[1]]));
const few = await trainHere(TEXT, { vocabSize: 280, onProgress: ({ done }) => done < 3 });
assert.equal(few.vocabSize, 259);
await assert.rejects(train(TEXT, { vocabSize: 100 }), refused("InvalidOption", /vocab_size=100.*256/));
await assert.rejects(train("", { vocabSize: 300 }), refused("CorpusError", /empty/));
await assert.rejects(train([7], { vocabSize: 300 }), TypeError);
const stop = new AbortController();
const stopped = train(TEXT, { vocabSize: 280, signal: stop.signal });
stop.abort();
await assert.rejects(stopped, { name: "AbortError" });

// What does not fit into the memory is refused, and the tokenizer works on.
assert.throws(() => tok.decodeBytes(new Uint32Array(2 ** 29)), refused("TextTooLong", /shorter parts/));
assert.deepEqual([...tok.encode("a")], [97]);
await assert.rejects(trainHere(TEXT, { vocabSize: 280, onProgress: () => { throw new Error("from the page"); } }), /from the page/);

// A worker loads the module too.
const script = `import("${folder}/toksmith.js").then(async ({ load }) => {
  const { parentPort } = await import("node:worker_threads");
  parentPort.postMessage([...(await load("${native}")).encode("the cat")]);
});`;
const ids = await new Promise((resolve, reject) => new Worker(script, { eval: true }).on("message", resolve).on("error", reject));
assert.deepEqual(ids, [...tok.encode("the cat")]);

// A pattern without a name takes the full module, which gives the same ids for the rest too.
const words = await load(ranks, { pattern: "\\w+|\\W" });
assert.equal(words.decode(words.encode(TEXT)), TEXT);
const endless = await load(ranks, { pattern: "(?=(a|a)+?\\1$)a|a|b" });
assert.throws(() => endless.encode(`b${"a".repeat(40_000)}b`), /engine stopped.*simpler pattern/s);
// After a failure inside the engine, each call says so; other tokenizers work on.
assert.throws(() => endless.encode("a"), /stopped earlier; load it again/);
await init(pathToFileURL(`${process.argv[2]}/toksmith-full.wasm`));
assert.deepEqual((await load(native)).encode(TEXT), tok.encode(TEXT));
