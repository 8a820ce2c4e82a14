"use strict";
// Tables that sort by a click on a heading, and show the rows that hold what is typed.
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const rows = [...table.tBodies[0].rows];
  const valueOf = (row, column) => row.cells[column].dataset.v ?? row.cells[column].textContent.trim();
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const isNumber = head.classList.contains("n");
      const first = isNumber ? "descending" : "ascending";
      const order = head.getAttribute("aria-sort") !== first ? first : isNumber ? "ascending" : "descending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", order);
      const sign = order === "ascending" ? 1 : -1;
      const number = (row) => parseFloat(valueOf(row, column).replaceAll(",", "")) || 0;
      rows.sort((one, two) => sign * (isNumber
        ? number(one) - number(two)
        : valueOf(one, column).localeCompare(valueOf(two, column))));
      table.tBodies[0].append(...rows);
    });
  });
  if (rows.length < 8) continue;
  const filter = document.createElement("input");
  filter.type = "search";
  filter.placeholder = "Filter";
  filter.setAttribute("aria-label", "Filter: " + table.dataset.sortable);
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  table.closest(".scroll").previousElementSibling.append(filter);
}
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => { each.open = true; }));
