"use strict";
// Lists what waits, takes a question, and sends its answer. What the server says is put in as text, never as HTML.
const $ = id => document.getElementById(id);
const here = location.origin; // without the key that the address may have, which fetch refuses
let me = document.querySelector("main").dataset.person, item = null, waiting = [], running = 0, chain = Promise.resolve();

async function call(method, path, body) {
  const headers = { Accept: "application/json" };
  if (me) headers["X-Pipe-Person"] = me;
  if (body) headers["Content-Type"] = "application/json";
  const answer = await fetch(here + "/v1/people" + path, { method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(15000) });
  if (answer.status === 204) return null;
  const value = await answer.json();
  if (!answer.ok) throw Object.assign(new Error(value.error?.message || "the server answered " + answer.status), { code: value.error?.code });
  return value;
}

function say(text) {
  $("said").textContent = text;
  $("said").hidden = !text;
}

// run does one thing after the other, and says what went wrong.
function run(what) {
  if (!me) return;
  running++;
  chain = chain.then(async () => {
    try { await what(); } catch (err) { say(err.message + "."); }
    running--;
  });
}

const minutes = s => s < 90 ? Math.round(s) + " s" : s < 5400 ? Math.round(s / 60) + " min" : (s / 3600).toFixed(1) + " h";

async function refresh() {
  if (!me || document.hidden) return;
  const [list, state] = await Promise.all([call("GET", "/items"), call("GET", "")]);
  waiting = list.items.filter(i => i.state === "open" || i.claim?.token);
  const mine = state.people.find(o => o.name === me);
  $("me").textContent = me;
  $("hours").textContent = !mine ? "" : mine.open
    ? "Used today: " + minutes(mine.used_today_seconds) + ". Left now: " + minutes(mine.left_seconds) + "."
    : "Outside of your office hours." + (mine.next ? " They begin at " + new Date(mine.next).toLocaleString() + "." : "");
  if (!item) {
    const held = waiting.find(i => i.claim?.token);
    if (held) show(held, false);
  }
  showList();
}

// partsOf are the texts of a question, each with who says it.
function partsOf(question) {
  const text = v => typeof v === "string" ? v : Array.isArray(v) ? v.map(p => p.text ?? "[" + (p.type || "part") + "]").join("\n") : JSON.stringify(v, null, 2);
  if (Array.isArray(question?.messages)) return question.messages.map(m => [m.role || "", text(m.content ?? "")]);
  if (typeof question?.text === "string") return [["", question.text]];
  return [["", text(question)]];
}

// make makes an element with properties and children.
const make = (tag, properties, ...children) => {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
};

const about = i => [i.expert, i.advice, ...(i.tags || [])].filter(Boolean);

function showList() {
  const list = $("list"), at = [...list.querySelectorAll("button")].indexOf(document.activeElement);
  const rows = waiting.filter(i => i.id !== item?.id);
  $("count").textContent = rows.length === 1 ? "1 question waits" : rows.length + " questions wait";
  list.replaceChildren(...rows.map(i => make("li", {}, make("button", { type: "button", onclick: () => take("/items/" + i.id + "/claim") },
    (partsOf(i.question).at(-1)?.[1] || "").slice(0, 160) || "no text",
    make("span", { className: "note" }, [...about(i), "about " + minutes(i.expected_seconds), "since " + new Date(i.put).toLocaleString()].join(", "))))));
  if (at >= 0) list.querySelectorAll("button")[Math.min(at, rows.length - 1)]?.focus();
}

function show(next, focus) {
  item = next;
  $("item").hidden = !item;
  if (!item) return;
  $("about").textContent = about(item).join(", ");
  $("question").replaceChildren(...partsOf(item.question).map(([role, text]) => make("div", {}, ...(role ? [make("span", { className: "role" }, role)] : []), text)));
  const choices = item.choices || [];
  $("choices").hidden = !choices.length;
  $("text-part").hidden = choices.length > 0;
  $("choices").replaceChildren($("choices").firstElementChild, ...choices.map((c, n) =>
    make("label", {}, make("input", { type: "radio", name: "choice", value: c }), ...(9 > n ? [make("kbd", {}, n + 1)] : []), c)));
  $("text").value = $("confidence").value = "";
  if (focus) $("item-title").focus();
}

const take = path => run(async () => {
  say("");
  const next = await call("POST", path);
  if (next) show(next, true); else say("Nothing waits for you");
  await refresh();
});

// again keeps the question while its page is open and seen.
async function again() {
  if (!item || document.hidden) return;
  const left = (new Date(item.claim.until) - Date.now()) / 1000;
  $("lease").textContent = left > 0 ? "yours for " + minutes(left) : "your time is over: it may go to somebody else";
  const whole = (new Date(item.claim.until) - new Date(item.claim.since)) / 1000;
  if (left < Math.min(60, whole / 3) && Date.now() > (again.next || 0)) {
    again.next = Date.now() + 10000;
    const mine = item;
    try { mine.claim = (await call("POST", "/items/" + mine.id + "/claim")).claim; } catch (err) { if (item === mine) say(err.message + "."); }
  }
}

const end = (path, body) => run(async () => {
  if (!item) return; // two keys, one after the other
  say("");
  const send = () => call("POST", "/items/" + item.id + path, { claim: item.claim.token, ...body });
  try { await send(); } catch (err) {
    const lost = ["lease", "claimed", "done", "not_found"].includes(err.code); // nothing to give back
    if (err.code !== "lease" && !(lost && path === "/back")) throw err;
    if (path === "/answer") { item.claim = (await call("POST", "/items/" + item.id + "/claim")).claim; await send(); } // it was still open
  }
  show(null);
  await refresh();
  $("next").focus();
});

function answer() {
  if (!item) return;
  const choices = item.choices || [], sure = $("confidence").value;
  const text = choices.length ? document.querySelector("#choices input:checked")?.value : $("text").value;
  if (!text?.trim()) { say("There is no answer yet."); return; }
  end("/answer", { answer: text, ...(sure === "" ? {} : { confidence: Number(sure) / 100 }) });
}

$("answer-form").addEventListener("submit", event => { event.preventDefault(); answer(); });
$("back").addEventListener("click", () => item && end("/back", {}));
$("next").addEventListener("click", () => take("/claim"));
$("person")?.addEventListener("change", event => { me = event.target.value; show(null); run(refresh); });

function move(by) {
  const rows = [...document.querySelectorAll("#list button")], at = rows.indexOf(document.activeElement);
  rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))]?.focus();
}

addEventListener("keydown", event => {
  if (event.key === "Enter" && event.ctrlKey) { event.preventDefault(); answer(); return; }
  if (event.key === "Escape") { document.activeElement?.blur(); return; }
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("textarea, select, input:not([type=radio])")) return;
  const choice = document.querySelectorAll("#choices input")[Number(event.key) - 1];
  if (item && choice && /^[1-9]$/.test(event.key)) { choice.checked = true; choice.focus(); return; }
  switch (event.key) {
    case "n": if (!item) take("/claim"); break;
    case "j": move(1); break;
    case "k": move(-1); break;
    case "b": if (item) end("/back", {}); break;
    default: return;
  }
  event.preventDefault();
});

const look = () => { if (!running) run(refresh); };
document.addEventListener("visibilitychange", () => { if (!document.hidden) look(); });
setInterval(look, 5000);
setInterval(again, 1000);
look();
