// The figures of the lesson's cells: each kind computes one, and prints it as the example above the cell does, in Python's notation.
//
// `cells.js` loads this script when a reader opens the first cell; a figure that needs the engine loads it from engine/. The
// site's stage puts the imported module into it.

import { escapeCharacter, textOf as decodeText, tokenText } from "../../../crates/web/js/playground/drawing.js";

(() => {
  const ENGINE = new URL("../engine/", document.currentScript.src);
  const PATTERNS = { r50k: "gpt2", p50k: "gpt2", gpt2: "gpt2", cl100k: "cl100k", o200k: "o200k" };
  const END_OF_TEXT = { gpt2: 50256, cl100k: 100257, o200k: 199999 };
  const ALL_MERGES = 100_000; // more than any text of a cell has

  // What Python prints.
  function quoteText(text, printable = /[^\p{C}\p{Z}\\]| /u) {
    const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
    return mark + Array.from(text, (char) => (char === mark ? `\\${char}` : printable.test(char) ? char : char === "\\" ? "\\\\" : escapeCharacter(char))).join("") + mark;
  }
  const quoteBytes = (bytes) => `b${quoteText(String.fromCharCode(...bytes), /[ -[\]-~]/)}`;
  const list = (items) => `[${items.join(", ")}]`;
  const tuple = (items) => (items.length === 1 ? String(items[0]) : `(${items.join(", ")})`);
  const dict = (entries) => `{${[...entries].map(([key, value]) => `${key}: ${value}`).join(", ")}}`;
  const several = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
  function numbers(text) {
    if (/[^\d\s,()[\]]/.test(text)) throw new Error(`${quoteText(text)}: expected whole numbers, such as 104 263`);
    return (text.match(/\d+/g) ?? []).map(Number);
  }
  const columns = (rows, left) => {
    const widths = rows[0].map((_, at) => Math.max(...rows.map((row) => [...row[at]].length)));
    return rows.map((row) => row.map((cell, at) => (left.includes(at) ? cell.padEnd(widths[at]) : cell.padStart(widths[at]))).join("  ").trimEnd());
  };
  function bars(rows) {
    const most = Math.max(...rows.map(([, value]) => value));
    const wide = Math.max(...rows.map(([name]) => [...name].length));
    return rows.map(([name, value, said]) => {
      const eighths = Math.floor((value / most) * 320);
      const bar = "█".repeat(eighths >> 3) + ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths & 7];
      return `${" ".repeat(wide - [...name].length)}${name}  ${bar.padEnd(40)} ${said}`;
    });
  }

  const utf8 = (text) => [...new TextEncoder().encode(text)];
  const points = (text) => Array.from(text, (char) => char.codePointAt(0));
  const textOf = (bytes) => decodeText(Uint8Array.from(bytes));
  const drawToken = (bytes) => tokenText(Uint8Array.from(bytes));
  const drawText = (text) => drawToken(utf8(text));

  // Merging by hand, for what the engine does not train: ties by first_seen, and characters.
  function countPairs(pieces) {
    const counts = new Map();
    for (const [ids, times] of pieces) {
      for (let at = 1; at < ids.length; at++) counts.set(`${ids[at - 1]}, ${ids[at]}`, (counts.get(`${ids[at - 1]}, ${ids[at]}`) ?? 0) + times);
    }
    return counts;
  }
  function replacePair(ids, left, right, id) {
    const out = [];
    for (let at = 0; at < ids.length; at++) out.push(ids[at] === left && ids[at + 1] === right ? (at++, id) : ids[at]);
    return out;
  }
  const replaceIn = (pieces, [left, right, id]) => pieces.map(([ids, times]) => [replacePair(ids, left, right, id), times]);
  function learnFirstSeen(pieces, first, most, minCount) {
    const merges = [];
    while (merges.length < most) {
      const [pair, count] = [...countPairs(pieces)].reduce((best, row) => (row[1] > best[1] ? row : best), ["", 0]);
      if (count < minCount || count === 0) break;
      merges.push([...numbers(pair), first + merges.length]);
      pieces = replaceIn(pieces, merges.at(-1));
    }
    return merges;
  }
  function piecesInOrder(tok, text) {
    const [bytes, ends] = [utf8(text), [0, ...tok.split(text)]];
    return ends.slice(1).map((end, at) => bytes.slice(ends[at], end));
  }
  /** The different pieces of a text, in the order of their first places, with their counts. */
  function piecesOf(tok, text) {
    const counts = new Map();
    for (const piece of piecesInOrder(tok, text)) counts.set(piece.join(), (counts.get(piece.join()) ?? 0) + 1);
    return [...counts].map(([piece, times]) => [numbers(piece), times]);
  }
  /** The merges of a training as [left, right, id, count of the pair, symbols of the training text after it]. */
  function history({ tok, learned }, { corpus }) {
    let pieces = piecesOf(tok, corpus);
    return learned.map(([left, right, id]) => {
      const count = countPairs(pieces).get(`${left}, ${right}`);
      pieces = replaceIn(pieces, [left, right, id]);
      return [left, right, id, count, pieces.reduce((sum, [ids, times]) => sum + ids.length * times, 0)];
    });
  }

  // The engine and its tokenizers.
  let engine;
  const loadEngine = () =>
    (engine ??= (location.protocol === "file:" ? loadClassic() : import(new URL("toksmith.js", ENGINE))).catch(() => {
      throw new Error("The engine could not be loaded, so this cell computes nothing; the figure above stays as it is.");
    }));
  async function loadClassic() {
    const script = Object.assign(document.createElement("script"), { src: new URL("classic/toksmith.js", ENGINE) });
    await new Promise((resolve, reject) => document.head.append(Object.assign(script, { onload: resolve, onerror: reject })));
    return globalThis.toksmith;
  }
  async function train({ corpus, merges: most = ALL_MERGES, pattern = "o200k", ties, unit = "byte", min_count: minCount = 1, specials = "" }) {
    const { trainHere, loadModel } = await loadEngine();
    const specialTokens = specials.split(/\s+/).filter(Boolean);
    const options = { pattern: pattern || null, specialTokens };
    if (corpus === "") throw new Error("The training text is empty; type a text to learn from.");
    if (unit === "byte" && ties !== "first_seen") {
      const tok = await trainHere(corpus, { ...options, vocabSize: 256 + most + specialTokens.length, minCount });
      const merges = tok.allMerges();
      return { tok, learned: Array.from({ length: merges.length / 3 }, (_, at) => [...merges.slice(3 * at, 3 * at + 3)]) };
    }
    const splitter = await trainHere("x", { ...options, vocabSize: 256 + specialTokens.length });
    const { splitters } = JSON.parse(textOf(splitter.save()).split("\n")[1].slice("model ".length));
    const first = unit === "byte" ? 256 : 128;
    const learned = learnFirstSeen(piecesOf(splitter, corpus), first, most, minCount);
    const tokens = Array.from({ length: first }, (_, id) => [id, [id]]);
    for (const [left, right, id] of learned) tokens.push([id, [...tokens[left][1], ...tokens[right][1]]]);
    return { tok: await loadModel({ fields: { unit, splitters }, tokens, merges: learned }), learned };
  }
  const known = new Map();
  function tokenizerOf({ corpus, merges, pattern, ties, unit, min_count, specials }) {
    const options = { corpus, merges, pattern, ties, unit, min_count, specials };
    const key = JSON.stringify(options);
    if (!known.has(key)) {
      if (known.size >= 8) known.clear();
      known.set(key, train(options));
    }
    return known.get(key);
  }
  /** The tokenizers of a cell that needs files: those of the files that it names, all of the reader's, or one that learns from the page. */
  let opened = [];
  async function chooseTokenizers(files = []) {
    const named = opened.filter(({ name }) => files.includes(name));
    if (opened.length) return named.length ? named : opened;
    const corpus = Array.from(document.querySelectorAll(".md-content p"), (each) => each.textContent).join("\n");
    return [{ name: "this page", ...(await tokenizerOf({ corpus, merges: 500 })) }];
  }
  async function openFile(file) {
    const { load } = await loadEngine();
    const name = file.name.replace(/\.[^.]*$/, "");
    if (!file.name.endsWith(".tiktoken")) return { name, tok: await load(file) };
    const pattern = PATTERNS[Object.keys(PATTERNS).find((each) => name.includes(each))];
    if (!pattern) throw new Error(`${file.name} does not have its pattern; give the file the name of its encoding, such as cl100k_base.tiktoken`);
    return { name, tok: await load(file, { pattern, specialTokens: { "<|endoftext|>": END_OF_TEXT[pattern] } }) };
  }

  const chips = (tok, ids, name) => ({ name, chips: Array.from(ids, (id) => [drawToken(tok.token(id)), id]) });
  const pieceTexts = (tok, ids) => Array.from(ids, (id) => textOf(tok.token(id)));
  const joinTokens = (tok, ids) => pieceTexts(tok, ids).join("|");
  const refuseOthers = (text, isKnown) => {
    const at = [...text].findIndex((char) => !isKnown(char));
    if (at >= 0) throw new Error(`${quoteText([...text][at])} is not in the vocabulary (offset ${at})`);
  };
  const letter = (id) => (id < 256 ? drawText(String.fromCharCode(id)) : id < 282 ? String.fromCharCode(346 - id) : `#${id}`);

  // Each kind: the values and the tokenizers to { rows of tokens, the printed lines, a sentence }.
  const KINDS = {
    code_points: ({ text }) => ({ rows: [{ chips: points(text).map((code) => [drawText(String.fromCodePoint(code)), code]) }], lines: [list(points(text))] }),
    lengths: ({ text }) => ({ lines: [tuple(text.split("\n").map((line) => points(line).length))], said: `A reader counts ${text.split("\n").map((line) => [...new Intl.Segmenter().segment(line)].length).join(", ")}.` }),
    sizes({ text, shows }) {
      const rows = text.split("\n").map((line) => [points(line).length, utf8(line).length]);
      return { lines: rows.map((row) => (shows === "pair" ? tuple(row) : row.join(" "))), said: "Characters, then bytes." };
    },
    bytes: ({ text }) => ({ lines: [list(utf8(text))] }),
    utf8: ({ text }) => ({ lines: [...text].map((char) => `${char} ${char.codePointAt(0)} ${list(utf8(char))}`) }),
    bits: ({ text }) => ({ lines: [...text].map((char) => quoteText(utf8(char).map((byte) => byte.toString(2).padStart(8, "0")).join(" "))) }),
    encodings({ text, shows }) {
      const sizes = [["UTF-8", utf8(text).length], ["UTF-16", 2 * text.length], ["UTF-32", 4 * points(text).length]];
      return { lines: shows === "bars" ? bars(sizes.map(([name, size]) => [name, size, `${size} bytes`])) : [list(sizes.map(([, size]) => size))] };
    },
    chars: async ({ corpus, text }) => {
      const alphabet = [...new Set(corpus)].sort((one, other) => one.codePointAt(0) - other.codePointAt(0));
      refuseOthers(text, (char) => alphabet.includes(char));
      const tok = await (await loadEngine()).loadModel({ fields: { unit: "char" }, tokens: alphabet.map((char, id) => [id, char]) });
      return { rows: [chips(tok, tok.encode(text))], lines: [list(tok.encode(text))], said: dict(alphabet.map((char, id) => [quoteText(char), id])) };
    },
    words: async ({ corpus, text }) => {
      const { tok } = await tokenizerOf({ corpus: "x", merges: 0 });
      const wordsOf = (each) => piecesInOrder(tok, each).map(textOf);
      const alphabet = wordsOf(corpus);
      const strange = wordsOf(text).find((word) => !alphabet.includes(word));
      if (strange) throw new Error(`${quoteText(strange)} is not in the vocabulary (offset ${points(text.slice(0, text.indexOf(strange))).length})`);
      return { rows: [{ chips: wordsOf(text).map((word) => [drawText(word), [...new Set(alphabet)].sort().indexOf(word)]) }], lines: [list(wordsOf(text).map((word) => quoteText(word)))] };
    },
    tokens(v, toks) {
      const texts = [v.text, v.other].filter((text) => text !== undefined).map((text) => (v.form ? text.normalize(v.form) : text));
      if (v.unit) texts.forEach((text) => refuseOthers(text, (char) => char < "\x80"));
      const found = toks.map(({ tok }) => texts.map((text) => [...tok.encode(text, { special: v.special ?? "text" })]));
      const counts = found.map((lists) => lists.map((ids) => ids.length));
      const each = (print) => found.flatMap((lists, at) => lists.map((ids) => print(toks[at].tok, ids)));
      const lines = {
        ids: () => each((_, ids) => list(ids)),
        tokens: () => each((tok, ids) => list(pieceTexts(tok, ids).map((text) => quoteText(text)))),
        cut: () => each(joinTokens),
        counts: () => [list(counts.map(tuple))],
        row: () => [counts.map((row) => row.join(" ")).join(" ")],
        chars: () => counts.map((row) => tuple([points(v.text).length, ...row])),
        pairs: () => [list(counts.map((row, at) => tuple([quoteText(toks[at].name), ...row])))],
        named: () => counts.map((row, at) => [toks[at].name, ...row, ...(row.length > 1 ? [(row[1] / row[0]).toFixed(2)] : [])].join(" ")),
      };
      const rows = each(chips).map((row, at) => ({ ...row, name: toks[0].name && toks[Math.floor(at / texts.length)].name }));
      return { rows, lines: lines[v.shows ?? "ids"](), said: `${counts.flat().map((count) => several(count, "token")).join(", ")} for ${texts.map((text) => several(utf8(text).length, "byte")).join(" and ")}.` };
    },
    merges({ text }, [{ tok }]) {
      const { steps, symbols, whole } = tok.merges(text);
      const after = [...steps.slice(1).map((step) => step.symbols), symbols];
      const lines = steps.map(({ chosen }, at) => `rank ${String(chosen.rank).padStart(2)}: ${list(after[at].map(({ token }) => quoteText(textOf(token))))}`);
      const ids = whole === null ? symbols.map(({ id }) => id) : [whole];
      return { rows: [chips(tok, ids)], lines, said: whole !== null ? "The piece is a token, which is looked up at once." : `${several(steps.length, "merge")}, ${several(ids.length, "token")}.` };
    },
    decode({ ids, shows }, [{ tok }]) {
      const found = numbers(ids);
      const bytes = tok.decodeBytes(found);
      return { rows: [chips(tok, found)], lines: [shows === "bytes" ? quoteBytes(bytes) : quoteText(textOf(bytes))] };
    },
    stream({ text }, [{ tok }]) {
      const [ids, decoder] = [[...tok.encode(text)], tok.decoder()];
      const each = (decode) => list(ids.map((id) => quoteText(decode(id))));
      return { rows: [chips(tok, ids)], lines: [list(ids), each((id) => tok.decode([id])), each((id) => decoder.feed(id))] };
    },
    pairs({ ids, text }) {
      const counts = countPairs([[ids === undefined ? points(text) : numbers(ids), 1]]);
      const key = (pair) => (ids === undefined ? quoteText(String.fromCodePoint(...numbers(pair))) : `(${pair})`);
      return { lines: [dict([...counts].map(([pair, count]) => [key(pair), count]))] };
    },
    replace: ({ ids, pair, id }) => ({ lines: [list(replacePair(numbers(ids), ...numbers(pair), id))] }),
    ngrams({ text, n }) {
      const [chars, counts] = [[...text], new Map()];
      for (let at = 0; at + n <= chars.length; at++) counts.set(chars.slice(at, at + n).join(""), (counts.get(chars.slice(at, at + n).join("")) ?? 0) + 1);
      if (!counts.size) throw new Error(`The text has fewer than ${n} characters.`);
      const rows = [...counts].sort((one, other) => other[1] - one[1]).slice(0, 20);
      return { lines: [`${n}-grams of characters: ${chars.length - n + 1} in all, ${counts.size} different`, ...bars(rows.map(([gram, count]) => [drawText(gram), count, count]))] };
    },
    steps(v, [{ tok, learned }]) {
      const rows = history({ tok, learned }, v).map(([one, other, id, count, left], at) => [at + 1, letter(one) + letter(other), count, `${letter(id)} (${id})`, drawToken(tok.token(id)), left].map(String));
      const tokens = list(learned.map(([, , id]) => quoteText(textOf(tok.token(id)))));
      return { rows: [chips(tok, tok.encode(v.corpus))], lines: v.shows === "tokens" ? [tokens] : columns([["step", "pair", "count", "becomes", "token", "symbols"], ...rows], [1, 3, 4]), said: `${several(learned.length, "merge")}; the training text is ${several(tok.count(v.corpus), "token")}.` };
    },
    training(v, [{ tok, learned }]) {
      const lines = history({ tok, learned }, v).map(([one, other, id, count, left]) => `(${one}, ${other}) -> ${id} ${quoteBytes(tok.token(id))}: ${count} times, ${left} ids left`);
      return { rows: [chips(tok, tok.encode(v.corpus))], lines, said: `${several(utf8(v.corpus).length, "byte")} became ${several(tok.count(v.corpus), "token")}.` };
    },
    learned(v, [{ tok, learned }]) {
      const rows = learned.slice(0, v.most);
      const lines = v.shows === "file" ? [dict(rows.map(([left, right, id]) => [`"${id}"`, `[${left}, ${right}]`]))] : [list(rows.map(([left, right]) => `(${left}, ${right})`))];
      return { lines, said: `The training text is ${several(tok.count(v.corpus), "token")}.` };
    },
    exhausted: (v, [{ tok, learned }]) => ({ rows: [chips(tok, tok.encode(v.corpus))], lines: [`(${learned.length}, ${tok.count(v.corpus)}, 'no pair repeats')`] }),
    sweep: async ({ corpus, text, sizes }) => {
      const lines = [];
      for (const size of numbers(sizes)) {
        const count = (await tokenizerOf({ corpus, merges: Math.max(0, size - 256) })).tok.count(text);
        lines.push(`${String(size).padStart(5)} ${count.toLocaleString("en")} ${(utf8(text).length / count).toFixed(2)}`);
      }
      return { lines, said: "Size of the vocabulary, tokens of the text, bytes for each token." };
    },
    split(v, [{ tok }]) {
      const pieces = piecesInOrder(tok, v.text);
      const lines = [list(pieces.map((piece) => (v.shows === "bytes" ? quoteBytes(piece) : quoteText(textOf(piece)))))];
      return { rows: [{ chips: pieces.map((piece) => [drawToken(piece), piece.length]) }], lines, said: "The number below a piece is its size in bytes." };
    },
    patterns: async ({ text, names }) => {
      const found = await Promise.all(names.map(async (pattern) => [pattern, piecesInOrder((await tokenizerOf({ corpus: "x", merges: 0, pattern })).tok, text)]));
      return { rows: found.map(([name, pieces]) => ({ name, chips: pieces.map((piece) => [drawToken(piece)]) })), lines: found.map(([name, pieces]) => `${name.padEnd(6)} ${list(pieces.map((piece) => quoteText(textOf(piece))))}`) };
    },
    targets(v, [{ tok }]) {
      const row = chips(tok, tok.encode(v.text));
      return { rows: [{ name: "input", chips: row.chips.slice(0, -1) }, { name: "target", chips: row.chips.slice(1) }], lines: row.chips.slice(1).map(([token, id], at) => `${row.chips[at].join(" ")} -> ${token} ${id}`) };
    },
    parameters: ({ sizes, width }) => ({ lines: numbers(sizes).map((size) => `${size.toLocaleString("en").padStart(7)} tokens: ${((2 * size * width) / 1e9).toFixed(2)} billion parameters`) }),
    ways({ text, tokens }, toks) {
      const [bytes, given] = [utf8(text), tokens?.split(" ")];
      const waysWith = (isToken) => bytes.reduce((found, _, end) => [...found, found.reduce((sum, n, start) => (isToken(bytes.slice(start, end + 1)) ? sum + n : sum), 0)], [1]).at(-1);
      return { lines: [given ? String(waysWith((part) => given.includes(textOf(part)))) : list(toks.map(({ tok }) => waysWith((part) => tok.tokenId(Uint8Array.from(part)) !== undefined)))] };
    },
    drift({ ids }, [{ tok }]) {
      const [sampled, again] = [numbers(ids), [...tok.encode(tok.decode(numbers(ids)), { special: "text" })]];
      const at = sampled.findIndex((id, place) => id !== again[place]);
      const same = at < 0 && sampled.length === again.length;
      return { rows: [chips(tok, sampled, "sampled"), chips(tok, again, "encoded again")], lines: [tuple([sampled, again].map((each) => quoteText(joinTokens(tok, each)))), `(${same ? "True, None" : `False, ${at < 0 ? sampled.length : at}`})`] };
    },
    fim({ text, other, order }) {
      const [before, after] = [`<|fim_prefix|>${order === "spm" ? "" : text}`, `<|fim_suffix|>${other}`];
      return { lines: [quoteText(`${before}${after}<|fim_middle|>${order === "spm" ? text : ""}`)] };
    },
    fim_ids: ({ ids, others }) => ({ lines: [list([300, ...numbers(ids), 301, ...numbers(others), 302])] }),
    first_difference({ ids, others }) {
      const [one, other] = [numbers(ids), numbers(others)];
      const at = [...(one.length > other.length ? one : other)].findIndex((_, place) => one[place] !== other[place]);
      return { lines: [at < 0 ? "None" : String(at)] };
    },
    fits: ({ ids, context, answer }) => ({ lines: [list(numbers(ids).slice(Math.max(0, numbers(ids).length - Math.max(0, context - answer))))] }),
    kept_blocks({ ids, others, size }) {
      const [before, after] = [numbers(ids), numbers(others)];
      const at = before.findIndex((id, place) => id !== after[place]);
      return { lines: [String(Math.floor((at < 0 ? before.length : at) / size))] };
    },
  };

  const trainsHere = (v) => v.corpus !== undefined || v.pattern !== undefined;
  globalThis.lessonFigures = {
    async compute(kind, values) {
      const figure = KINDS[kind];
      if (figure.length < 2 || values.tokens !== undefined) return figure(values, []);
      return figure(values, trainsHere(values) ? [await tokenizerOf({ corpus: "x", merges: values.corpus === undefined ? 0 : undefined, ...values })] : await chooseTokenizers(values.files));
    },
    /** Whether a figure uses the tokenizers of the page, which a reader's files replace. */
    usesFiles: (kind, values) => KINDS[kind].length === 2 && values.tokens === undefined && !trainsHere(values),
    async open(files) {
      opened = await Promise.all(Array.from(files, openFile));
    },
    names: () => opened.map(({ name, tok }) => `${name} (${tok.vocabSize.toLocaleString("en")} ids)`).join(", ") || "a tokenizer that learns 500 merges from this page",
  };
})();
