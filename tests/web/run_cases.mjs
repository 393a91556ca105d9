// node run_cases.mjs FOLDER FILE: runs the cases of standard input through the module FOLDER/FILE, and prints the result.

import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

import { runCases } from "./cases.mjs";

const toksmith = await import(`${pathToFileURL(process.argv[2])}/toksmith.js`);
await toksmith.init(pathToFileURL(`${process.argv[2]}/${process.argv[3]}`));
const lines = createInterface({ input: process.stdin, crlfDelay: Infinity });
console.log(JSON.stringify(await runCases(toksmith, lines, readFile)));
