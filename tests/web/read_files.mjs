// node read_files.mjs FOLDER WHAT: loads files, and prints how many give another native file or another error.
//
// A line {"name", "data", "options", "expected"} has a file in base64, and the native file of the Python package or its error:
// the name, the place and the problem. WHAT is `words` if the problem has the same words; JSON that is broken has other places.

import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { init, load, ToksmithError } = await import(`${pathToFileURL(process.argv[2])}/toksmith.js`);
await init(pathToFileURL(`${process.argv[2]}/toksmith-full.wasm`));
const what = process.argv[3];
const result = { files: 0, refused: 0, different: [] };
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { name, data, options, expected } = JSON.parse(line);
  const native = typeof expected === "string" ? expected : null;
  result.files += 1;
  try {
    const saved = Buffer.from((await load(new Uint8Array(Buffer.from(data, "base64")), options)).save());
    if (native === null || !saved.equals(Buffer.from(native, "base64"))) {
      const lines = saved.toString().split("\n");
      const wanted = native === null ? [] : Buffer.from(native, "base64").toString().split("\n");
      const at = lines.findIndex((each, place) => each !== wanted[place]);
      result.different.push([name, native === null ? "is loaded" : `${at}: ${lines[at]} for ${wanted[at]}`.slice(0, 3000)]);
    }
  } catch (error) {
    result.refused += 1;
    const isNamed = error instanceof ToksmithError;
    // The page has no Oniguruma, and its numbers have 53 bits.
    const [kind, place, problem] = native === null ? expected : [error.name, null, ""];
    const before = place === null || place.startsWith("line ") ? "" : `${place}: `;
    const hasWords = what === "words" ? error.message === before + problem.replace(/\bb'/g, "'") : error.message.startsWith(before);
    const isSame = error.name === kind && hasWords;
    if (!isNamed || !isSame || (native !== null && !/Oniguruma|2\^53/.test(error.message))) result.different.push([name, `${error.stack}`.slice(0, 1000), expected]);
  }
}
console.log(JSON.stringify({ ...result, different: result.different.length, shown: result.different.slice(0, 5) }));
