"use strict";
// The figures are in the page already. This fetches the same pieces again, and decides at other prices while a slider moves.
const main = document.querySelector("main"), live = document.getElementById("live"), answers = document.getElementById("answers");
const every = 3000;
const here = location.origin; // without the key that the address of the page may have, which fetch refuses
let paused = false, failures = 0, timer = 0, running = false;

// put replaces an element by its new form, if it differs. Sections that the reader opened stay open, and what has the focus
// keeps it.
const shown = new Map();
function put(parent, id, html, before) {
  const old = document.getElementById(id);
  if (old && shown.get(id) === html) { if (old !== before) parent.insertBefore(old, before); return old; }
  const box = document.createElement("template");
  box.innerHTML = html;
  const fresh = box.content.firstElementChild;
  shown.set(id, html);
  if (!old) { parent.insertBefore(fresh, before); return fresh; }
  if (old.open) fresh.open = true;
  const focused = old.contains(document.activeElement) ? [...old.querySelectorAll("[tabindex], summary")].indexOf(document.activeElement) : -1;
  const scrolled = [...old.querySelectorAll(".scroll")].map(s => s.scrollLeft);
  old.replaceWith(fresh);
  fresh.querySelectorAll(".scroll").forEach((s, i) => { s.scrollLeft = scrolled[i] || 0; });
  if (focused >= 0) fresh.querySelectorAll("[tabindex], summary")[focused]?.focus({ preventScroll: true });
  return fresh;
}

function show(parts) {
  document.getElementById("kind").textContent = parts.kind;
  if (answers.innerHTML !== parts.answers) answers.innerHTML = parts.answers;
  if (parts.decided) document.getElementById("start")?.remove();
  let next = live.firstElementChild;
  for (const part of parts.sections) {
    const at = put(live, part.id, part.html, next);
    next = at.nextElementSibling;
  }
  while (next) { const gone = next; next = next.nextElementSibling; shown.delete(gone.id); gone.remove(); }
}

async function refresh() {
  if (running || paused || document.hidden) return;
  running = true;
  try {
    const answer = await fetch(here + main.dataset.parts, { headers: { Accept: "application/json" }, signal: AbortSignal.timeout(10000) });
    if (!answer.ok) throw new Error("the server answered " + answer.status);
    show(await answer.json());
    failures = 0;
    document.getElementById("lost").hidden = true;
    document.getElementById("fresh").textContent = "as of " + new Date().toLocaleTimeString();
  } catch (err) {
    failures++;
    const lost = document.getElementById("lost");
    lost.textContent = "The figures below are old: " + err.message + ".";
    lost.hidden = false;
  }
  running = false;
  plan();
}

// plan waits longer after each failure, at most a minute.
function plan() {
  clearTimeout(timer);
  if (!paused && !document.hidden) timer = setTimeout(refresh, Math.min(60000, every * 2 ** Math.min(failures, 5)));
}

document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
const pause = document.getElementById("pause");
pause.addEventListener("click", () => {
  paused = !paused;
  pause.setAttribute("aria-pressed", paused);
  pause.textContent = paused ? "Go on" : "Pause";
  if (!paused) refresh();
});
document.getElementById("refresh").hidden = false;
document.getElementById("reload").hidden = true;
plan();

// Sliders beside the numbers.
const form = document.getElementById("price-form"), target = document.getElementById("frontier-part");
const tryForm = document.getElementById("try-form");
let waiting = 0, asked = 0, stop = null;
for (const field of form ? form.querySelectorAll("input[type=number]") : []) {
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = 0;
  slider.max = Math.max(Number(field.dataset.max), Number(field.value));
  slider.step = field.dataset.step;
  slider.value = field.value;
  slider.setAttribute("aria-label", field.labels[0].textContent);
  field.before(slider);
  slider.addEventListener("input", () => { field.value = Number(slider.value); later(); });
  field.addEventListener("input", () => { slider.value = field.value; later(); });
}

function later() {
  clearTimeout(waiting);
  waiting = setTimeout(decideAgain, 120);
}

// decideAgain asks for the frontier at the prices of the form. Only the answer to the newest question is shown.
async function decideAgain(attempt = 0) {
  if (!form.checkValidity()) return;
  const mine = ++asked, query = new URLSearchParams(new FormData(form));
  stop?.abort();
  stop = new AbortController();
  target.classList.add("busy");
  for (const [name, value] of query) {
    const same = tryForm?.elements.namedItem(name);
    if (same && name !== "policy" && name !== "minutes") same.value = value;
  }
  try {
    const answer = await fetch(here + "/page/frontier?" + query, { headers: { Accept: "application/json" }, signal: stop.signal });
    const body = await answer.json();
    if (mine !== asked) return;
    if (answer.status === 409 && 5 > attempt) { setTimeout(() => { if (mine === asked) decideAgain(attempt + 1); }, 150); return; }
    target.innerHTML = body.html || "";
    if (!body.html) target.textContent = body.error?.message || "The server answered " + answer.status + ".";
  } catch (err) {
    if (mine === asked && err.name !== "AbortError") target.textContent = "No answer: " + err.message + ".";
  }
  if (mine === asked) target.classList.remove("busy");
}
form?.addEventListener("submit", event => { event.preventDefault(); clearTimeout(waiting); decideAgain(); });

tryForm?.addEventListener("submit", async event => {
  event.preventDefault();
  const to = document.getElementById("tried-part"), button = tryForm.querySelector("button");
  button.disabled = true;
  try {
    const answer = await fetch(here + "/page/try", { method: "POST", body: new FormData(tryForm), headers: { Accept: "application/json" } });
    const body = await answer.json();
    to.innerHTML = body.html || "";
    if (!body.html) to.textContent = body.error?.message || "The server answered " + answer.status + ".";
  } catch (err) {
    to.textContent = "No answer: " + err.message + ".";
  }
  button.disabled = false;
});
addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
