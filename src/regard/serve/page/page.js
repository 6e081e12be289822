// The page at /: asks the server that it came from, as any other program does, and nobody else.
// Texts are only ever put in as text, never as HTML.

const TABS = [
  // name, title, the task that a model must offer, what is done
  ["translate", "Translate", "translate", translate],
  ["complete", "Complete", "complete", complete],
  ["chat", "Chat", "complete", chat],
  ["classify", "Classify", "classify", classify],
  ["search", "Search", "search", search],
];
const EVERY = 2000; // milliseconds between two looks at the load
const $ = (selector, within = document) => within.querySelector(selector);

function make(tag, text = "", kind = "") {
  const element = document.createElement(tag);
  element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

// ---- asking ----

class Refused extends Error {}

async function asked(path, body, signal) {
  const how = body === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body),
  };
  let answer;
  try {
    answer = await fetch(path, { ...how, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused("The server does not answer. Is it still running?");
  }
  if (answer.ok) return answer;
  const said = await answer.json().catch(() => ({}));
  const after = answer.headers.get("Retry-After");
  const words = said.error?.message ?? said.error ?? `The server said ${answer.status}.`;
  throw new Refused(words + (after ? ` Try again in ${after} s.` : ""));
}

const json = async (path, body, signal) => (await asked(path, body, signal)).json();

// The events of a stream, each as soon as it is there.
async function* events(path, body, signal) {
  const answer = await asked(path, { ...body, stream: true }, signal);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    waiting += value;
    const parts = waiting.split("\n\n");
    waiting = parts.pop();
    for (const part of parts) {
      if (!part.startsWith("data: ")) continue; // a comment that keeps the line open
      const data = part.replace(/^data: /, "");
      if (data === "[DONE]") return;
      const said = JSON.parse(data);
      if (said.error) throw new Refused(said.error.message);
      yield said;
    }
  }
}

// ---- what each tab does ----

async function translate(form, panel) {
  const answer = $(".answer", panel), hint = $(".hint", panel);
  const lines = form.text.value.split("\n").filter((line) => line.trim());
  const way = { model: form.model.value };
  const said = await json("v1/translate", { ...way, text: lines });
  const shown = said.texts.map((one, n) => {
    const pair = make("div", "", "pair");
    const source = make("p", lines[n], "source given");
    const output = make("p", one.translations[0].text, "output");
    pair.append(source, output);
    return { pair, source, output };
  });
  answer.replaceChildren(...shown.map((one) => one.pair), about(said));
  hint.hidden = true;
  const looked = await json("v1/translate", { ...way, text: lines, alignments: true });
  looked.texts.forEach(({ alignment }, n) => {
    if (!alignment) return;
    hint.hidden = false;
    const columns = alignment.columns.map((word) => make("span", word, "word"));
    shown[n].source.replaceChildren(...spaced(columns));
    const rows = alignment.rows.map((word, row) => {
      const span = make("span", word, "word");
      const weights = alignment.weights[row];
      const most = Math.max(...weights);
      const best = weights.map((weight, i) => [weight, alignment.columns[i]])
        .sort((a, b) => b[0] - a[0]).slice(0, 3)
        .map(([weight, name]) => `${name} ${weight.toFixed(2)}`).join(", ");
      span.tabIndex = 0;
      span.title = `looked at ${best}`;
      span.setAttribute("aria-label", `${word}, looked at ${best}`);
      const on = () => {
        span.classList.add("chosen");
        columns.forEach((column, i) => {
          column.style.backgroundColor = `rgb(var(--shade) / ${(0.65 * weights[i] / most).toFixed(3)})`;
        });
      };
      const off = () => {
        span.classList.remove("chosen");
        columns.forEach((column) => { column.style.backgroundColor = ""; });
      };
      span.addEventListener("pointerenter", on);
      span.addEventListener("pointerleave", off);
      span.addEventListener("focus", on);
      span.addEventListener("blur", off);
      return span;
    });
    shown[n].output.replaceChildren(...spaced(rows));
  });
}

// Words with spaces between them.
function spaced(words) {
  return words.flatMap((word, n) => (n ? [" ", word] : [word]));
}

function about(said) {
  const { input, output } = said.usage ?? {};
  const tokens = input === undefined ? "" : `, ${input} tokens read, ${output} written`;
  return make("p", `${said.model}${tokens}`, "about");
}

async function complete(form, panel, signal) {
  const answer = $(".answer", panel), text = form.text.value;
  const going = make("span");
  answer.replaceChildren(make("span", text, "given"), going);
  const body = {
    model: form.model.value, prompt: text, max_tokens: form.max_tokens.valueAsNumber,
    temperature: form.temperature.valueAsNumber,
  };
  for await (const said of events("v1/completions", body, signal)) {
    going.append(said.choices[0]?.text ?? "");
  }
}

const turns = []; // of the conversation

async function chat(form, panel, signal) {
  const place = $(".turns", panel), text = form.text.value;
  turns.push({ role: "user", content: text });
  const mine = make("div", text, "turn user"), theirs = make("div", "", "turn");
  place.append(mine, theirs);
  form.text.value = "";
  const body = {
    model: form.model.value, messages: turns, temperature: form.temperature.valueAsNumber,
  };
  try {
    for await (const said of events("v1/chat/completions", body, signal)) {
      theirs.append(said.choices[0]?.delta.content ?? "");
    }
  } catch (error) {
    if (!theirs.textContent) { // nothing was said: the question may be asked again
      turns.pop();
      mine.remove();
      theirs.remove();
      form.text.value = text;
      throw error;
    }
    turns.push({ role: "assistant", content: theirs.textContent });
    throw error;
  }
  turns.push({ role: "assistant", content: theirs.textContent });
}

async function classify(form, panel) {
  const lines = form.text.value.split("\n").filter((line) => line.trim());
  const said = await json("v1/classify", { model: form.model.value, text: lines, top: 5 });
  const shown = said.labels.flatMap((labels, n) => [
    make("p", lines[n], "given"),
    ...labels.map(({ label, probability }) => {
      const row = make("div", "", "bar"), length = make("i");
      length.style.width = `${100 * probability}%`;
      const cell = make("span");
      cell.append(length);
      row.append(make("span", label), cell, make("b", `${(100 * probability).toFixed(1)} %`));
      return row;
    }),
  ]);
  $(".answer", panel).replaceChildren(...shown, about(said));
}

async function search(form, panel) {
  const body = {
    model: form.model.value, query: form.text.value, top: form.top.valueAsNumber,
  };
  const said = await json("v1/search", body);
  const shown = said.matches.flatMap((match) => {
    return [
      make("p", `${match.file}:${match.first} · ${match.score.toFixed(3)}`, "about"),
      make("blockquote", match.text),
    ];
  });
  $(".answer", panel).replaceChildren(...(shown.length ? shown : [make("p", "Nothing was found.")]));
}

// ---- tabs and forms ----

function choose(name, focus = false) {
  for (const tab of $("#tabs").children) {
    const chosen = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    if (chosen && focus) tab.focus();
    $(`#${tab.getAttribute("aria-controls")}`).hidden = !chosen;
  }
  history.replaceState(null, "", `#${name}`);
}

function addTab(name, title) {
  const tab = make("button", title);
  tab.type = "button";
  tab.id = `tab-${name}`;
  tab.setAttribute("role", "tab");
  tab.setAttribute("aria-controls", `panel-${name}`);
  tab.addEventListener("click", () => choose(name));
  $("#tabs").append(tab);
}

$("#tabs").addEventListener("keydown", (event) => {
  const all = [...$("#tabs").children], here = all.indexOf(document.activeElement);
  const there = {
    ArrowRight: here + 1, ArrowLeft: here - 1 + all.length, Home: 0, End: all.length - 1,
  }[event.key];
  if (there === undefined || here < 0) return;
  event.preventDefault();
  choose(all[there % all.length].id.replace("tab-", ""), true);
});

function prepare(name, models, action) {
  const panel = $(`#panel-${name}`), form = $("form", panel), send = $("button:not([type])", form);
  for (const model of models) form.model.append(new Option(model.id, model.id));
  form.model.parentElement.hidden = models.length < 2;
  let under = null; // the request that is under way
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (under) return;
    under = new AbortController();
    send.disabled = true;
    if (form.stop) form.stop.hidden = false;
    $(".wrong", panel)?.remove();
    try {
      await action(form, panel, under.signal);
    } catch (error) {
      if (error.name !== "AbortError") {
        const wrong = make("p", error instanceof Refused ? error.message : String(error), "wrong");
        wrong.setAttribute("role", "alert");
        form.after(wrong);
      }
    } finally {
      under = null;
      send.disabled = false;
      if (form.stop) form.stop.hidden = true;
    }
  });
  form.text.addEventListener("keydown", (event) => {
    const enter = event.key === "Enter" && (event.ctrlKey || event.metaKey || form.text.rows === 1);
    if (enter && !event.isComposing) {
      event.preventDefault();
      form.requestSubmit();
    }
  });
  form.stop?.addEventListener("click", () => under?.abort());
  form.reset instanceof HTMLElement && form.reset.addEventListener("click", () => {
    under?.abort();
    turns.length = 0;
    $(".turns", panel).replaceChildren();
    form.text.focus();
  });
}

// Source and target choose the model, where models have languages; else the model is chosen.
function prepareLanguages(models, languages) {
  const form = $("#panel-translate form"), { source, target, model } = form;
  const pairs = models.map((one) => one.languages).filter(([from, to]) => from && to);
  const named = Object.fromEntries(languages.map((one) => [one.code, one.name]));
  const known = pairs.length === models.length;
  source.parentElement.hidden = target.parentElement.hidden = !known;
  if (!known) return;
  const fill = (select, codes) => {
    select.replaceChildren(...[...new Set(codes)].map((code) => new Option(named[code] ?? code, code)));
  };
  const models_for = () => {
    const fitting = models.filter(({ languages: [from, to] }) => from === source.value && to === target.value);
    model.replaceChildren(...fitting.map((one) => new Option(one.id, one.id)));
    model.parentElement.hidden = fitting.length < 2;
  };
  const targets_for = () => {
    fill(target, pairs.filter(([from]) => from === source.value).map(([, to]) => to));
    models_for();
  };
  fill(source, pairs.map(([from]) => from));
  source.addEventListener("change", targets_for);
  target.addEventListener("change", models_for);
  targets_for();
}

// ---- load ----

let before = {}; // tokens written, and when

async function look() {
  if (document.hidden) return;
  const answer = await fetch("metrics").catch(() => null);
  if (!answer?.ok) {
    const row = make("tr");
    row.append(make("td", "The server does not answer.", "wrong"));
    $("#load").replaceChildren(row);
    return;
  }
  const models = {};
  for (const line of (await answer.text()).split("\n")) {
    const found = line.match(/^regard_(\w+)\{model="([^"]*)"\} (\S+)$/);
    if (found) (models[found[2]] ??= {})[found[1]] = Number(found[3]);
  }
  const now = performance.now(), next = {};
  const rows = Object.entries(models).map(([name, has]) => {
    const [since, written] = before[name] ?? [now, has.output_tokens];
    const speed = now > since ? 1000 * (has.output_tokens - written) / (now - since) : 0;
    next[name] = [now, has.output_tokens];
    const row = make("tr"), title = make("th", has.model_ready ? name : `${name} (not ready)`);
    title.scope = "row";
    const numbers = [has.requests_under_way, has.sentences_running, has.sentences_waiting, Math.round(speed)];
    row.append(title, ...numbers.map((number) => make("td", number)));
    return row;
  });
  before = next;
  $("#load").replaceChildren(...rows);
}

// ---- begin ----

try {
  const [{ data: models }, languages] = await Promise.all([json("v1/models"), json("languages").catch(() => [])]);
  const offered = [];
  for (const [name, title, task, action] of TABS) {
    const fitting = models.filter((model) => model.tasks.includes(task));
    if (!fitting.length) continue;
    offered.push(name);
    addTab(name, title);
    prepare(name, fitting, action);
    if (name === "translate") prepareLanguages(fitting, languages);
  }
  $("#state").hidden = offered.length > 0;
  $("#state").textContent = "No model of this server has a place on this page; openapi.json says what it answers.";
  const wanted = location.hash.slice(1);
  if (offered.length) choose(offered.includes(wanted) ? wanted : offered[0]);
  await look();
  setInterval(look, EVERY);
} catch (error) {
  $("#state").textContent = error.message;
  $("#state").className = "wrong";
}
