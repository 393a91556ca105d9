// node edits.mjs FOLDER: the page's source answers about edited texts as a new source does, which makes all anew.
//
// The first line of standard input has tokenizer files by name; each other one is a list of texts, of which each is an edit of
// the one before, and the values of the requests. Prints how many answers differ, and for each tokenizer the bytes of the
// edited texts and of the parts that were encoded again.

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(process.argv[2]);
const toksmith = await import(`${folder}/toksmith.js`);
const { PageSource } = await import(`${folder}/playground/source.js`);
const toks = {};
const result = { texts: 0, bytes: {}, different: [] };

async function sourceOf(names) {
  const source = new PageSource(toksmith);
  for (const name of names) source.add(name, toks[name]);
  return source;
}

/** Rows of all parts of a text, the ids of each tokenizer, and the differences. */
async function answersOf(source, text, values) {
  const answers = [];
  const { rows } = await source.ask("rows", text, { ...values, first: 0, last: 0 });
  for (let part = 0; part <= 8; part++) {
    const first = Math.max(0, Math.floor((rows * part) / 8) - 10);
    const { wanted, ...window } = await source.ask("rows", text, { ...values, first, last: first + 20 });
    answers.push(window);
  }
  for (const name of values.tokenizers) answers.push(await source.ask("all_ids", text, { ...values, of: name }));
  answers.push(await source.ask("counts", text, values), await source.ask("differences", text, values));
  return answers;
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { files, texts, values } = JSON.parse(line);
  for (const [name, path] of Object.entries(files ?? {})) {
    toks[name] = await toksmith.load(await readFile(path));
    const encode = toks[name].encodeAround.bind(toks[name]);
    result.bytes[name] = [0, 0];
    toks[name].encodeAround = (data, ...edit) => {
      const part = encode(data, ...edit);
      result.bytes[name][0] += data.length;
      result.bytes[name][1] += part.end - part.start;
      return part;
    };
  }
  if (!texts) continue;
  const source = await sourceOf(values.tokenizers);
  for (const text of texts) {
    const found = await answersOf(source, text, values);
    const expected = await answersOf(await sourceOf(values.tokenizers), text, values);
    result.texts += 1;
    found.forEach((answer, place) => {
      if (!isDeepStrictEqual(answer, expected[place])) result.different.push([place, answer, expected[place]]);
    });
  }
}
const shown = result.different.slice(0, 2).map((each) => JSON.stringify(each).slice(0, 4000));
console.log(JSON.stringify({ ...result, different: result.different.length, shown }));
process.exit();
