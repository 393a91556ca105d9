// Cells of the lesson: a reader changes a text, merges or a pattern, and the figure is computed again in the page.
//
// The site's stage writes <div class="cell" data-kind="tokens" data-values="{…}">; without this script the page shows nothing of it.
// A cell is closed at first; opening the first one loads figures.js, which computes. An exercise asks for the figure instead.

(() => {
  const HERE = document.currentScript.src;
  const MOST_CHARS = 200_000;
  const MOST_TOKENS = 150; // of a drawn row
  const LABELS = {
    corpus: "Training text", merges: "Merges", pattern: "Split pattern", ties: "Equal counts", specials: "Special tokens",
    text: "Text", other: "Second text", special: "A special token in the text", ids: "Ids", others: "Second ids", pair: "Pair",
    id: "New id", n: "Characters of an n-gram", sizes: "Sizes of the vocabulary", width: "Width of the model", order: "Order",
    context: "Ids of the context", answer: "Ids of the answer", size: "Ids of a block", tokens: "Tokens",
  };
  const RANGES = { merges: [0, 8000], id: [0, 1e6], n: [1, 9], width: [1, 1e6], context: [0, 1e6], answer: [0, 1e6], size: [1, 1000] };
  const CHOICES = {
    ties: { lowest_ids: "merge the lowest ids", first_seen: "merge the first in the text" }, order: { psm: "prefix, suffix, middle", spm: "suffix, prefix, middle" },
    special: { raise: "is an error", allow: "becomes its id", text: "is ordinary text" },
  };
  const PATTERNS = ["gpt2", "cl100k", "qwen2", "o200k", "llama3"];
  const ITEM = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,()[\]{}:]+/g;

  function make(tag, properties = {}, ...children) {
    const { role, label, ...others } = properties;
    const made = Object.assign(document.createElement(tag), others);
    if (role) made.setAttribute("role", role);
    if (label) made.setAttribute("aria-label", label);
    made.append(...children);
    return made;
  }

  let figures;
  const loadFigures = () =>
    (figures ??= new Promise((resolve, reject) => {
      const script = make("script", { src: new URL("figures.js", HERE), onload: () => resolve(globalThis.lessonFigures) });
      script.onerror = () => reject(new Error("The figures could not be loaded, so this cell computes nothing; reload the page."));
      document.head.append(script);
    }));

  /** The control of a value, which its name decides. */
  function control(name, value) {
    if (name in CHOICES) return make("select", {}, ...Object.entries(CHOICES[name]).map(([id, text]) => new Option(text, id, false, id === value)));
    if (name in RANGES) return make("input", { type: "number", min: RANGES[name][0], max: RANGES[name][1], value });
    if (name === "text" || name === "other" || name === "corpus") return make("textarea", { value, rows: Math.min(4, Math.max(value.split("\n").length, Math.ceil(value.length / 80))), dir: "auto" });
    const made = make("input", { type: "text", value: value ?? "" });
    if (name === "pattern") {
      made.placeholder = "none: the text is not split";
      made.setAttribute("list", "cell-patterns");
      if (!document.getElementById("cell-patterns")) document.body.append(make("datalist", { id: "cell-patterns" }, ...PATTERNS.map((each) => new Option("", each))));
    }
    return made;
  }

  /** The value of a control; an error if no figure can use it. */
  function valueOf(name, made) {
    const { value } = made;
    if (value.length > MOST_CHARS) throw new Error(`${LABELS[name]}: ${value.length.toLocaleString("en")} characters are too long for a cell; use at most ${MOST_CHARS.toLocaleString("en")}.`);
    const at = value.search(/\p{Surrogate}/u);
    if (at >= 0) throw new Error(`${LABELS[name]}: place ${at} has half of a UTF-16 pair, which UTF-8 cannot encode; remove it.`);
    if (!(name in RANGES)) return value;
    const [least, most] = RANGES[name];
    if (!/^\d+$/.test(value) || value < least || value > most) throw new Error(`${LABELS[name]}: expected a whole number from ${least} to ${most.toLocaleString("en")}.`);
    return Number(value);
  }

  /** A row of tokens in the colours of the site's figures, each with its number below. */
  function drawRow({ name, chips }) {
    const drawn = chips.slice(0, MOST_TOKENS).map(([token, below], at) => make("span", { className: `t c${at % 5}` }, make("bdi", {}, token), make("small", {}, below ?? "")));
    const rest = chips.length > MOST_TOKENS ? [` and ${(chips.length - MOST_TOKENS).toLocaleString("en")} more`] : [];
    return make("div", { className: "row" }, ...(name ? [make("strong", {}, name)] : []), ...drawn, ...rest);
  }

  /** What differs between an answer and the right one; nothing if they have the same items. */
  function difference(given, right) {
    const items = (text) => Array.from(text.match(ITEM) ?? [], (item) => (/^['"]/.test(item) ? item.slice(1, -1).replace(/\\(['"\\])/g, "$1") : item));
    const bars = !/['"]/.test(given) && given.includes("|");
    const [mine, wanted] = [bars ? given.split("|") : items(given), items(right)];
    if (!mine.length) return "Type an answer first.";
    const at = wanted.findIndex((item, place) => item !== mine[place]);
    if (at >= 0 && at < mine.length) return `Item ${at + 1} differs: you have ${mine[at]}.`;
    if (mine.length !== wanted.length) return `The first ${Math.min(mine.length, wanted.length)} are right; you have ${mine.length} of ${wanted.length}.`;
    return "";
  }

  /** The controls of a cell, and its result. */
  async function fill(cell, details) {
    const { kind, exercise } = cell.dataset;
    const initial = JSON.parse(cell.dataset.values);
    const controls = Object.fromEntries(Object.keys(initial).filter((name) => name in LABELS).map((name) => [name, control(name, initial[name])]));
    const said = make("p", { className: "said", role: "status" });
    const result = make("div", { className: "result", role: "group", label: "Result" });
    const form = make("form", {}, ...Object.entries(controls).map(([name, made]) => make("label", {}, LABELS[name], made)));
    const answer = make("textarea", { rows: 2 });
    details.append(form, said, result);
    let turn = 0;
    async function run(use) {
      const mine = ++turn;
      let found;
      try {
        const given = Object.fromEntries(Object.entries(controls).map(([name, made]) => [name, valueOf(name, made)]));
        found = await (await loadFigures()).compute(kind, { ...initial, ...given });
      } catch (problem) {
        found = { problem };
      }
      if (mine !== turn) return;
      cell.dataset.state = found.problem ? "wrong" : "right";
      if (found.problem) result.replaceChildren(), (said.textContent = found.problem.message);
      else use(found);
    }
    function draw({ rows = [], lines, said: sentence = "" }) {
      result.replaceChildren(...rows.map(drawRow), make("pre", { className: "printed", tabIndex: 0 }, lines.join("\n")));
      said.textContent = sentence;
    }
    const start = () => (exercise ? (result.replaceChildren(), (said.textContent = "")) : run(draw));
    const check = ({ lines }) => {
      const problem = difference(answer.value, lines.join("\n"));
      cell.dataset.state = problem ? "wrong" : "right";
      said.textContent = problem || "Right.";
    };
    const button = (text, onclick) => make("button", { type: "button", onclick }, text);
    if (exercise) form.append(make("label", {}, "Your answer, or what your code prints", answer), button("Check", () => run(check)), button("Show the answer", () => run(draw)));
    form.append(button("Reset", () => (Object.keys(controls).forEach((name) => (controls[name].value = initial[name] ?? "")), start())));
    form.onsubmit = (event) => (event.preventDefault(), run(exercise ? check : draw));
    let waiting;
    form.oninput = ({ target }) => target !== answer && (clearTimeout(waiting), (waiting = setTimeout(start, 120)));
    const loaded = await loadFigures();
    if (loaded.usesFiles(kind, initial)) {
      form.after(filePicker(loaded, said));
      document.addEventListener("lesson-files", start);
    }
    await start();
  }

  /** Opens files for all cells of the page that need them. */
  function filePicker(loaded, said) {
    const names = make("span", {}, loaded.names());
    document.addEventListener("lesson-files", () => (names.textContent = loaded.names()));
    const onchange = ({ target }) =>
      loaded.open(target.files).then(() => document.dispatchEvent(new Event("lesson-files")), (problem) => (said.textContent = problem.message));
    const input = make("input", { type: "file", multiple: true, accept: ".tiktoken,.json,.model,.toksmith", onchange });
    return make("p", { className: "files" }, "Computed with ", names, ". The site may not publish the files of this figure; ", make("label", {}, "open yours: ", input));
  }

  for (const cell of typeof WebAssembly === "undefined" ? [] : document.querySelectorAll("div.cell")) {
    const names = Object.keys(JSON.parse(cell.dataset.values)).filter((name) => name in LABELS).map((name) => LABELS[name].toLowerCase());
    const details = make("details", {}, make("summary", {}, cell.dataset.exercise ? "Check your answer" : `Change the figure: ${names.join(", ")}`));
    details.addEventListener("toggle", () => fill(cell, details).catch((problem) => details.append(make("p", { role: "status" }, problem.message))), { once: true });
    cell.append(details);
  }
})();
