// node answers.mjs FOLDER: asks the page's source what standard input says, and prints how many answers differ.
//
// A line {"add", "file"} adds a tokenizer. A line [view, text, values, answer] asks; `answer` is that of the local server, or
// {"error"} with the name of its exception. `$corpus` in the values is the key of the last texts.

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { isDeepStrictEqual } from "node:util";
import { pathToFileURL } from "node:url";

const folder = pathToFileURL(process.argv[2]);
const toksmith = await import(`${folder}/toksmith.js`);
const { PageSource } = await import(`${folder}/playground/source.js`);
// Python and JavaScript add numbers in another order.
const rounded = (value) => JSON.parse(JSON.stringify(value), (_, each) => (Number.isInteger(each) || typeof each !== "number" ? each : Number(each.toPrecision(12))));
let [source, corpus, result] = [undefined, undefined, { answers: 0, different: [] }];

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const asked = JSON.parse(line);
  if (asked.texts !== undefined) source = new PageSource(toksmith, asked);
  else if (asked.add !== undefined) source.add(asked.add, await toksmith.load(await readFile(asked.file)));
  else {
    const [view, text, values, expected] = asked;
    if (values.corpus !== undefined) values.corpus = corpus;
    const found = await source.ask(view, text, values).catch((error) => ({ error: error.name, message: error.message }));
    if (view === "corpus") corpus = found.corpus;
    if (found.refusal) [found.refusal] = found.refusal.split("; choose 'text'");
    const plain = JSON.parse(JSON.stringify({ ...found, corpus: expected.corpus, message: expected.message }));
    result.answers += 1;
    if (!isDeepStrictEqual(rounded(plain), rounded(expected))) result.different.push([view, values, text?.slice(0, 200), plain, expected]);
  }
}
const shown = result.different.slice(0, 3).map((each) => JSON.stringify(each).slice(0, 4000));
console.log(JSON.stringify({ answers: result.answers, different: result.different.length, shown }));
process.exit();
