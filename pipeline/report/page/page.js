"use strict";
// Without "less than" and "and", which would be markup to readers of XML.
// Tables sort by the column whose heading is pressed: by its numbers if every cell starts with one, else as words.
const numberOf = cell => /^[+-]?[\d.]/.test(cell) ? parseFloat(cell) : NaN;
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  if (2 > body.rows.length) continue;
  for (const head of table.tHead.rows[0].cells) {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      const rows = [...body.rows].map(row => ({ row, text: row.cells[head.cellIndex].textContent.trim() }));
      const filled = rows.filter(r => r.text !== ""), empty = rows.filter(r => r.text === "");
      const numbers = filled.every(r => !isNaN(numberOf(r.text)));
      filled.sort((a, b) => (down ? -1 : 1) * (numbers ? numberOf(a.text) - numberOf(b.text) : a.text.localeCompare(b.text)));
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      body.append(...filled.concat(empty).map(r => r.row));
    });
  }
}
// A link to a folded section opens it, and printing opens all.
const open = () => { const to = document.getElementById(location.hash.slice(1)); if (to?.tagName === "DETAILS") to.open = true; };
addEventListener("hashchange", open);
addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
open();
