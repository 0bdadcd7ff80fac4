// Sorting and filtering of the table of verdicts; without it the table is whole and in order.
"use strict";
(() => {
  const table = document.getElementById("verdict-table");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const text = (row, column) => row.cells[column].textContent.trim();
  const number = (words) => {
    const found = words.match(/-?\d[\d,]*\.?\d*(e[+-]?\d+)?/i);
    return found ? Number(found[0].replaceAll(",", "")) : NaN;
  };

  // A heading sorts by its column; once more turns the order round.
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    head.firstChild.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const numeric = column === 4 || column === 5;
      const order = (a, b) => {
        const [x, y] = [text(a, column), text(b, column)];
        const difference = numeric ? number(x) - number(y) : NaN;
        return Number.isNaN(difference) ? x.localeCompare(y) : difference;
      };
      body.append(...[...rows].sort((a, b) => (up ? order(a, b) : order(b, a))));
    });
  });

  const bar = document.getElementById("verdict-filters");
  const choices = [["paper", 0], ["kind", 1], ["verdict", 6]].map(([name, column]) => {
    const select = document.createElement("select");
    select.setAttribute("aria-label", name);
    select.append(new Option(`any ${name}`, ""));
    [...new Set(rows.map((row) => text(row, column)))].sort()
      .forEach((value) => select.append(new Option(value, value)));
    return [select, column];
  });
  const search = Object.assign(document.createElement("input"),
    { type: "search", placeholder: "words in a row" });
  search.setAttribute("aria-label", "words in a row");
  const count = document.createElement("output");
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row) => {
      const all = row.textContent.toLowerCase();
      row.hidden = !(choices.every(([select, column]) =>
        !select.value || text(row, column) === select.value)
        && words.every((word) => all.includes(word)));
      shown += row.hidden ? 0 : 1;
    });
    count.textContent = `${shown} of ${rows.length} claims`;
  };
  bar.append(...choices.map(([select]) => select), search, count);
  bar.addEventListener("input", filter);
  filter();
})();
